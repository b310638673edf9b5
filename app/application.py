"""The program with a window: from a workspace to an exit code."""

import ctypes
import logging
import logging.handlers
import os
import sys
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from app.main_window import MainWindow
from app.report import LOG_NAME
from app.settings import APPLICATION, WindowSettings
from app.widgets.icons import icon
from app.widgets.theme import apply_theme
from core.errors import NoDisplayError
from core.runs.folder import Workspace

log = logging.getLogger(__name__)

LOG_BYTES = 1_000_000
LAST_WAIT_MS = 10_000


def run(workspace: Workspace) -> int:
    """Open the window and stay until it is closed.

    Returns:
        The exit code, 0 unless the system ended the program.

    Raises:
        NoDisplayError: There is no screen to open it on.
        WorkspaceError: The workspace cannot be made or written to.
    """
    if not has_display():
        raise NoDisplayError
    workspace.prepare()
    _keep_log(workspace)
    app = QApplication.instance() or QApplication(sys.argv[:1])
    app.setApplicationName(APPLICATION)
    app.setApplicationDisplayName(APPLICATION)
    app.setOrganizationName("SheepOp")
    app.setDesktopFileName("sheepop-studio")
    app.setWindowIcon(icon("app"))
    theme = apply_theme(app, WindowSettings(workspace.root).appearance)
    window = MainWindow(workspace)
    window.appearance_wished.connect(theme.choose)
    sys.excepthook = CrashHook(window)
    window.show()
    code = app.exec()
    window.lanes.close_down()  # closing did so and waited, unless the system ended the session
    window.lanes.wait_all(LAST_WAIT_MS)
    return code


def has_display() -> bool:
    """Whether Qt could open a window: asked before it tries, because without a screen it aborts."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("WAYLAND_DISPLAY")) or (
        bool(os.environ.get("DISPLAY")) and _x_server_answers()
    )


def _x_server_answers() -> bool:
    """Whether the server that `DISPLAY` names lets us in; a session that ended leaves its name behind."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # Qt needs this library too, and says so
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    refused = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not refused


class CrashHook:
    """The window's outermost frame: a defect is logged once and owned in a banner, and the program goes on."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # Ctrl+C in the terminal it was started from
            self._window.close()
            return
        log.critical("a slot failed", exc_info=(kind, error, trace))
        self._window.show_failure(error)


def _keep_log(workspace: Workspace) -> None:
    handler = logging.handlers.RotatingFileHandler(
        workspace.root / LOG_NAME, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    qInstallMessageHandler(_log_qt)


def _log_qt(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
    levels = {QtMsgType.QtDebugMsg: logging.DEBUG, QtMsgType.QtInfoMsg: logging.INFO}
    logging.getLogger("qt").log(levels.get(kind, logging.WARNING), message)
