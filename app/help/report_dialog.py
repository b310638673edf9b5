"""Help > Report a problem: shows the report first, and copies it only where the user wants it."""

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QWidget

from app.help.report import project_page
from app.settings import APPLICATION
from app.widgets.controls.small import named_button
from app.widgets.geometry import bounded
from app.widgets.label import Label
from app.widgets.layout import column
from app.widgets.theme import LARGE, set_role

FIRST_SIZE_PX = QSize(640, 520)
WHAT = (
    "These details help to find the cause: the versions of the program's parts and the end of its log. It holds no document "
    "and no conversation, but names of files and folders may stand in it. You can change it before you copy it."
)
NO_ADDRESS = (
    "Nothing is sent from here. Copy the report and send it to whoever gave you the program, together with what you did "
    "before the problem came."
)
ADDRESS = (
    "Nothing is sent from here. Copy the report, open a new issue at {page}, paste it there, and say what you did before "
    "the problem came."
)


class ReportDialog(QDialog):
    """A report to read, to change and to copy."""

    def __init__(self, report: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("reportDialog")
        self.setWindowTitle(f"Report a problem — {APPLICATION}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.report = QPlainTextEdit(report, objectName="reportEdit")
        self.report.setAccessibleName("The report")
        self.report.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.report.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.report.setTabChangesFocus(True)
        self.copy_button = named_button(
            "&Copy to the clipboard",
            "copyReportButton",
            "copy",
            "Put the report on the clipboard",
            "on_accent",
        )
        set_role(self.copy_button, "primary")
        self.copy_button.clicked.connect(self._copy)
        self.copied = Label(objectName="reportCopiedLabel")
        set_role(self.copied, "muted")
        self._lay_out()

    def _lay_out(self) -> None:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self.copy_button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        what, where = Label(WHAT, wordWrap=True), Label(where_to_send(), wordWrap=True)
        column(what, (self.report, 1), where, self.copied, buttons, of=self, margins=LARGE)
        self.resize(bounded(self, FIRST_SIZE_PX))

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())
        self.copied.setText("Copied. Paste it into your message.")


def where_to_send() -> str:
    """What to do with the report: the project's page where it has one, else whoever passed the program on."""
    page = project_page()
    return ADDRESS.format(page=page) if page else NO_ADDRESS
