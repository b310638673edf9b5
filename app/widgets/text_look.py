"""How pieces of text look that are told from each other."""

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from app.widgets.text_difference import Mark
from app.widgets.theme import colours


def look(colour: str) -> QTextCharFormat:
    """`colour` is a field of `Colours`."""
    made = QTextCharFormat()
    made.setForeground(QColor(getattr(colours(), colour)))
    return made


def match_look(is_current: bool) -> QTextCharFormat:
    """How words that were searched for look: the match that the user is at, and the others."""
    made = look("on_accent" if is_current else "warning")
    made.setBackground(QColor(colours().accent if is_current else colours().warning_soft))
    return made


def marked(mark: Mark) -> QTextCharFormat:
    """How a piece of a compared text looks: not by colour alone."""
    if mark == "same":
        return look("text")
    made = look("accent" if mark == "added" else "danger")
    made.setBackground(QColor(colours().accent_soft if mark == "added" else colours().danger_soft))
    if mark == "added":
        made.setFontUnderline(True)
        made.setFontWeight(QFont.Weight.DemiBold)
    else:
        made.setFontStrikeOut(True)
    return made
