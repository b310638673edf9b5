"""What the preview says of a file in words: the facts under its name, and why there is no text."""

from collections.abc import Sequence

from app.tabs.corpus.columns import STATES, kind_title, note, pages
from core.corpus.library import DocumentRow
from core.document_state import UNFINISHED, DocumentState
from core.tasks.look_at_library import DocumentPreview, PageConfidence
from core.wording import counted, file_size, listed, noun_for

WEAK_PERCENT = 60  # a page under it deserves a look
MOST_NAMED = 8

REMEDIES = {
    DocumentState.ENCRYPTED: "Give its password with the button below the table.",
    DocumentState.UNSUPPORTED: "Convert it to text, PDF or an image, or leave it out.",
    DocumentState.FAILED: "Check that it opens in another program, then retry, or leave it out.",
    DocumentState.CANCELLED: "Retry to have it read.",
    DocumentState.DUPLICATE: "Nothing is lost: its text is in the corpus once.",
}


def facts(row: DocumentRow) -> str:
    """A line on what the file is and what was read from it."""
    facts = [kind_title(row.kind)]
    if pages(row):
        facts.append(counted(pages(row), "page"))
    if row.characters:
        facts.append(counted(row.characters, "character"))
    facts.append(file_size(row.bytes))
    if row.confidence >= 0:
        facts.append(f"OCR {row.confidence:.0f} % sure")
    if row.state == DocumentState.WARNING or row.similarity:
        facts.append(note(row))
    return " · ".join(fact for fact in facts if fact)


def explanation(row: DocumentRow) -> str:
    """Why there is no text, and what to do."""
    if row.state in UNFINISHED:
        waiting = (
            "This file waits to be read." if row.state == DocumentState.QUEUED else "This file is being read."
        )
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
    return f"OCR was unsure of {noun_for(len(weak), 'page')} {named}{more}."


def page_list(confidences: Sequence[PageConfidence]) -> str:
    """How sure OCR was of each page, a line each."""
    lines = [
        f"Page {page.page:,}: {page.percent:.0f} %, {counted(page.words, 'word')}"
        for page in confidences[:30]
    ]
    if len(confidences) > 30:
        lines.append(f"… and {counted(len(confidences) - 30, 'more page')}")
    return "\n".join(lines)


def difference(preview: DocumentPreview) -> str:
    """What cleaning did, in a few words."""
    removed, inserted = preview.as_read.marked, preview.cleaned.marked
    if not removed and not inserted:
        return "Cleaning changes nothing here."
    parts = [_changed("removes", removed)] if removed else []
    parts += [_changed("inserts", inserted)] if inserted else []
    return f"Cleaning {listed(parts)}."


def _changed(verb: str, spans: Sequence[tuple[int, int]]) -> str:
    characters = counted(sum(end - begin for begin, end in spans), "character")
    return f"{verb} {characters} in {counted(len(spans), 'place')}"
