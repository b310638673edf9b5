"""The program with a window: from a workspace to an exit code."""

import contextlib
import ctypes
import logging
import logging.handlers
import os
import sys
from types import TracebackType
from typing import NoReturn

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QMessageBox

from app.ending import EndingSignals
from app.jobs.garbage import GarbageCollector
from app.main_window import MainWindow
from app.report import LOG_NAME
from app.settings import APPLICATION, WindowSettings
from app.widgets.icons import icon
from app.widgets.label import MessageBox
from app.widgets.theme import Theme
from core.errors import NoDisplayError, UserFacingError
from core.runs.folder import Workspace

log = logging.getLogger(__name__)

LOG_BYTES = 1_000_000
LAST_WAIT_MS = 10_000
# Training asks for Python's lock at every tensor operation; while the window paints, it waits this long at most
# each time. Python's own 5 ms made a step 14 % slower under an open window, this 8 %.
SWITCH_SECONDS = 0.0002
UNSEEN_PLATFORMS = ("offscreen", "minimal")


def run(workspace: Workspace) -> int:
    """Open the window and stay until it is closed.

    Where a job does not end in time, the process does: without a return, with the same code.

    Returns:
        The exit code, 0 unless the system ended the program.

    Raises:
        NoDisplayError: There is no screen to open it on.
        WorkspaceError: The workspace cannot be made or written to.
    """
    if not has_display():
        raise NoDisplayError
    sys.setswitchinterval(SWITCH_SECONDS)
    app = _application()
    try:
        window = _window(app, workspace)
    except UserFacingError as error:
        if not _has_reader():
            failure_box(error).exec()
        raise
    collector = GarbageCollector(app)
    ending = EndingSignals(app)
    ending.asked.connect(window.stop_and_close)
    window.show()
    code = app.exec()
    window.queues.close_down()  # closing did so and waited, unless the system ended the session
    if not window.queues.wait_all(LAST_WAIT_MS):
        _leave_at_once(window, code)
    ending.release()
    collector.release()
    return code


def _leave_at_once(window: MainWindow, code: int) -> NoReturn:
    """End the process under a job that does not end: Qt aborts where a running thread is cleared away.

    Nothing is lost that a kill would not lose, too: whatever is kept on the disk is kept whole or not at all.
    """
    log.warning("left while these were at work: %s", ", ".join(window.queues.at_work()))
    window.remember()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none without a terminal
            stream.flush()
    os._exit(code)


def failure_box(error: UserFacingError) -> QMessageBox:
    """A message for whoever started the program without a terminal, and has no window yet to read it in."""
    return MessageBox(QMessageBox.Icon.Critical, APPLICATION, error.message, error.remedy)


def _has_reader() -> bool:
    """Whether somebody reads what the command line says, or nobody sees a box."""
    return sys.stderr.isatty() or QApplication.platformName() in UNSEEN_PLATFORMS


def _application() -> QApplication:
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication(sys.argv[:1])
    app.setApplicationName(APPLICATION)
    app.setApplicationDisplayName(APPLICATION)
    app.setOrganizationName("SheepOp")
    app.setDesktopFileName("sheepop-studio")
    app.setWindowIcon(icon("app"))
    return app


def _window(app: QApplication, workspace: Workspace) -> MainWindow:
    """The window, dressed and ready to be shown."""
    workspace.prepare()
    _keep_log(workspace)
    theme = Theme(app, WindowSettings(workspace.root).appearance)
    window = MainWindow(workspace)
    theme.put_on_style_sheet()
    window.appearance_requested.connect(theme.choose)
    sys.excepthook = CrashHook(window)
    return window


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
