"""What a user does in the Chat tab, and what he then sees."""

from PySide6.QtCore import Qt


def choose(box, row):
    box.setCurrentIndex(row)
    box.activated.emit(row)


def type_and_send(tab, qtbot, text):
    qtbot.keyClicks(tab.prompt, text)
    qtbot.keyClick(tab.prompt, Qt.Key.Key_Return)


def shown(tab):
    return [line for line in tab.view.toPlainText().splitlines() if line]
