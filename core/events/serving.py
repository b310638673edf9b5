"""The events of a server that answers over HTTP: frozen, made of plain numbers and text, times in seconds."""

from dataclasses import dataclass

from core.events.base import Event


@dataclass(frozen=True, slots=True)
class ServerStarted(Event):
    """The server answers from now on. `url` is what clients call the base URL, such as http://127.0.0.1:8000/v1.

    `model` is the name that requests give, `slots` how many replies are written at once, `queue` how many requests may
    wait beside them. `needs_token` where requests must bring one; `network` where other machines reach it.
    """

    url: str
    model: str
    step: int
    slots: int
    queue: int
    needs_token: bool
    network: bool


@dataclass(frozen=True, slots=True)
class RequestStarted(Event):
    """A request waits for its tokens. `id` counts from 1, `route` is "chat" or "completions".

    `prompt_tokens` counts all prompts of it, `choices` the replies that it asked for, each of up to `max_new_tokens`.
    """

    id: int
    route: str
    client: str  # an address; "" where it is not known
    prompt_tokens: int
    choices: int
    max_new_tokens: int
    streamed: bool
    prompt: str = ""  # how its last message or its first prompt begins


@dataclass(frozen=True, slots=True)
class RequestProgress(Event):
    """How far a request has come, a few times a second: new tokens of all its replies together.

    `tokens` is 0 while it still waits.
    """

    id: int
    tokens: int
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class RequestEnded(Event):
    """A request is answered, or given up. Follows each `RequestStarted`, the server's end included.

    `reason` is "stop", "length", "client left", "server stopped" or "failed"; of several replies the last one's.
    `seconds` count from the request on, `first_token_seconds` too (0 where there was no token).
    """

    id: int
    route: str
    reason: str
    prompt_tokens: int
    tokens: int
    first_token_seconds: float
    tokens_per_second: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RequestRefused(Event):
    """A request that got an error instead. `status` is HTTP's, `message` the sentence that was sent."""

    method: str
    path: str
    client: str
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class ServerEnded(Event):
    """The server answers no more. Counts are of all its time."""

    requests: int
    tokens: int
    seconds: float
