"""From tokens to text as it appears: whole characters, and nothing of a stop text."""

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import ContextMoved, Event, PromptRead, ReplyEnded, TokenWritten
from core.generation.context import ContextPolicy, Conversation
from core.generation.decoding import Decoding, decode, decode_batch, rows_at_once
from core.generation.prefix import PrefixCache
from core.generation.row import PLAIN_TEXT, Decoded, Row
from core.model.transformer import Transformer
from core.tokenizers.streaming import StreamingDecoder
from core.tokenizers.tokenizer import EOS, Tokenizer


def write(
    model: Transformer,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    unknown: tuple[str, ...],
    config: SamplingConfig,
    stop: StopToken,
    prefix: PrefixCache | None = None,
) -> Generator[Event, None, ReplyEnded]:
    """Continue `prompt` as a stream of events, ending with `ReplyEnded`, which is also the result.

    Args:
        prompt: At least one token.
        unknown: What of the prompt the vocabulary lacks, for the first event.
        prefix: What this model read last; the prompt is read from where it differs.
    """
    yield PromptRead(len(prompt), model.config.context_length, unknown)
    writer = Writer(tokenizer, prompt, config)
    for step in decode(model, prompt, config, stop, writer.policy, prefix):
        yield from writer.take(step)
        if writer.reason:
            break
    ended = yield from writer.end(stop)
    return ended


def write_batch(
    model: Transformer,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    configs: Sequence[SamplingConfig],
    stop: StopToken,
    first: int = 1,
) -> Generator[Event, None, list[ReplyEnded]]:
    """Continue several prompts at once. The events of each bear its number; the result has their order.

    Args:
        prompts: Each of at least one token.
        configs: How each is continued.
        first: The number of the first one.
    """
    numbered = enumerate(zip(prompts, configs, strict=True), first)
    writers = [Writer(tokenizer, *each, sample=number) for number, each in numbered]
    rows = [Row(writer.prompt, writer.config, writer.policy) for writer in writers]
    ended: list[ReplyEnded | None] = [None] * len(rows)
    for number, step in decode_batch(model, rows, stop):
        row, writer = rows[number], writers[number]
        yield from writer.take(step)
        row.done = row.done or bool(writer.reason)
        if row.done:
            ended[number] = yield from writer.end(stop)
    for number, writer in enumerate(writers):
        ended[number] = ended[number] or (yield from writer.end(stop))
    return [each for each in ended if each is not None]


def write_batches(
    model: Transformer,
    tokenizer: Tokenizer,
    prompts: Sequence[Sequence[int]],
    configs: Sequence[SamplingConfig],
    stop: StopToken,
) -> Generator[Event, None, list[ReplyEnded]]:
    """As `write_batch`, but as many at once as their caches have room for; once `stop` is set, no more are begun."""
    longest = max(map(len, prompts), default=0) + max(
        (config.max_new_tokens for config in configs), default=0
    )
    size = rows_at_once(model, longest)
    ended: list[ReplyEnded] = []
    for first in range(0, len(prompts), size):
        if stop.asked:
            break
        chunk = slice(first, first + size)
        ended += yield from write_batch(model, tokenizer, prompts[chunk], configs[chunk], stop, first + 1)
    return ended


class Writer:
    """Turns the steps of one reply into events: whole characters, up to a stop text or a token that ends it."""

    def __init__(
        self, tokenizer: Tokenizer, prompt: Sequence[int], config: SamplingConfig, sample: int = 0
    ) -> None:
        self.prompt, self.config = prompt, config
        self.policy = _policy(prompt, tokenizer)
        self.reason = ""  # why the reply is at its end, where it is
        self._ends = {EOS, tokenizer.user_id, tokenizer.assistant_id}
        continues_text = prompt[-1] not in self._ends  # rather than beginning one, as after <|assistant|>
        self._decoder = StreamingDecoder(tokenizer, continues_text)
        self._gate = StopGate(config.stop)
        self._sample = sample
        self._last = Decoded(EOS, 1.0, len(prompt))
        self._started, self._first_token_seconds, self._tokens = time.perf_counter(), 0.0, 0

    def take(self, step: Decoding) -> Iterator[Event]:
        """What to report of one step."""
        if isinstance(step, ContextMoved):
            yield replace(step, sample=self._sample)
            return
        self._last = step
        self._tokens += 1
        if self._tokens == 1:
            self._first_token_seconds = time.perf_counter() - self._started
        if step.token_id in self._ends:
            self.reason = "eos"
            return
        yield self._written(self._gate.pass_on(self._decoder.push(step.token_id)))
        if self._gate.closed:
            self.reason = "stop_string"

    def end(self, stop: StopToken) -> Generator[Event, None, ReplyEnded]:
        """The rest of the text, and that the reply is whole."""
        rest = self._gate.pass_on(self._decoder.finish()) + self._gate.rest()
        if rest:
            yield self._written(rest)
        seconds = time.perf_counter() - self._started
        ended = ReplyEnded(
            reason="stopped" if stop.asked else self.reason or "length",
            text=self._gate.passed,
            tokens=self._tokens,
            seconds=seconds,
            first_token_seconds=self._first_token_seconds,
            tokens_per_second=self._tokens / max(seconds, 1e-9),
            sample=self._sample,
        )
        yield ended
        return ended

    def _written(self, text: str) -> TokenWritten:
        last = self._last
        return TokenWritten(text, last.token_id, last.probability, last.context_used, self._sample)


def _policy(prompt: Sequence[int], tokenizer: Tokenizer) -> ContextPolicy:
    """Only a conversation holds role tokens: in a text that is continued, they are read as characters."""
    roles = (tokenizer.user_id, tokenizer.assistant_id)
    return Conversation(*roles) if all(role in prompt for role in roles) else PLAIN_TEXT


class StopGate:
    """Lets text through up to a stop text, holding back what may yet become one."""

    def __init__(self, stop_texts: Sequence[str]) -> None:
        self._stop_texts = [text for text in stop_texts if text]
        self._held = ""
        self.passed = ""
        self.closed = False

    def pass_on(self, text: str) -> str:
        """Take more text; give what is certain to stand before any stop text."""
        if self.closed:
            return ""
        self._held += text
        found = [at for at in (self._held.find(stop) for stop in self._stop_texts) if at >= 0]
        if found:
            self.closed = True
            return self._release(min(found))
        return self._release(len(self._held) - self._possible_start())

    def rest(self) -> str:
        """At the end, what was held back and became no stop text."""
        return "" if self.closed else self._release(len(self._held))

    def _release(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        self.passed += text
        return text

    def _possible_start(self) -> int:
        """The length of the longest end of the held text with which a stop text begins."""
        longest = max(map(len, self._stop_texts), default=1) - 1
        lengths = range(min(longest, len(self._held)), 0, -1)
        return next(
            (n for n in lengths if any(stop.startswith(self._held[-n:]) for stop in self._stop_texts)), 0
        )
