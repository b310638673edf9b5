"""What a server reports, as lines of text."""

from core.events.base import Event
from core.events.serving import RequestEnded, RequestRefused, ServerEnded, ServerStarted
from core.wording import counted, printable


def serving_line(event: Event) -> str:
    """An event of a server as a sentence; empty for any other event, and for those that say how far a request is."""
    match event:
        case ServerStarted():
            return _started(event)
        case RequestEnded():
            first = f", first after {event.first_token_seconds * 1000:.0f} ms" if event.tokens else ""
            return (
                f"{event.id} {event.route}: {counted(event.prompt_tokens, 'prompt token')}, "
                f"{counted(event.tokens, 'new token')} in {event.seconds:.2f} s{first}, {event.reason}"
            )
        case RequestRefused():
            what = printable(f"{event.method} {event.path} from {event.client}")
            return f"{event.status} {what}: {printable(event.message)}"
        case ServerEnded():
            return f"The server stopped after {counted(event.requests, 'request')} and {counted(event.tokens, 'token')}."
        case _:
            return ""


def _started(event: ServerStarted) -> str:
    token = ' -H "Authorization: Bearer $SHEEPOP_TOKEN"' if event.needs_token else ""
    body = f'{{"model": "{event.model}", "messages": [{{"role": "user", "content": "Hello"}}]}}'
    return (
        f"{event.model}, step {event.step:,}, answers at {event.url}: {counted(event.slots, 'reply', 'replies')} at once, "
        f"{event.queue:,} waiting. Ctrl+C stops it.\n"
        f"  curl {event.url}/chat/completions{token} -H 'Content-Type: application/json' -d '{body}'"
    )
