"""What stays in view where the context is full: of a plain text three quarters, of a conversation whole turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.tokenizers.tokenizer import EOS


@dataclass(frozen=True, slots=True)
class Shortened:
    """The tokens that are read again.

    `question_cut` where the question in hand lost its beginning; `dropped_turns` counts the questions that went
    with their answers.
    """

    ids: list[int]
    question_cut: bool = False
    dropped_turns: int = 0


class ContextPolicy(Protocol):
    """How a full context is shortened. Lengths in tokens."""

    def reserved_tokens(self, context_length: int, max_new_tokens: int) -> int:
        """How many tokens of the context a prompt leaves free for the reply."""
        ...

    def shorten(self, ids: Sequence[int], context_length: int, reserved: int) -> Shortened:
        """What to keep of all that is in view; at least `reserved` fewer than the context holds."""
        ...


class PlainText:
    """A text without turns: its newest three quarters stay.

    A quarter is the price between two others: to drop less is to read what stays more often, and to drop more is
    to write on with less in view.
    """

    def reserved_tokens(self, context_length: int, max_new_tokens: int) -> int:
        """None: a prompt can fill the context."""
        del context_length, max_new_tokens
        return 0

    def shorten(self, ids: Sequence[int], context_length: int, reserved: int) -> Shortened:
        """The newest tokens, all that fit but a quarter of the context."""
        del reserved
        return Shortened(_newest(ids, context_length - max(1, context_length // 4)))


@dataclass(frozen=True, slots=True)
class Conversation:
    """<eos><|user|>question<|assistant|>answer<|user|>question<|assistant|>answer so far

    Questions go with their answers, oldest first; the question in hand stays, and so does what stands before the
    first question, such as a system message. Where the question in hand and its answer are too long by themselves,
    each keeps its newest part after its role token.
    """

    user_id: int
    assistant_id: int

    def reserved_tokens(self, context_length: int, max_new_tokens: int) -> int:
        """A quarter of the context, or as much as the reply can need."""
        return min(context_length // 4, max_new_tokens)

    def shorten(self, ids: Sequence[int], context_length: int, reserved: int) -> Shortened:
        """The newest whole turns that fit; `ids` hold a question, and after it the assistant's role token."""
        budget = context_length - reserved
        starts = [at for at, token in enumerate(ids) if token == self.user_id]
        head = list(ids[: starts[0]])
        if (
            not head or len(head) > budget // 2
        ):  # a system message as long as that would leave no room to talk
            head = [EOS]
        for dropped, start in enumerate(starts):
            if len(head) + len(ids) - start <= budget:
                return Shortened([*head, *ids[start:]], dropped_turns=dropped)
        kept, question_cut = self._newest_parts(list(ids[starts[-1] :]), budget - len(head))
        return Shortened(_newest([*head, *kept], budget), question_cut, len(starts) - 1)

    def _newest_parts(self, turn: list[int], budget: int) -> tuple[list[int], bool]:
        answer_at = turn.index(self.assistant_id)
        question, answer = turn[1:answer_at], turn[answer_at + 1 :]
        left = max(0, budget - 2)  # the two role tokens
        answer_length = min(len(answer), max(left // 2, left - len(question)))
        question_length = min(len(question), left - answer_length)
        kept = [self.user_id, *_newest(question, question_length)]
        kept += [self.assistant_id, *_newest(answer, answer_length)]
        return kept, question_length < len(question)


def _newest(ids: Sequence[int], count: int) -> list[int]:
    return list(ids[max(0, len(ids) - count) :])
