"""What the window knows of its tabs: each is handled alike, by these names alone."""

from typing import Protocol

from PySide6.QtWidgets import QWidget

from app.widgets.banner import Banner


class Tab(Protocol):
    """A page of the window; besides this it is a `QWidget`.

    Attributes:
        title: What stands on the tab, in menus, and in sentences about what the tab does.
        icon_name: A file of `resources/icons`, without its suffix.
        help_page: A file of `resources/help`, without its suffix.
        banner: Where failures and notices of this tab are shown.
    """

    title: str
    icon_name: str
    help_page: str
    banner: Banner

    def objectName(self) -> str: ...

    @property
    def busy(self) -> bool:
        """True while the tab's main work goes on."""
        ...

    def first_focus(self) -> QWidget:
        """The control that should have the keyboard when the user comes to this tab."""
        ...


class TabController(Protocol):
    """What stands between a tab and core.

    Methods:
        begin: The window is built: read what the tab shows.
        activate: The tab is in front now, and the window stands.
    """

    @property
    def tab(self) -> Tab: ...

    def begin(self) -> None: ...

    def activate(self) -> None: ...

    def stop(self) -> None:
        """Ask all work of the tab to end; what was done is kept."""
        ...
