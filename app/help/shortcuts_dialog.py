"""The list of keys, read off the shortcuts that there are."""

from collections.abc import Iterable, Sequence
from html import escape

from PySide6.QtCore import QSize
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QMenu, QMenuBar, QVBoxLayout, QWidget

from app.help.help_window import HelpPages
from app.widgets.geometry import bounded
from app.widgets.theme import MEDIUM

FIRST_SIZE_PX = QSize(560, 600)
Keys = Sequence[tuple[str, str]]  # the keys, and what they do


class ShortcutsDialog(QDialog):
    """Shows keys in groups; Esc closes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("shortcutsDialog")
        self.setWindowTitle("Keyboard shortcuts")
        self.page = HelpPages()
        self.page.setObjectName("shortcutsPage")
        self.page.setAccessibleName("Keyboard shortcuts")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        layout.addWidget(self.page)
        layout.addWidget(buttons)
        self.resize(FIRST_SIZE_PX)

    def show_keys(self, groups: Iterable[tuple[str, Keys]]) -> None:
        """Show these groups, each under its title; those without keys are left out."""
        parts = []
        for title, keys in groups:
            rows = "".join(
                f"<tr><td><b>{escape(key)}</b></td><td>{escape(what)}</td></tr>" for key, what in keys
            )
            if rows:
                parts.append(f"<h2>{escape(title)}</h2><table>{rows}</table>")
        self.page.setHtml("".join(parts))
        self.resize(bounded(self, self.size()))
        self.show()
        self.activateWindow()
        self.page.setFocus()


def keys_of(widget: QWidget) -> list[tuple[str, str]]:
    """The keys of a widget's actions, and of its shortcuts that say what they are for."""
    found = [
        (_spelled(action.shortcuts()), _title(action))
        for action in widget.findChildren(QAction)
        if action.shortcuts()
    ]
    found += [
        (_spelled([shortcut.key()]), shortcut.whatsThis())
        for shortcut in widget.findChildren(QShortcut)
        if shortcut.whatsThis()
    ]
    return list(dict.fromkeys(found))


def keys_of_menus(bar: QMenuBar) -> list[tuple[str, str]]:
    """The keys of a window's menus."""
    actions = [action for menu in bar.findChildren(QMenu) for action in menu.actions()]
    return [(_spelled(action.shortcuts()), _title(action)) for action in actions if action.shortcuts()]


def _title(action: QAction) -> str:
    return action.text().replace("&", "").rstrip("…")


def _spelled(keys: Sequence[QKeySequence]) -> str:
    """The keys as they stand on a keyboard; the number pad's Enter is another key of the same name."""
    names = [key.toString(QKeySequence.SequenceFormat.NativeText).replace("Return", "Enter") for key in keys]
    return ", ".join(dict.fromkeys(names))
