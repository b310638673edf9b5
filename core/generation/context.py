"""What stays in view where the context is full: of a plain text three quarters, of a conversation whole turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.tokenizers.tokenizer import EOS


@dataclass(frozen=True, slots=True)
class Shortened:
    """The tokens that are read again.

    `question_cut` where the question in hand lost its beginning; `dropped_turns` counts the questions that went
    with their answers; `system_dropped` where the system message went, because half of the context is too small for it.
    """

    ids: list[int]
    question_cut: bool = False
    dropped_turns: int = 0
    system_dropped: bool = False


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
class DialogueText:
    """<eos><|user|>system question<|assistant|>answer<|user|>question<|assistant|>answer so far

    Questions go with their answers, oldest first; the question in hand stays, and so does what stands before the
    first question. A system message, with which the first question begins, then begins the oldest one that is left.
    Where the question in hand and its answer are too long by themselves, each keeps its newest part.
    """

    user_id: int
    assistant_id: int
    system: tuple[int, ...] = ()  # the tokens of the system message

    def reserved_tokens(self, context_length: int, max_new_tokens: int) -> int:
        """A quarter of the context, or as much as the reply can need."""
        return min(context_length // 4, max_new_tokens)

    def shorten(self, ids: Sequence[int], context_length: int, reserved: int) -> Shortened:
        """The newest whole turns that fit; `ids` hold a question, and after it the assistant's role token."""
        budget = context_length - reserved
        starts = [at for at, token in enumerate(ids) if token == self.user_id]
        head = list(ids[: starts[0]])
        if not head or len(head) > budget // 2:  # as long as that would leave no room to talk
            head = [EOS]
        has_system = bool(self.system) and self._has_system(ids, starts[0] + 1)
        drops_system = has_system and len(head) + len(self.system) > budget // 2
        head += [self.user_id, *(self.system if has_system and not drops_system else ())]
        for dropped, start in enumerate(starts):
            begin = start + 1 + (len(self.system) if self._has_system(ids, start + 1) else 0)
            if len(head) + len(ids) - begin <= budget:
                return Shortened([*head, *ids[begin:]], False, dropped, drops_system)
        kept, question_cut = self._newest_parts(list(ids[begin:]), budget - len(head))
        return Shortened(_newest([*head, *kept], budget), question_cut, len(starts) - 1, drops_system)

    def _has_system(self, ids: Sequence[int], at: int) -> bool:
        """Whether the system message stands there."""
        return tuple(ids[at : at + len(self.system)]) == self.system

    def _newest_parts(self, turn: list[int], budget: int) -> tuple[list[int], bool]:
        answer_at = turn.index(self.assistant_id)
        question, answer = turn[:answer_at], turn[answer_at + 1 :]
        left = max(0, budget - 1)  # the assistant's role token
        answer_length = min(len(answer), max(left // 2, left - len(question)))
        question_length = min(len(question), left - answer_length)
        kept = [*_newest(question, question_length), self.assistant_id, *_newest(answer, answer_length)]
        return kept, question_length < len(question)


def _newest(ids: Sequence[int], count: int) -> list[int]:
    return list(ids[max(0, len(ids) - count) :])
