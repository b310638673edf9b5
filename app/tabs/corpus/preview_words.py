"""What the preview says of a file in words: the facts under its name, and why there is no text."""

from collections.abc import Sequence

from app.tabs.corpus.columns import QUEUED, STATES, UNFINISHED, file_size, kind_title, note, pages
from core.corpus.library import DocumentRow
from core.tasks.look_at_library import DocumentPreview, PageConfidence

WEAK_PERCENT = 60  # a page under it deserves a look
MOST_NAMED = 8

REMEDIES = {
    "encrypted": "Give its password with the button below the table.",
    "unsupported": "Convert it to text, PDF or an image, or leave it out.",
    "failed": "Check that it opens in another program, then retry, or leave it out.",
    "cancelled": "Retry to have it read.",
    "duplicate": "Nothing is lost: its text is in the corpus once.",
}


def facts(row: DocumentRow) -> str:
    """A line on what the file is and what was read from it."""
    facts = [kind_title(row.kind)]
    if pages(row):
        facts.append(f"{pages(row):,} page{'s' if pages(row) > 1 else ''}")
    if row.characters:
        facts.append(f"{row.characters:,} characters")
    facts.append(file_size(row.bytes))
    if row.confidence >= 0:
        facts.append(f"OCR {row.confidence:.0f} % sure")
    if row.state == "warning" or row.similarity:
        facts.append(note(row))
    return " · ".join(fact for fact in facts if fact)


def explanation(row: DocumentRow) -> str:
    """Why there is no text, and what to do."""
    if row.state in UNFINISHED:
        waiting = "This file waits to be read." if row.state == QUEUED else "This file is being read."
        return f"{waiting}\n\n{row.reason}".strip()
    lines = [row.reason or f"{STATES[row.state].title}.", REMEDIES.get(row.state, "")]
    return "\n\n".join(line for line in lines if line)


def weak_pages(confidences: Sequence[PageConfidence]) -> str:
    """The pages that OCR was not sure of; "" where there are none."""
    weak = [page for page in confidences if page.words and page.percent < WEAK_PERCENT]
    if not weak:
        return ""
    named = ", ".join(f"{page.page:,} ({page.percent:.0f} %)" for page in weak[:MOST_NAMED])
    more = f" and {len(weak) - MOST_NAMED:,} more" if len(weak) > MOST_NAMED else ""
    return f"OCR was unsure of page{'s' if len(weak) > 1 else ''} {named}{more}."


def page_list(confidences: Sequence[PageConfidence]) -> str:
    """How sure OCR was of each page, a line each."""
    lines = [f"Page {page.page:,}: {page.percent:.0f} %, {page.words:,} words" for page in confidences[:30]]
    if len(confidences) > 30:
        lines.append(f"… and {len(confidences) - 30:,} more pages")
    return "\n".join(lines)


def difference(preview: DocumentPreview) -> str:
    """What cleaning did, in a few words."""
    dropped, added = len(preview.as_read.marked), len(preview.cleaned.marked)
    if not dropped and not added:
        return "Cleaning changes nothing here."
    parts = []
    if dropped:
        parts.append(f"{dropped:,} part{'s' if dropped > 1 else ''} dropped")
    if added:
        parts.append(f"{added:,} new")
    return f"Cleaning: {', '.join(parts)}."
