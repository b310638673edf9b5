"""A message as the view gets it, and the words around it."""

from dataclasses import dataclass

from core.conversations.message import EDITED, Message

SPEAKERS = {"system": "System", "user": "You", "assistant": "Model", "text": "Text"}
ENDINGS = {"length": "Ended at the length limit", "stopped": "Stopped", "stop_string": "", "eos": ""}


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of the branch in front, which is `version` (from 1) of so many in its place."""

    message: Message
    version: int = 1
    versions: int = 1


def caption(shown: ShownMessage) -> str:
    """Who says it: "You", or the model's name and step; and which version it is where there are several; "edited" is a
    reply that the user gave other words.
    """
    message = shown.message
    speaker = SPEAKERS[message.role]
    if message.role == "assistant" and message.run:
        speaker = f"{message.run} · step {message.step:,}"
    if message.reason == EDITED:
        speaker += ", edited"
    return " · ".join(filter(None, (speaker, version_caption(shown))))


def version_caption(shown: ShownMessage) -> str:
    """Which version it is; "" where there is only one."""
    return f"version {shown.version:,} of {shown.versions:,}" if shown.versions > 1 else ""


def remarks(message: Message) -> list[str]:
    """What is said below a message: notes, and how it ended where that is not the usual way."""
    ending = ENDINGS.get(message.reason, "")
    return [*message.notes, *([ending] if ending else [])]
