"""Hands files to the programs that they belong to; of those that are programs themselves it asks first."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

from app.widgets.label import MessageBox, spelled_out

PROGRAM, SCRIPT, INSTALLER = "a program", "a script", "an installer"
SHORTCUT, MACROS = "a shortcut, which can start any program", "a document with macros"
# What a system runs, or may run, when such a file is opened.
EVERYWHERE = {
    PROGRAM: "jar jnlp",
    SCRIPT: "sh bash zsh fish csh ksh",
    MACROS: "docm dotm xlsm xltm xlam xlsb pptm potm ppam ppsm sldm odb",
}
OF_SYSTEM = {
    "win32": {
        PROGRAM: "exe com scr pif cpl msc hta xll chm gadget application appref-ms reg inf",
        SCRIPT: "bat cmd ps1 psm1 ps1xml vb vbe vbs js jse ws wsc wsf wsh sct py pyc pyw pyz pyzw pl rb php tcl",
        INSTALLER: "msi msp mst msix msixbundle appx appxbundle appinstaller",
        SHORTCUT: "lnk url scf website search-ms settingcontent-ms library-ms rdp iqy slk",
    },
    "darwin": {
        PROGRAM: "app tool prefpane saver",
        SCRIPT: "command terminal workflow action scpt scptd applescript py pyc pyw rb",
        INSTALLER: "pkg mpkg dmg",
        SHORTCUT: "fileloc webloc inetloc",
    },
    "linux": {
        PROGRAM: "appimage run exe msi",
        INSTALLER: "deb rpm snap flatpak flatpakref flatpakrepo",
        SHORTCUT: "desktop",
    },
}
BEGINNINGS = {
    b"#!": SCRIPT,
    b"MZ": PROGRAM,
    b"\x7fELF": PROGRAM,
    b"\xcf\xfa\xed\xfe": PROGRAM,
    b"\xca\xfe\xba\xbe": PROGRAM,
}


@dataclass(frozen=True, slots=True)
class RiskyFile:
    """A file that may run something when it is opened. `kind` goes on with "It is …"."""

    path: Path
    kind: str


class OpeningQuestion(MessageBox):
    """Asks once whether such files shall be opened, by name and kind; their folders are the way out."""

    def __init__(self, files: Sequence[RiskyFile], parent: QWidget | None = None) -> None:
        one = len(files) == 1
        super().__init__(
            QMessageBox.Icon.Warning,
            "Open the file" if one else "Open the files",
            "\n".join(f"“{spelled_out(file.path.name)}” is {file.kind}." for file in files),
            f"Opening {'it' if one else 'them'} can run what {'it holds' if one else 'they hold'}, with all "
            f"that you may do on this machine. Only do so if you know where {'it comes' if one else 'they come'} from.",
            parent,
        )
        self._files = tuple(files)
        folders = {file.path.parent for file in files}
        self.folder_button = self._button(
            "Open its &folder" if len(folders) == 1 else "Open their &folders",
            QMessageBox.ButtonRole.AcceptRole,
        )
        self.open_button = self._button("Open &anyway", QMessageBox.ButtonRole.DestructiveRole)
        cancel = self.addButton(QMessageBox.StandardButton.Cancel)
        self.setDefaultButton(self.folder_button)
        self.setEscapeButton(cancel)
        self.folder_button.clicked.connect(self._open_folders)
        self.open_button.clicked.connect(self._open_files)
        self.finished.connect(self.deleteLater)

    def _button(self, text: str, role: QMessageBox.ButtonRole) -> QPushButton:
        button = self.addButton(text, role)
        button.setAccessibleName(text.replace("&", ""))
        return button

    @Slot()
    def _open_folders(self) -> None:
        hand_over(file.path.parent for file in self._files)

    @Slot()
    def _open_files(self) -> None:
        hand_over(file.path for file in self._files)


def open_files(paths: Iterable[Path], parent: QWidget | None) -> None:
    """Open documents at once, and what may be a program when the user says so."""
    once = list(dict.fromkeys(paths))
    risky = risky_files(once)
    asked = {file.path for file in risky}
    hand_over(path for path in once if path not in asked)
    if risky:
        OpeningQuestion(risky, parent).open()


def hand_over(paths: Iterable[Path]) -> None:
    """Open each once, in the program that it belongs to."""
    for path in dict.fromkeys(paths):
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def risky_files(paths: Iterable[Path]) -> list[RiskyFile]:
    """Those that may run something when they are opened."""
    return [RiskyFile(path, kind) for path in paths if (kind := risky_kind(path))]


def risky_kind(path: Path, platform: str = sys.platform) -> str:
    """What makes a file one to ask about; "" for one that only shows something."""
    return _kind_by_name(path, platform) or _kind_on_disk(path, platform)


def _kind_by_name(path: Path, platform: str) -> str:
    suffix = Path(path.name.rstrip(". ")).suffix.lower().removeprefix(".")  # Windows drops such an end
    for kinds in (OF_SYSTEM.get(platform, OF_SYSTEM["linux"]), EVERYWHERE):
        for kind, suffixes in kinds.items():
            if suffix and suffix in suffixes.split():
                return kind
    return ""


def _kind_on_disk(path: Path, platform: str) -> str:
    """By what a name like that of a document may hide: a link to a program, its first bytes, leave to be run."""
    try:
        target = path.resolve(strict=True)
        if not target.is_file():
            return ""
        if target.name != path.name and (kind := _kind_by_name(target, platform)):
            return kind
        with target.open("rb") as file:
            beginning = file.read(4)
        runnable = platform != "win32" and bool(target.stat().st_mode & 0o111)
    except OSError:
        return ""  # it is gone, or may not be read: so it cannot be run either
    found = next((kind for signature, kind in BEGINNINGS.items() if beginning.startswith(signature)), "")
    return found or ("marked as a program" if runnable else "")
