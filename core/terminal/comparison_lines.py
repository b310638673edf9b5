"""What is told of replies that are compared, as lines of text."""

from core.events.base import Event
from core.events.comparison import CheckpointReplied, SideEnded, SideScored
from core.wording import counted


def compare_line(event: Event) -> str:
    """A reply with its figures, or a measurement, as text; empty for any other event."""
    match event:
        case CheckpointReplied():
            loss = "" if event.val_loss is None else f", validation loss {event.val_loss:.4f} nats/token"
            return f"{event.name}, step {event.step:,}{loss}{_figures(event)}\n{event.text}\n"
        case SideEnded():
            return f"{event.name}, step {event.step:,}{_figures(event)}\n{event.text}\n"
        case SideScored():
            which = ("first", "second")
            return (
                f"The {which[event.side]} model gives the {which[1 - event.side]} reply perplexity "
                f"{event.perplexity:.2f} ({event.loss:.4f} nats/token over {counted(event.tokens, 'token')})."
            )
        case _:
            return ""


def _figures(event: CheckpointReplied | SideEnded) -> str:
    own = "" if event.perplexity is None else f", perplexity {event.perplexity:.2f} of its own reply"
    return f": {counted(event.tokens, 'token')}, {event.tokens_per_second:.0f} tokens/s{own}, {event.reason}"
