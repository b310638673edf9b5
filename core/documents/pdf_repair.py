"""What can be saved of a PDF that pypdfium2 cannot open, such as one whose download broke off.

A PDF's table of contents stands at its end. Where it is lost, the pages before it are still whole, and a new table
over them makes a file that opens. Where that is no help, pypdf may still know a way.
"""

import re
from pathlib import Path

from pypdf import PasswordType, PdfReader
from pypdf.errors import PyPdfError

from core.documents.document import Content, name_numbers
from core.errors import EncryptedDocumentError, UnreadableDocumentError

ENCRYPTION = b"/Encrypt"  # stands, itself never encrypted, in every PDF that is
# What pypdf lets through on damaged files, beside its own errors.
DAMAGE = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)

_OBJECT = re.compile(rb"(?:^|[\r\n])(\d{1,9}) (\d{1,5}) obj\b")
_PAGE = re.compile(rb"/Type\s*/Page\b")


def with_new_table(data: bytes) -> bytes | None:
    """The file with its pages, in the order they stand in it, under a new table of contents.

    Returns:
        None where no page is found, or where the pages are locked and would come out as noise.
    """
    if ENCRYPTION in data:
        return None
    starts = list(_OBJECT.finditer(data))
    ends = [match.start() for match in starts[1:]] + [len(data)]
    pages = {
        match.group(1): b"%s %s R" % match.groups()
        for match, end in zip(starts, ends, strict=False)
        if _PAGE.search(data, match.end(), end)
    }
    if not pages:
        return None
    tree = max(int(match.group(1)) for match in starts) + 1
    return data + (
        b"\nendobj\n%d 0 obj\n<< /Type /Pages /Count %d /Kids [%s] >>\nendobj\n"
        b"%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\ntrailer\n<< /Root %d 0 R >>\nstartxref\n0\n%%%%EOF\n"
    ) % (tree, len(pages), b" ".join(pages.values()), tree + 1, tree, tree + 1)


def read_with_pypdf(path: Path) -> Content:
    """The text of the pages that pypdf can read.

    Raises:
        EncryptedDocumentError: It asks for a password, and an empty one does not open it.
        UnreadableDocumentError: There is no text in what can be read.
    """
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise EncryptedDocumentError(path)
        pages = len(reader.pages)
    except DAMAGE as cause:
        raise UnreadableDocumentError(path, "it is damaged") from cause
    texts: list[str] = []
    lost: list[int] = []
    for number in range(1, pages + 1):
        try:
            texts.append(reader.pages[number - 1].extract_text().strip())
        except DAMAGE:
            lost.append(number)
    if not any(texts):
        raise UnreadableDocumentError(path, "it is damaged" if pages else "it has no pages")
    warning = f"It is damaged; {name_numbers('page', lost)} could not be read." if lost else "It is damaged."
    return Content("\n\n".join(text for text in texts if text), pages, (warning,))
