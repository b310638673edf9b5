"""The requests "go on with this text" and "answer me": a model's words as a stream of events."""

from collections.abc import Generator, Sequence

from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import Event, ReplyEnded
from core.tasks.open_model import OpenModel

Stream = Generator[Event, None, ReplyEnded]


def complete(model: OpenModel, text: str, sampling: SamplingConfig, stop: StopToken) -> Stream:
    """Continue `text`, which can be empty."""
    from core.generation.dialogue import completion_prompt
    from core.generation.writing import write

    tokenizer = model.loaded.tokenizer
    prompt = completion_prompt(tokenizer, text, sampling.end_prompt)
    return (yield from write(model.loaded.model, tokenizer, prompt, tokenizer.unknown(text), sampling, stop))


def reply(
    model: OpenModel, messages: Sequence[tuple[str, str]], sampling: SamplingConfig, stop: StopToken
) -> Stream:
    """Answer the last message of a conversation.

    Args:
        messages: Role ("user" or "assistant") and content, oldest first, the last from the user.
    """
    from core.generation.dialogue import dialogue_prompt
    from core.generation.writing import write

    tokenizer = model.loaded.tokenizer
    prompt = dialogue_prompt(tokenizer, messages)
    unknown = tokenizer.unknown(messages[-1][1])
    return (yield from write(model.loaded.model, tokenizer, prompt, unknown, sampling, stop))
