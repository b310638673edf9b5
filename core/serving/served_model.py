"""The model that is served, as requests see it: its name, its facts, and its prompts as rows of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.config.sampling import SamplingConfig
from core.events.replies import ContextMoved
from core.generation.dialogue import completion_prompt, dialogue_prompt, system_ids
from core.generation.row import Row
from core.generation.writing import Writer
from core.model.transformer import Transformer
from core.serving.api_error import ApiError, invalid
from core.serving.fields import (
    MOST_CHOICES,
    ChatFields,
    CompletionFields,
    checked_text,
    message_role,
    message_text,
)
from core.serving.work import Choice, Work
from core.tokenizers.tokenizer import Tokenizer
from core.wording import counted

MOST_NAMED = 20  # characters that the vocabulary lacks
BEGINNING = 80  # characters of a prompt, for whoever follows the server
NO_CONVERSATIONS = "This model has not learned from conversations: it may not answer as one who is asked."


@dataclass(frozen=True, slots=True, eq=False)
class ServedModel:
    """A model in memory, with what requests fall back to. `created` in seconds since 1970."""

    name: str
    step: int
    created: int
    parameters: int
    has_conversations: bool
    weights: str
    sampling: SamplingConfig
    model: Transformer
    tokenizer: Tokenizer

    @property
    def fingerprint(self) -> str:
        """What a reply depends on beside its request: the same seed gives the same text while this stays."""
        return f"{self.name}-step-{self.step}-{self.weights}"

    def as_object(self) -> dict[str, Any]:
        """The entry in the list of models."""
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "sheepop-studio",
            "step": self.step,
            "parameters": self.parameters,
            "context_length": self.model.config.context_length,
            "has_conversations": self.has_conversations,
        }

    def check_name(self, name: str | None) -> None:
        """See that a request means this model; one that names none does.

        Raises:
            ApiError: 404, another model.
        """
        if name not in (None, self.name):
            message = f"There is no model {str(name)[:100]!r} here, only {self.name!r}."
            raise ApiError(404, message, "model_not_found", "model")

    def completion_work(self, fields: CompletionFields, client: str, received: float) -> Work:
        """What a request for completions asks for.

        Raises:
            ApiError: 400.
        """
        given = _prompts(fields)
        _refuse_many(len(given) * (fields.n or 1))
        prompts = [self._prompt_ids(prompt) for prompt in given]
        warnings = self._unknown([prompt for prompt in given if isinstance(prompt, str)])
        beginning = _beginning(self.prompt_texts(fields)[0])
        work = Work("completions", client, received, bool(fields.stream), warnings, beginning)
        self._fill(work, fields, prompts, (), fields.logprobs)
        return work

    def chat_work(self, fields: ChatFields, client: str, received: float) -> Work:
        """What a request for a reply in a conversation asks for. An assistant's message at the end is continued.

        Raises:
            ApiError: 400.
        """
        messages = [
            (message_role(message, at), checked_text(message_text(message, at), f"messages.{at}.content"))
            for at, message in enumerate(fields.messages)
        ]
        begun = messages.pop()[1] if messages[-1][0] == "assistant" else ""
        prompt = dialogue_prompt(self.tokenizer, messages) + self.tokenizer.encode(begun)
        warnings = [] if self.has_conversations else [NO_CONVERSATIONS]
        warnings += self._unknown([text for _, text in messages])
        beginning = _beginning(messages[-1][1] if messages else begun)
        work = Work("chat", client, received, bool(fields.stream), warnings, beginning)
        n_likeliest = (fields.top_logprobs or 0) if fields.logprobs else None
        self._fill(work, fields, [prompt], system_ids(self.tokenizer, messages), n_likeliest)
        return work

    def prompt_texts(self, fields: CompletionFields) -> list[str]:
        """The prompt of each reply as text."""
        texts = [one if isinstance(one, str) else self.tokenizer.decode(one) for one in _prompts(fields)]
        return [text for text in texts for _ in range(fields.n or 1)]

    def _fill(
        self,
        work: Work,
        fields: ChatFields | CompletionFields,
        prompts: Sequence[Sequence[int]],
        system: Sequence[int],
        n_likeliest: int | None,
    ) -> None:
        """Put the choices into a request: `n` for each prompt, their seeds one after the other."""
        sampling, n = fields.sampling(self.sampling), fields.n or 1
        work.max_new_tokens = sampling.max_new_tokens
        work.prompt_tokens = sum(map(len, prompts))
        for prompt in prompts:
            for number in range(n):
                self._add_choice(work, prompt, sampling.with_next_seed(number), system, n_likeliest)

    def _add_choice(
        self,
        work: Work,
        prompt: Sequence[int],
        config: SamplingConfig,
        system: Sequence[int],
        n_likeliest: int | None,
    ) -> None:
        """One more reply. What its prompt has too much is left out here, so that nothing large waits in the queue."""
        number = len(work.choices)
        writer = Writer(
            self.tokenizer, prompt, config, sample=number + 1, system=system, n_likeliest=n_likeliest
        )
        row = Row(prompt, config, writer.policy)
        moved = row.make_room(self.model.config.context_length)
        row.read = []
        writer.prompt = ()
        warning = moved and _dropped(moved)
        if warning and warning not in work.warnings:
            work.warnings.append(warning)
        work.choices.append(Choice(number, row, writer))

    def _prompt_ids(self, prompt: str | list[int]) -> list[int]:
        if isinstance(prompt, str):
            text = checked_text(prompt, "prompt")
            return completion_prompt(self.tokenizer, text, self.sampling.end_prompt)
        if not all(0 <= token < self.tokenizer.vocab_size for token in prompt):
            raise invalid(
                "prompt", f"A token of the prompt is not one of this model's {self.tokenizer.vocab_size:,}."
            )
        return prompt or completion_prompt(self.tokenizer, "", end_prompt=False)

    def _unknown(self, texts: Sequence[str]) -> list[str]:
        found = list(dict.fromkeys(sign for text in texts for sign in self.tokenizer.unknown(text)))
        if not found:
            return []
        more = f" and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        return [f"Not in the vocabulary: {' '.join(map(repr, found[:MOST_NAMED]))}{more}."]


def _refuse_many(n_choices: int) -> None:
    if n_choices > MOST_CHOICES:
        message = f"A request gets up to {MOST_CHOICES} replies, and this one asks for {n_choices:,}."
        raise invalid("n", message)


def _prompts(fields: CompletionFields) -> Sequence[str | list[int]]:
    """Each of the prompts that stand in a request's one field."""
    prompt = fields.prompt
    if isinstance(prompt, str):
        return [prompt]
    if not prompt:
        return [""]
    if isinstance(prompt[0], int):
        return [[token for token in prompt if isinstance(token, int)]]
    return [one for one in prompt if not isinstance(one, int)]


def _beginning(text: str) -> str:
    return " ".join(text[: 2 * BEGINNING].split())[:BEGINNING]


def _dropped(moved: ContextMoved) -> str:
    what = counted(moved.dropped, "older token")
    turns = (
        f", {counted(moved.dropped_turns, 'question')} with what was answered among them"
        if moved.dropped_turns
        else ""
    )
    system = (
        " The system message was dropped: it is longer than half of the context."
        if moved.system_dropped
        else ""
    )
    cut = " The question itself is longer than that: only its end was read." if moved.question_cut else ""
    return f"The context is too short for all of the prompt: {what} dropped{turns}.{system}{cut}"
