"""Make the pictures of the help and the README: take the tour that a newcomer takes, and photograph the window on the way.

    python packaging/pictures.py [WORKSPACE]

Without a display the window is drawn offscreen. In a new workspace this trains the sample's model, which takes
minutes; in one that has the run already, it takes seconds.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

SCREEN = {"name": "pictures", "x": 0, "y": 0, "width": 1600, "height": 1000, "logicalDpi": 96, "dpr": 1}
with tempfile.NamedTemporaryFile(
    "w", suffix=".json", delete=False
) as screens:  # Qt's own is too small for the window
    json.dump({"screens": [SCREEN]}, screens)
os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={screens.name}")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.system.process import prepare_process  # noqa: E402  # the allocator is configured before torch is loaded

prepare_process()

from PySide6.QtCore import QEventLoop, QSize, QTimer, SignalInstance  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from app.widgets.theme import apply_theme  # noqa: E402
from app.window.main_window import MainWindow  # noqa: E402
from core.runs.catalog import Catalog  # noqa: E402
from core.runs.folder import Workspace  # noqa: E402
from core.sample.meadow import held_out_questions  # noqa: E402

FOLDER = ROOT / "resources" / "help" / "pictures"
SIZE = QSize(1280, 800)
STEPS_TO_COMPUTE = 6  # times that the window is let live, until a view of a model has come
CORPUS, TRAIN, CHAT, INSPECT, MODELS = range(5)  # the tabs, in their order
SETTLE_MS = 300  # for the last frame's timer, layouts and fonts


def main() -> None:
    """Take the tour and leave the pictures in `resources/help/pictures`."""
    parser = argparse.ArgumentParser(description="Make the pictures of the help and the README.")
    parser.add_argument("workspace", nargs="?", type=Path, help="by default a new one, in a temporary folder")
    root = parser.parse_args().workspace or Path(tempfile.mkdtemp()) / "SheepOp Studio"
    workspace = Workspace(root)
    workspace.prepare()
    FOLDER.mkdir(exist_ok=True)
    app = QApplication(sys.argv[:1])
    theme = apply_theme(app, "light")
    window = MainWindow(workspace)
    window.resize(SIZE)
    window.statusBar().hide()  # it shows where the workspace lies, which is nobody's business
    window.tabs.widget(MODELS).page.settings_label.hide()  # the same
    window.show()
    take_the_tour(window, workspace)
    choose_a_document(window)
    ask(window)
    for appearance in ("light", "dark"):
        theme.choose(appearance)
        for place, name in ((CORPUS, "corpus"), (TRAIN, "train"), (CHAT, "chat"), (MODELS, "models")):
            window.tabs.setCurrentIndex(place)
            picture(window, f"{name}-{appearance}")
        look_at_tokens(window, appearance)
        inspect(window, appearance)
    window.close()


def take_the_tour(window: MainWindow, workspace: Workspace) -> None:
    """From "Try the sample" to the question typed in; or open the run that is there."""
    runs = Catalog(workspace).names()
    if runs:
        window.tabs.widget(TRAIN).chooser.chosen.emit(runs[0])
        window.ways.chat_requested.emit(runs[0], held_out_questions()[0].question)
        wait_for(window.slot.changed)
        return
    window.tabs.widget(CORPUS).sample_requested.emit()
    wait_for(window.ways.chat_requested)
    wait_for(window.slot.changed)


def choose_a_document(window: MainWindow) -> None:
    """Look at what was read from the cookbook."""
    settle()
    table = window.tabs.widget(CORPUS).table
    paths = [table.row(table.index(place, 0)).path for place in range(table.rowCount())]
    cookbook = next(path for path in paths if path.endswith("cookbook.pdf"))
    window.tabs.widget(CORPUS).documents.view.go_to(table.place_of(cookbook))


def ask(window: MainWindow) -> None:
    """Send the question that stands there, then two more."""
    for question in (None, held_out_questions()[40].question, held_out_questions()[70].question):
        if question is not None:
            window.tabs.widget(CHAT).show_prompt(question)
        settle()
        window.tabs.widget(CHAT).talk.send_button.click()
        wait_for(window.queues.idle)


def look_at_tokens(window: MainWindow, appearance: str) -> None:
    """Shade the replies by probability, beside what would come next."""
    tab = window.tabs.widget(CHAT)
    tab.view.set_shading("probability")
    tab.panel_button.setChecked(True)
    tab.panel.show_page(tab.next_token)
    for _ in range(STEPS_TO_COMPUTE):
        settle()
    picture(window, f"chat-tokens-{appearance}")
    tab.view.set_shading("none")
    tab.panel.show_page(tab.sampling)
    tab.panel_button.setChecked(False)


def inspect(window: MainWindow, appearance: str) -> None:
    """Look inside the model at its last reply, in some of the views."""
    window.tabs.setCurrentIndex(CHAT)
    window.tabs.widget(CHAT).inspect_button.click()
    for view in ("attention", "lens", "plane", "blocks"):
        window.tabs.widget(INSPECT).show_view(view)
        for _ in range(STEPS_TO_COMPUTE):
            settle()
        picture(window, f"inspect-{view}-{appearance}")


def picture(window: MainWindow, name: str) -> None:
    """Photograph the window once it has settled."""
    settle()
    window.grab().save(str(FOLDER / f"{name}.png"))


def wait_for(signal: SignalInstance) -> None:
    """Let the window live until something has happened."""
    loop = QEventLoop()
    signal.connect(loop.quit)
    loop.exec()


def settle() -> None:
    """Let the window live for a moment."""
    loop = QEventLoop()
    QTimer.singleShot(SETTLE_MS, loop.quit)
    loop.exec()


if __name__ == "__main__":
    main()
