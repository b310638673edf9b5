"""What was said: messages, of which each knows the one before it, and the conversation that they make as a tree.

A message is never changed once it is kept. What is edited, written anew or continued is another message with the same
parent, a version of it; the conversation remembers which version is in front.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import uuid4

from core.config.sampling import SamplingConfig
from core.events.replies import TokenDetails

Role = Literal["system", "user", "assistant", "text"]
ConversationKind = Literal["chat", "completion"]
EDITED = "edited"


def new_id() -> str:
    """A name that no other message or conversation has, given before anything is written to the disk."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Message:
    """One message. In a completion each is the whole text at one moment, with the role "text".

    `generated` are the parts of a completion's text that a model wrote, as characters from and to. `tokens` are those
    of an assistant's message (or of the last generated part): their texts, joined, are what was written; empty where
    that is not known. `run` and `step` name the checkpoint that wrote it. `reason` is why it ended, as in `ReplyEnded`, or `EDITED` for a reply that the user gave other words.
    """

    parent_id: str  # "" for the first
    role: Role
    content: str
    id: str = field(default_factory=new_id)
    generated: tuple[tuple[int, int], ...] = ()
    tokens: Sequence[TokenDetails] = ()  # a tuple, or packed, where it was read from the disk
    notes: tuple[str, ...] = ()  # what the user was told of it, such as what the context no longer holds
    run: str = ""
    step: int = 0
    reason: str = ""
    sampling: SamplingConfig | None = None  # how it was drawn
    created_at: float = field(default_factory=time.time)  # seconds since 1970


@dataclass(slots=True)
class Conversation:
    """All messages of a conversation, and which of them are in front."""

    kind: ConversationKind
    id: str = field(default_factory=new_id)
    title: str = ""  # "" until it is named, by the user or after the first message
    pinned: bool = False
    run: str = ""  # the model that it was last talked with
    checkpoint: str = "best"
    sampling: SamplingConfig | None = None  # of the next reply; None for the run's own
    created_at: float = field(default_factory=time.time)
    messages: dict[str, Message] = field(default_factory=dict)  # by id, in the order in which they came
    leaf_id: str = ""  # the last message of the branch in front; "" where there is none

    def add(self, message: Message) -> None:
        """Take a message in and put it in front."""
        self.messages[message.id] = message
        self.leaf_id = message.id

    def rename_run(self, name: str, new: str) -> None:
        """Let the conversation and its messages name a run as it is called now."""
        if self.run == name:
            self.run = new
        for message in self.messages.values():
            if message.run == name:
                self.messages[message.id] = replace(message, run=new)

    def branch(self) -> list[Message]:
        """The messages in front, the first one first."""
        found, at = [], self.leaf_id
        while at:
            found.append(self.messages[at])
            at = found[-1].parent_id
        return found[::-1]

    def versions(self, message: Message) -> list[Message]:
        """The messages that stand in the same place, this one included, the oldest first."""
        return [
            one
            for one in self.messages.values()
            if one.parent_id == message.parent_id and one.role == message.role
        ]

    def select(self, message: Message) -> None:
        """Put a version in front, with what was last said after it."""
        last_children = {one.parent_id: one.id for one in self.messages.values()}
        at: str | None = message.id
        while at is not None:
            self.leaf_id = at
            at = last_children.get(at)
