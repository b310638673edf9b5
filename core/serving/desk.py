"""The clients' side of the queue: takes requests on while there is room, and brings back what was decoded for them.

Belongs to the thread that talks to clients, all but `post`.
"""

from collections.abc import AsyncIterator, Sequence

from core.events.base import Event
from core.events.serving import RequestEnded
from core.serving.api_error import ApiError, LostError
from core.serving.metrics import Metrics
from core.serving.scheduler import Inbox
from core.serving.work import Work, WorkFailed, WorkStarted

RETRY_SECONDS = "1"


class Desk:
    """All requests that have been taken on and not ended."""

    def __init__(self, inbox: Inbox, metrics: Metrics, most: int) -> None:
        """Begin with none.

        Args:
            most: How many requests there can be, those that wait included.
        """
        self._inbox, self._metrics, self._most = inbox, metrics, most
        self._open: set[Work] = set()
        self._running: set[Work] = set()
        self._closed = False

    def submit(self, work: Work) -> None:
        """Take a request on. Whoever does calls `leave` when it is over, however it ended.

        Raises:
            ApiError: 429, there is no room; 503, the server ends.
        """
        if self._closed:
            raise ApiError(503, "The server is shutting down.", "server_shutting_down")
        if len(self._open) >= self._most:
            message = "Too many requests are waiting. Try again in a moment."
            raise ApiError(429, message, "rate_limit_exceeded", headers={"retry-after": RETRY_SECONDS})
        self._open.add(work)
        self._metrics.prompt_tokens += work.prompt_tokens
        self._count()
        self._inbox.put(work)

    def leave(self, work: Work) -> None:
        """Let a request go; what it has not got yet, nobody waits for any more."""
        work.client_left = True
        self._open.discard(work)
        self._running.discard(work)
        self._count()

    def close(self) -> None:
        """Take no more requests on."""
        self._closed = True

    def note(self, event: Event) -> None:
        """Hand an event to whoever follows the server."""
        self._inbox.put(event)

    def deliver(self, outgoing: Sequence[tuple[Work, Sequence[Event]]]) -> None:
        """Take what one step has decoded."""
        for work, events in outgoing:
            for event in events:
                if isinstance(event, WorkStarted) and work in self._open:
                    self._running.add(work)
                    self._count()
                elif isinstance(event, RequestEnded):
                    self._metrics.note_ended(event)
            work.events.put_nowait(events)

    def _count(self) -> None:
        self._metrics.running = len(self._running)
        self._metrics.queued = len(self._open) - len(self._running)


async def decoded(work: Work) -> AsyncIterator[Event]:
    """What is decoded for a request, as it comes.

    Raises:
        LostError: It gets no more.
    """
    while True:
        for event in await work.events.get():
            if isinstance(event, WorkFailed):
                raise LostError(event.status, event.message, event.code)
            if isinstance(event, RequestEnded):
                return
            yield event
