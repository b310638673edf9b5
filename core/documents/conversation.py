"""Conversations in a JSON-lines file, rendered as a model is to see them: one conversation, one `<eos>`.

A line `{"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}` becomes
`<|user|>Q<|assistant|>A<eos>`. The markers are added here, so the same signs inside a message are broken up:
whoever reads them later may trust every marker.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from core.documents.document import Content, name_numbers

USER, ASSISTANT, END = "<|user|>", "<|assistant|>", "<eos>"
MARKERS = {"user": USER, "assistant": ASSISTANT}
ZERO_WIDTH_SPACE = "\u200b"

_FORGED = re.compile(r"<(?=\|user\|>|\|assistant\|>|eos>)")
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")


def read_conversations(text: str) -> Content | None:
    """The conversations in JSON lines, one after the other, each ending with `<eos>` and a line end.

    System messages are left out, neighbours of the same role become one message, and what comes before the
    first question or after the last answer is dropped. Lines that hold no conversation are named in a warning.

    Returns:
        None where the first line that is not empty holds no conversation: such a file is plain text.
    """
    rendered: list[str] = []
    left_out: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        conversation = _render_line(line)
        if conversation:
            rendered.append(conversation)
        elif not rendered:
            return None
        else:
            left_out.append(number)
    if not rendered:
        return None
    warnings = (f"No conversation in {name_numbers('line', left_out)}; left out.",) if left_out else ()
    return Content("".join(f"{conversation}\n" for conversation in rendered), warnings=warnings)


def _render_line(line: str) -> str:
    """One conversation, or "" where the line holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    messages = record.get("messages") if isinstance(record, dict) else None
    if not isinstance(messages, list):
        return ""
    turns = list(_turns(messages))
    if turns and turns[0][0] == "assistant":
        turns = turns[1:]
    if turns and turns[-1][0] == "user":
        turns = turns[:-1]
    return "".join(MARKERS[role] + content for role, content in turns) + END if turns else ""


def _turns(messages: list[Any]) -> Iterator[tuple[str, str]]:
    """Roles and contents, user and assistant taking turns."""
    spoken = [
        (message["role"], _clean(message["content"]))
        for message in messages
        if isinstance(message, dict)
        and message.get("role") in MARKERS
        and isinstance(message.get("content"), str)
    ]
    for role, group in groupby(spoken, key=lambda turn: turn[0]):
        yield role, "\n\n".join(content for _, content in group)


def _clean(content: str) -> str:
    """`content` with nothing in it that is, or could be made into, a marker.

    Invisible signs go first, because a later cleaning would drop them and so close a marker that they kept open;
    a leading combining mark is held off, because it would melt into the marker before it.
    """
    content = _FORGED.sub("<" + ZERO_WIDTH_SPACE, _INVISIBLE.sub("", content).strip())
    return ZERO_WIDTH_SPACE + content if content and unicodedata.combining(content[0]) else content
