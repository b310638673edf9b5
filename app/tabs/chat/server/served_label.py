"""Where the server answers, for the window's status bar: in sight while it runs, its panel open or not."""

from PySide6.QtCore import Slot

from app.tabs.chat.server.server_controller import ServerController
from app.widgets.label import Label


class ServedLabel(Label):
    """Empty while no server runs."""

    def __init__(self, server: ServerController) -> None:
        super().__init__(objectName="servedLabel", toolTip="Other programs can ask the model here")
        server.address_changed.connect(self._show)

    @Slot(str)
    def _show(self, url: str) -> None:
        self.setText(f"Serving at {url}" if url else "")
