"""The menu bar: everything that the window can be asked for, with its keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QUndoGroup
from PySide6.QtWidgets import QMainWindow, QMenu

from app.widgets.icons import give_icon
from app.widgets.label import without_mnemonic
from app.workspaces.recent_workspaces import RecentWorkspaces

HELP_PAGES = (
    ("&Contents", "", "index"),
    ("&Terms", "", "terms"),
    ("&Keyboard", "", "keys"),
    ("&Workspaces and files", "", "workspace"),
)
APPEARANCES = {"system": "Use &system setting", "light": "&Light", "dark": "&Dark"}


class Menus(QObject):
    """Builds the menu bar of a window.

    Signals:
        files_requested, folder_requested: The user wants to add files, or a folder.
        watch_requested: The user wants a folder to be watched.
        workspace_requested: The user wants to choose another workspace.
        recent_requested: The workspace at this path should be opened.
        select_all_requested: Everything where the user is should be selected.
        tab_requested: The tab at this position should come to the front.
        appearance_requested: "system", "light" or "dark".
        help_requested: The page of help on what is in front.
        page_requested: The page of help with this name.
        shortcuts_requested: The list of all shortcuts.
        report_requested, about_requested: The other entries of the Help menu.
    """

    files_requested = Signal()
    folder_requested = Signal()
    watch_requested = Signal()
    workspace_requested = Signal()
    recent_requested = Signal(str)
    select_all_requested = Signal()
    tab_requested = Signal(int)
    appearance_requested = Signal(str)
    help_requested = Signal()
    page_requested = Signal(str)
    shortcuts_requested = Signal()
    report_requested = Signal()
    about_requested = Signal()

    def __init__(
        self,
        window: QMainWindow,
        workspace: Path,
        tabs: dict[str, str],
        appearance: str,
        undo_group: QUndoGroup,
        remove: QAction,
    ) -> None:
        super().__init__(window)
        self._window, self._workspace = window, workspace
        self._add_file_menu()
        self._add_edit_menu(undo_group, remove)
        self._add_view_menu(tabs, appearance)
        self._add_help_menu()

    def _add_file_menu(self) -> None:
        menu = self._window.menuBar().addMenu("&File")
        self._add(menu, "Add &files…", "Ctrl+O", "file", self.files_requested)
        self._add(menu, "Add f&older…", "Ctrl+Shift+O", "folder", self.folder_requested)
        self._add(menu, "&Watch a folder…", "", "eye", self.watch_requested)
        menu.addSeparator()
        self._add(menu, "Open wor&kspace…", "", "folder", self.workspace_requested)
        self.recent = menu.addMenu("&Recent workspaces")
        self.recent.aboutToShow.connect(self._fill_recent)
        menu.addSeparator()
        self._add(menu, "&Quit", "Ctrl+Q", "", self._window.close)

    def _add_edit_menu(self, undo_group: QUndoGroup, remove: QAction) -> None:
        """`remove` takes the chosen documents out of the library; `undo_group` holds what can be undone in each tab."""
        menu = self._window.menuBar().addMenu("&Edit")
        for action, keys, picture in (
            (undo_group.createUndoAction(self, "&Undo"), QKeySequence.StandardKey.Undo, "undo"),
            (undo_group.createRedoAction(self, "&Redo"), QKeySequence.StandardKey.Redo, "redo"),
        ):
            action.setShortcut(QKeySequence(keys))
            give_icon(action, picture)
            menu.addAction(action)
        menu.addSeparator()
        self._add(menu, "Select &all", "", "", self.select_all_requested)
        menu.addAction(remove)

    def _add_view_menu(self, tabs: dict[str, str], appearance: str) -> None:
        menu = self._window.menuBar().addMenu("&View")
        letters = {"A"}  # Appearance
        for place, (title, picture) in enumerate(tabs.items()):
            at = next(at for at, letter in enumerate(title) if letter.upper() not in letters)
            letters.add(title[at].upper())
            text = f"{title[:at]}&{title[at:]}"
            self._add(menu, text, f"Ctrl+{place + 1}", picture, self._request_tab).setData(place)
        menu.addSeparator()
        group = QActionGroup(self)
        looks = menu.addMenu("&Appearance")
        for name, title in APPEARANCES.items():
            action = self._add(looks, title, "", "", self._request_appearance)
            action.setData(name)
            action.setCheckable(True)
            action.setChecked(name == appearance)
            group.addAction(action)

    def _add_help_menu(self) -> None:
        menu = self._window.menuBar().addMenu("&Help")
        self._add(menu, "&Help on this tab", "F1", "info", self.help_requested)
        for title, keys, page in HELP_PAGES:
            self._add(menu, title, keys, "", self._request_page).setData(page)
        self._add(menu, "Keyboard &shortcuts…", "Ctrl+/", "", self.shortcuts_requested)
        menu.addSeparator()
        self._add(menu, "&Report a problem…", "", "bug", self.report_requested)
        self._add(menu, "&About SheepOp Studio", "", "", self.about_requested)

    def _add(
        self, menu: QMenu, title: str, keys: str, picture: str, slot: Callable[[], object] | SignalInstance
    ) -> QAction:
        action = menu.addAction(title)
        action.setShortcut(keys)
        action.triggered.connect(slot)
        if picture:
            give_icon(action, picture)
        return action

    def _chosen(self) -> Any:
        """What the entry that was triggered stands for: to be asked in its slot."""
        action = self.sender()
        assert isinstance(action, QAction), "only entries of the menus are connected to these slots"
        return action.data()

    @Slot()
    def _request_tab(self) -> None:
        self.tab_requested.emit(self._chosen())

    @Slot()
    def _request_appearance(self) -> None:
        self.appearance_requested.emit(self._chosen())

    @Slot()
    def _request_page(self) -> None:
        self.page_requested.emit(self._chosen())

    @Slot()
    def _request_recent(self) -> None:
        self.recent_requested.emit(self._chosen())

    @Slot()
    def _fill_recent(self) -> None:
        self.recent.clear()
        for path in (path for path in RecentWorkspaces().paths() if path != self._workspace):
            entry = self._add(self.recent, without_mnemonic(str(path)), "", "", self._request_recent)
            entry.setData(str(path))
        if self.recent.isEmpty():
            self.recent.addAction("No other yet").setEnabled(False)
