"""One text that is being written: what of it is in view, how its tokens are drawn, and when it ends.

Shapes
    V  vocabulary
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config.sampling import SamplingConfig
from core.events import ContextMoved
from core.generation.context import ContextPolicy, PlainText
from core.generation.sampling import draw, penalise

PLAIN_TEXT = PlainText()


@dataclass(frozen=True, slots=True)
class Decoded:
    """A token as it was drawn. `probability` is the model's own, before temperature and filters."""

    token_id: int
    probability: float
    context_used: int


class Row:
    """One of the texts that are written together. Whoever takes its tokens sets `done` to have no more of them."""

    def __init__(
        self, prompt: Sequence[int], config: SamplingConfig, policy: ContextPolicy = PLAIN_TEXT
    ) -> None:
        """Begin with a prompt of at least one token.

        Raises:
            ValueError: The prompt is empty.
        """
        if not prompt:
            raise ValueError("there must be at least one token to continue")
        self.ids = list(prompt)  # all that is in view
        self.read: list[int] = []  # what a cache holds of it, where that is not how `ids` begins
        self.config = config
        self.done = False
        self._policy = policy
        self._generator = make_generator(config.seed)
        self._left = config.max_new_tokens
        self._seen: Tensor | None = None  # (V,), where there is a penalty
        self._limit: int | None = None  # of the tokens in view; that of the prompt leaves room for the reply

    def make_room(self, context_length: int) -> ContextMoved | None:
        """Shorten what is in view where it is too long, and say by how much."""
        if self._limit is not None and len(self.ids) <= self._limit:
            return None
        reserved = self._policy.reserved_tokens(context_length, self.config.max_new_tokens)
        limit = context_length - reserved if self._limit is None else self._limit
        self._limit = context_length
        if len(self.ids) <= limit:
            return None
        kept = self._policy.shorten(self.ids, context_length, reserved)
        dropped = len(self.ids) - len(kept.ids)
        self.read, self.ids = self.read or self.ids, kept.ids
        return ContextMoved(len(kept.ids), dropped, kept.question_cut, kept.dropped_turns)

    def draw(self, logits: Tensor, context_length: int) -> Decoded:
        """Choose the next token from its scores, (V,)."""
        token = draw(self._penalised(logits), self.config, self._generator)
        self.ids.append(token)
        self._left -= 1
        self.done = self._left == 0
        probability = logits.softmax(dim=-1)[token].item()
        return Decoded(token, probability, min(len(self.ids), context_length))

    def _penalised(self, logits: Tensor) -> Tensor:
        """The scores, (V,), less where a token occurred in the prompt as it was read or in the reply."""
        if self.config.repetition_penalty == 1:
            return logits
        if self._seen is None:
            self._seen = torch.zeros(logits.shape, dtype=torch.bool, device=logits.device)  # (V,)
            self._seen[self.ids] = True
        self._seen[self.ids[-1]] = True
        return penalise(logits, self._seen, self.config.repetition_penalty)


def make_generator(seed: int | None) -> torch.Generator:
    """A source of chance: the same seed draws the same tokens, None draws anew each time."""
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    return generator
