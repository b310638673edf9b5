"""From tokens to text as it appears: whole characters, and nothing of a stop text."""

import time
from collections.abc import Generator, Sequence

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import ContextMoved, Event, PromptRead, ReplyEnded, TokenWritten
from core.generation.context import ContextPolicy, Conversation
from core.generation.decoding import PLAIN_TEXT, Decoded, decode
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
) -> Generator[Event, None, ReplyEnded]:
    """Continue `prompt` as a stream of events, ending with `ReplyEnded`, which is also the result.

    Args:
        prompt: At least one token.
        unknown: What of the prompt the vocabulary lacks, for the first event.
    """
    yield PromptRead(len(prompt), model.config.context_length, unknown)
    ends = {EOS, tokenizer.user_id, tokenizer.assistant_id}
    continues_text = prompt[-1] not in ends  # rather than beginning one, as after <|assistant|>
    decoder, gate = StreamingDecoder(tokenizer, continues_text), StopGate(config.stop)
    started, first_token_seconds, tokens, reason = time.perf_counter(), 0.0, 0, "length"
    last = Decoded(EOS, 1.0, len(prompt))
    for step in decode(model, prompt, config, stop, _policy(prompt, tokenizer)):
        if isinstance(step, ContextMoved):
            yield step
            continue
        last, tokens = step, tokens + 1
        if tokens == 1:
            first_token_seconds = time.perf_counter() - started
        if step.token_id in ends:
            reason = "eos"
            break
        text = gate.pass_on(decoder.push(step.token_id))
        yield TokenWritten(text, step.token_id, step.probability, step.context_used)
        if gate.closed:
            reason = "stop_string"
            break
    if stop.asked:
        reason = "stopped"
    rest = gate.pass_on(decoder.finish()) + gate.rest()
    if rest:
        yield TokenWritten(rest, last.token_id, last.probability, last.context_used)
    seconds = time.perf_counter() - started
    ended = ReplyEnded(reason, gate.passed, tokens, seconds, first_token_seconds, tokens / max(seconds, 1e-9))
    yield ended
    return ended


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
