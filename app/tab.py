"""What the window knows of its tabs: each is handled alike, by these names alone."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot
from PySide6.QtGui import QAction, QUndoStack
from PySide6.QtWidgets import QWidget

from app.context import Context
from app.widgets.banner import Banner
from app.widgets.controls.section import Section
from app.widgets.controls.splitter import Splitter
from app.widgets.keys import Keys, keys_of
from app.widgets.undo_offers import UndoOffers


class Tab(QWidget):
    """A page of the window, which has an object name of its own.

    Attributes:
        title: What stands on the tab, in menus, and in sentences about what the tab does.
        icon_name: A file of `resources/icons`, without its suffix.
        help_page: A file of `resources/help`, without its suffix.
        banner: Where failures and notices of this tab are shown.
        undo_offers: Where the tab shows what was deleted, with a button that brings it back.
    """

    title: str
    icon_name: str
    help_page: str
    banner: Banner

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, accessibleName=self.title)
        self.undo_offers = UndoOffers()

    @property
    def busy(self) -> bool:
        """True while the tab's main work goes on."""
        return False

    def first_focus(self) -> QWidget:
        """The control that should have the keyboard when the user comes to this tab."""
        return self


class TabController(QObject):
    """What stands between a tab and core. What a tab has no need of stays as it is here.

    Attributes:
        undo_stack: What Undo takes back while the tab is in front; None leaves that to another tab.
        file_actions, edit_actions: Entries of the menus File and Edit that are this tab's.
        status_widgets: What the tab shows at the end of the status bar, in front of it or not.

    Signals:
        front_requested: This page should come to the front.
        reported: A sentence on what was just done.
    """

    front_requested = Signal(QWidget)
    reported = Signal(str)

    undo_stack: QUndoStack | None = None
    file_actions: Sequence[QAction] = ()
    edit_actions: Sequence[QAction] = ()
    status_widgets: Sequence[QWidget] = ()

    def __init__(self, tab: Tab, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tab, self.context = tab, context
        self._kept: Mapping[str, str] = {}

    def begin(self) -> None:
        """The window is built: read what the tab shows."""

    def activate(self) -> None:
        """The tab is in front now, and the window stands."""

    def stop(self) -> None:
        """Ask the work of the tab to end, as its Stop button does."""

    def before_close(self) -> SignalInstance | None:
        """The window is about to close: end what is in no queue, and begin to write what is not on the disk yet.

        Returns:
            A signal for which the window waits; None where it need not.
        """
        self.stop()
        return None

    @Slot()
    def come_to_front(self) -> None:
        self.front_requested.emit(self.tab)

    def select_all(self) -> None:
        """Select everything, where the cursor is in no text."""

    def keys(self) -> Keys:
        """What can be done with keys while the tab is in front."""
        return keys_of(self.tab)

    def remember(self) -> dict[str, str]:
        """What should be as it is now when the workspace is opened again: borders and folds, and what a tab adds."""
        return {part.objectName(): part.state() for part in _parts(self.tab) if part.state()}

    def restore(self, kept: Mapping[str, str]) -> None:
        """Let it be as it was. Whoever gives a workspace away gives `kept`, too: whatever it holds does no harm."""
        self._kept = kept
        self.restore_part(self.tab)

    @Slot(QWidget)
    def restore_part(self, page: QWidget) -> None:
        """Let borders and folds of the tab, or of what is made when it is first shown, be as they were."""
        for part in _parts(page):
            if part.objectName() in self._kept:
                part.set_state(self._kept[part.objectName()])


def _parts(page: QWidget) -> list[Splitter | Section]:
    return [*page.findChildren(Splitter), *page.findChildren(Section)]
