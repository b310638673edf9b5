"""What the chat keeps of one run until its workspace is closed: its conversations, the mode and the sampler's settings."""

from app.tabs.chat.conversation import Conversation
from core.config.sampling import SamplingConfig

LONGEST_TITLE = 48  # characters


class ChatSession:
    """One conversation is in front; the earlier ones can be brought back."""

    def __init__(self, sampling: SamplingConfig, *, continues: bool) -> None:
        self.sampling = sampling
        self.continues = continues
        self._conversations = [Conversation()]  # the one that was in front last stands last

    @property
    def conversation(self) -> Conversation:
        """The one in front."""
        return self._conversations[-1]

    @property
    def earlier(self) -> list[Conversation]:
        """The others, the last one first."""
        return self._conversations[-2::-1]

    def begin(self) -> None:
        """Put a new conversation in front."""
        self._put_in_front(Conversation())

    def go_back_to(self, conversation: Conversation) -> None:
        """Put an earlier conversation in front again."""
        self._put_in_front(conversation)

    def _put_in_front(self, chosen: Conversation) -> None:
        """One in which nothing was said is not kept."""
        others = [one for one in self._conversations if one is not chosen and one.turns]
        self._conversations = [*others, chosen]


def title(conversation: Conversation) -> str:
    """What a conversation is called in a list: how its first prompt begins."""
    words = " ".join(conversation.turns[0].prompt.split())
    return words if len(words) <= LONGEST_TITLE else f"{words[: LONGEST_TITLE - 1]}…"
