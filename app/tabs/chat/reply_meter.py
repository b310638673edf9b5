"""How fast a reply comes and how much of the context is used, during the reply and after it."""

from core.events import Event, PromptRead, ReplyEnded, TokenWritten
from core.wording import counted, number

ENDINGS = {
    "eos": "",
    "stop_string": "ended at a stop text",
    "length": "reached the maximum length",
    "stopped": "stopped",
}


class ReplyMeter:
    """Takes the events of one reply."""

    def __init__(self) -> None:
        self.context_used = 0  # tokens
        self.context_length = 0  # tokens; 0: not known yet
        self._tokens = 0
        self._started = 0.0
        self._tokens_per_second = 0.0
        self._ending = ""

    def take(self, event: Event, now: float) -> None:
        """`now` is the time in seconds on any clock that only goes forward."""
        match event:
            case PromptRead():
                self.context_used, self.context_length = event.tokens, event.context_length
            case TokenWritten():
                self.context_used = event.context_used
                self._count_token(now)
            case ReplyEnded():
                self._tokens, self._tokens_per_second = event.tokens, event.tokens_per_second
                self._ending = ENDINGS[event.reason]

    def line(self) -> str:
        """The figures so far, each with its unit."""
        if not self.context_length:
            return ""
        figures = [f"context {number(self.context_used)} of {counted(self.context_length, 'token')}"]
        if self._tokens_per_second:
            speed = f"{number(self._tokens_per_second)} tokens/s"
            figures = [counted(self._tokens, "token"), speed, *figures]
        return " · ".join([*figures, self._ending] if self._ending else figures)

    def _count_token(self, now: float) -> None:
        if not self._tokens:
            self._started = now
        elif now > self._started:
            self._tokens_per_second = self._tokens / (now - self._started)
        self._tokens += 1
