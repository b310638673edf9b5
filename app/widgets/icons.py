"""Icons drawn as SVG outlines, tinted to the palette, and drawn again when the palette changes.

Each size is drawn for the ratio of every screen, because Qt scales a picture whose size does not fit, and that blurs.
What is drawn is kept until the theme changes: delegates ask for icons while they paint.
"""

from functools import cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QAction, QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication

from core.system.resources import resource

SIZES_PX = (16, 20, 24, 40, 64)  # that the program shows, in device-independent pixels

_NAME, _COLOUR = "iconName", "iconColour"


def give_icon(target: QAbstractButton | QAction, name: str, colour: str = "") -> None:
    """Put an icon on a button or action, and keep it in tune with the theme.

    Args:
        target: Its icon is replaced now and at every change of theme.
        name: A file of `resources/icons`, without its suffix.
        colour: "" for the colour of text on a button, "accent", or "on_accent".
    """
    target.setProperty(_NAME, name)
    target.setProperty(_COLOUR, colour)
    target.setIcon(icon(name, _named_colour(colour)))


def icon(name: str, colour: QColor | str | None = None) -> QIcon:
    """An icon in one colour; without one, in the colour of text on a button.

    Args:
        name: A file of `resources/icons`, without its suffix.
        colour: Where the drawing says `currentColor`. Drawings with colours of their own keep those.
    """
    palette = QApplication.palette()
    normal = QColor(colour) if colour is not None else palette.color(QPalette.ColorRole.ButtonText)
    disabled = palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.ButtonText)
    return _drawn(name, normal.name(), disabled.name(), _device_sizes())


def refresh_icons(app: QApplication) -> None:
    """Tint every icon that `give_icon` has placed to the palette that `app` wears now."""
    _drawn.cache_clear()
    for top in app.topLevelWidgets():
        targets: list[QAbstractButton | QAction] = [
            *top.findChildren(QAbstractButton),
            *top.findChildren(QAction),
        ]
        for target in targets:
            name = target.property(_NAME)
            if name:
                target.setIcon(icon(name, _named_colour(target.property(_COLOUR))))


@cache  # its pictures are plain memory, which may outlive the application
def _drawn(name: str, normal: str, disabled: str, sizes: tuple[int, ...]) -> QIcon:
    """The drawing in two colours, each as #rrggbb, and in these sizes, in pixels of a screen."""
    drawing = resource(f"icons/{name}.svg").read_text(encoding="utf-8")
    made = QIcon()
    for ink, modes in (
        (normal, (QIcon.Mode.Normal, QIcon.Mode.Selected)),  # else Qt washes out those in selected rows
        (disabled, (QIcon.Mode.Disabled,)),
    ):
        renderer = QSvgRenderer(QByteArray(drawing.replace("currentColor", ink).encode()))
        for size in sizes:
            pixmap = _draw(renderer, size)
            for mode in modes:
                made.addPixmap(pixmap, mode)
    return made


def _device_sizes() -> tuple[int, ...]:
    """`SIZES_PX` in the pixels of each screen there is."""
    ratios = {screen.devicePixelRatio() for screen in QApplication.screens()}
    return tuple(sorted({round(size * ratio) for size in SIZES_PX for ratio in ratios}))


def _named_colour(name: str) -> QColor | None:
    roles = {"accent": QPalette.ColorRole.Accent, "on_accent": QPalette.ColorRole.BrightText}
    return QApplication.palette().color(roles[name]) if name else None


def _draw(renderer: QSvgRenderer, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
