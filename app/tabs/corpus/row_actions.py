"""What can be done with the files that are chosen in the ledger, each thing once: for menus, keys and buttons alike."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.tabs.corpus.columns import UNFINISHED, has_text
from app.tabs.corpus.opening import hand_over, open_files
from app.widgets.icons import give_icon
from core.corpus.library import DocumentRow

RETRIABLE = frozenset(("failed", "cancelled"))
MOST_OPENED = 10  # files or folders at once: more windows than that nobody means
WITH_PAGES = frozenset(("pdf", "image"))
WITH_FIELDS = frozenset(("json", "database", "conversation"))


class RowActions(QObject):
    """The actions, enabled where they fit at least one of the chosen rows.

    Signals:
        include_requested: Document numbers, and whether they should be part of the corpus.
        remove_requested: Document numbers.
        retry_requested, password_requested, ocr_requested, fields_requested: Ledger paths of the files to read again.
    """

    include_requested = Signal(list, bool)
    remove_requested = Signal(list)
    retry_requested = Signal(list)
    password_requested = Signal(list)
    ocr_requested = Signal(list)
    fields_requested = Signal(list)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[DocumentRow] = ()
        self.include = self._action(
            "&Include", "tick", self._include, "Take the chosen files into the corpus (Space)"
        )
        self.leave_out = self._action(
            "Lea&ve out", "exclude", self._leave_out, "Leave the chosen files out of the corpus (Space)"
        )
        self.retry = self._action("Re&try", "refresh", self._retry, "Read the chosen files again that failed")
        self.password = self._action(
            "Give &password…", "lock", self._give_password, "Read the locked files with a password"
        )
        self.ocr = self._action(
            "Read with O&CR", "scan", self._force_ocr, "Read every page of the chosen files again, with OCR"
        )
        self.fields = self._action(
            "Choose te&xt fields…",
            "fields",
            self._choose_fields,
            "Choose which fields of the records are text",
        )
        self.remove = self._action(
            "&Remove",
            "trash",
            self._remove,
            "Take the chosen files out of the library (Del). Undo brings them back.",
        )
        self.remove.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        self.open_file = self._action(
            "&Open the file",
            "file",
            self._open_file,
            "Open the chosen files in the programs that they belong to",
        )
        self.open_folder = self._action(
            "Open its &folder", "folder", self._open_folder, "Open the folders that the chosen files lie in"
        )
        self.copy = self._action("Copy pat&h", "copy", self._copy, "Copy the paths of the chosen files")
        self.follow([])

    def follow(self, rows: Sequence[DocumentRow]) -> None:
        """These rows are chosen now."""
        self._rows = rows
        fits = {
            self.include: any(has_text(row) and not row.included for row in rows),
            self.leave_out: any(has_text(row) and row.included for row in rows),
            self.retry: any(_is_retriable(row) for row in rows),
            self.password: any(row.state == "encrypted" for row in rows),
            self.ocr: any(row.kind in WITH_PAGES and row.state not in UNFINISHED for row in rows),
            self.fields: any(row.kind in WITH_FIELDS and row.state not in UNFINISHED for row in rows),
            self.remove: any(row.id and row.state not in UNFINISHED for row in rows),
            self.open_file: 1 <= len(rows) <= MOST_OPENED,
            self.open_folder: 1 <= len(rows) <= MOST_OPENED,
            self.copy: bool(rows),
        }
        for action, fitting in fits.items():
            action.setEnabled(fitting)

    def buttons(self) -> list[QAction]:
        """Those that stand below the table."""
        return [self.include, self.leave_out, self.retry, self.password, self.ocr, self.fields, self.remove]

    def menu(self, parent: QWidget) -> QMenu:
        """All that fit the chosen rows."""
        menu = QMenu(parent)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for group in (
            (self.include, self.leave_out),
            (self.retry, self.password, self.ocr, self.fields),
            (self.open_file, self.open_folder, self.copy),
            (self.remove,),
        ):
            menu.addActions([action for action in group if action.isEnabled()])
            menu.addSeparator()
        return menu

    @Slot()
    def toggle(self) -> None:
        """Include what is chosen; leave all of it out where all is included."""
        self._request_included(not all(row.included for row in self._rows if has_text(row)))

    @Slot()
    def _include(self) -> None:
        self._request_included(True)

    @Slot()
    def _leave_out(self) -> None:
        self._request_included(False)

    def _request_included(self, included: bool) -> None:
        wanted = [row.id for row in self._rows if has_text(row) and row.included != included]
        if wanted:
            self.include_requested.emit(wanted, included)

    @Slot()
    def _remove(self) -> None:
        self.remove_requested.emit([row.id for row in self._rows if row.id and row.state not in UNFINISHED])

    @Slot()
    def _retry(self) -> None:
        self.retry_requested.emit([row.path for row in self._rows if _is_retriable(row)])

    @Slot()
    def _give_password(self) -> None:
        self.password_requested.emit([row.path for row in self._rows if row.state == "encrypted"])

    @Slot()
    def _force_ocr(self) -> None:
        self.ocr_requested.emit(
            [row.path for row in self._rows if row.kind in WITH_PAGES and row.state not in UNFINISHED]
        )

    @Slot()
    def _choose_fields(self) -> None:
        self.fields_requested.emit(
            [row.path for row in self._rows if row.kind in WITH_FIELDS and row.state not in UNFINISHED]
        )

    @Slot()
    def _open_file(self) -> None:
        open_files((file_on_disk(row.path) for row in self._rows), self.parent())

    @Slot()
    def _open_folder(self) -> None:
        hand_over(file_on_disk(row.path).parent for row in self._rows)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(row.path for row in self._rows))

    def _action(self, title: str, picture: str, slot: Callable[[], None], tip: str) -> QAction:
        action = QAction(title, self, toolTip=tip)
        action.triggered.connect(slot)
        give_icon(action, picture)
        return action


def file_on_disk(path: str) -> Path:
    """The file itself; of a member of an archive, the archive."""
    found = Path(path)
    while not found.exists() and found != found.parent:
        found = found.parent
    return found if found.is_file() else Path(path)


def _is_retriable(row: DocumentRow) -> bool:
    return row.state in RETRIABLE or row.is_outdated
