"""The window: tabs on one workspace, and a way to close that leaves nothing half done."""

from functools import cached_property
from typing import TypeGuard

from PySide6.QtCore import QByteArray, QSize, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QShowEvent, QUndoGroup
from PySide6.QtWidgets import QLineEdit, QMainWindow, QPlainTextEdit, QTextEdit, QWidget

from app.errors import present
from app.help.about import AboutDialog
from app.help.help_window import HelpWindow
from app.help.report import problem_report
from app.help.report_dialog import ReportDialog
from app.help.shortcuts_dialog import ShortcutsDialog, keys_of, keys_of_menus
from app.jobs.job_queue import JobQueues
from app.model_slot import ModelSlot
from app.settings import APPLICATION, WindowSettings
from app.tabs.chat.controller import ChatController
from app.tabs.chat.server.served_label import ServedLabel
from app.tabs.chat.tab import ChatTab
from app.tabs.context import Context
from app.tabs.corpus.controller import CorpusController
from app.tabs.corpus.tab import CorpusTab
from app.tabs.inspect.controller import InspectController
from app.tabs.inspect.makers import MAKERS
from app.tabs.inspect.tab import InspectTab
from app.tabs.inspect.view_connections import ViewConnections
from app.tabs.tab import TabController
from app.tabs.train.controller import TrainController
from app.tabs.train.tab import TrainTab
from app.widgets.controls.step_strip import StepStrip
from app.widgets.geometry import BoundedTabs, bring_inside
from app.widgets.icons import icon
from app.widgets.label import Label
from app.widgets.theme import colours
from app.window.close_question import BEFORE_ANOTHER, STILL_AT_WORK, STILL_STOPPING, CloseQuestion
from app.window.doing_label import DoingLabel
from app.window.first_run import STEPS, FirstRun
from app.window.menus import Menus
from app.window.notification import Notifier
from app.window.ways_between_tabs import WaysBetweenTabs
from app.workspaces.workspace_chooser import WorkspaceChooser
from core.runs.folder import Workspace

TELLING_MS = 8_000
FIRST_SIZE_PX = QSize(1240, 760)


class MainWindow(QMainWindow):
    """Holds the tabs and their controllers, and the queues that their jobs run in.

    Signals:
        appearance_requested: The user chose "system", "light" or "dark".
        workspace_requested: This window closes, and another `Workspace` should be opened in its place.
    """

    appearance_requested = Signal(str)
    workspace_requested = Signal(object)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(window_title(workspace))
        self._workspace = workspace
        self._next: Workspace | None = None  # to be opened when this window has closed
        self._settings = WindowSettings(workspace.root)
        self._closing = self._leaving = self._has_kept = False
        self.question: CloseQuestion | None = None  # while it is asked whether to stop and close
        self.queues = JobQueues(self)
        self.slot = ModelSlot(workspace, self.queues, self)
        self._context = Context(workspace, self.queues, self.slot, self._settings)
        self.workspaces = WorkspaceChooser(workspace, self)
        self._controllers: list[TabController] = []
        self._make_tabs()
        self._connect_tabs()
        self._make_menus()
        self._make_status_bar()
        self._restore()

    def show_failure(self, error: BaseException) -> None:
        """Report a failure in the tab that the user looks at."""
        present(error, self._front.tab.banner)

    @Slot()
    def stop_and_close(self) -> None:
        """Close without a question as soon as all work has stopped at a step and is saved."""
        if self.question is not None:
            self.question.reject()
        self._next = None
        if not self._closing:
            self._stop_and_close()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():  # those are of a window that comes back from the task bar
            QTimer.singleShot(0, self._stand)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._leaving or not self.queues.active():
            for controller in self._controllers:
                controller.stop()  # also what is in no queue, such as a journal that is being read
            if self.chat.keeper.busy and not self._leaving and not self._has_kept:
                self._has_kept = True  # whatever comes of it: once is enough
                self.chat.keeper.kept.connect(self.close)
                event.ignore()
                return
            self.queues.close_down()  # the quiet ones: whoever runs the program waits for them
            self.remember()
            event.accept()
            if self._next is not None:
                self.workspace_requested.emit(self._next)
            return
        event.ignore()
        if self.question is None:
            self._ask(leaving=self._closing or bool(self.queues.overdue()))

    def take_place(self, geometry: QByteArray) -> None:
        """Stand where another window stood, unless this workspace remembers a place of its own."""
        if self._settings.geometry.isEmpty():
            self.restoreGeometry(geometry)

    def remember(self) -> None:
        """Keep how the window stands, for the next start."""
        self._settings.geometry = self.saveGeometry()
        self._settings.tab = self._front.tab.objectName()
        self._settings.charts = self.train_tab.curves.charts
        self._settings.save()

    @cached_property
    def help(self) -> HelpWindow:
        """The pages of help, made when somebody first asks for them."""
        return HelpWindow(self)

    @property
    def _front(self) -> TabController:
        """Of the tab that the user looks at."""
        return self._controllers[self.tabs.currentIndex()]

    def _make_tabs(self) -> None:
        self.corpus_tab, self.train_tab, self.chat_tab = CorpusTab(), TrainTab(), ChatTab()
        self.inspect_tab = InspectTab(MAKERS)
        self.corpus = CorpusController(self.corpus_tab, self._context, self)
        self.train = TrainController(self.train_tab, self._context, self)
        self.chat = ChatController(self.chat_tab, self._context, self)
        self.inspect = InspectController(self.inspect_tab, self._context, self)
        self.inspect_views = ViewConnections(self.inspect, self._context, self)
        self.first_run = FirstRun(self._workspace, self.corpus, self.train, self.chat, self.queues, self)
        self.undo_group = QUndoGroup(self)
        for stack in (self.corpus.library.undo_stack, self.chat.undo_stack):
            self.undo_group.addStack(stack)
        self.tabs = BoundedTabs(self)
        self._add_tab(self.corpus_tab, self.corpus)
        self._add_tab(self.train_tab, self.train)
        self._add_tab(self.chat_tab, self.chat)
        self._add_tab(self.inspect_tab, self.inspect)
        self.tabs.currentChanged.connect(self._show_tab)
        self.sample_steps = StepStrip(STEPS)
        self.tabs.setCornerWidget(self.sample_steps)
        self.tabs.currentChanged.connect(self._end_sample_steps)
        self.setCentralWidget(self.tabs)

    def _add_tab(self, page: QWidget, controller: TabController) -> None:
        """`page` is the controller's tab."""
        self._controllers.append(controller)
        place = self.tabs.addTab(page, controller.tab.title)
        self.tabs.setTabToolTip(place, f"{controller.tab.title} (Ctrl+{place + 1})")

    def _connect_tabs(self) -> None:
        self.ways = WaysBetweenTabs(
            self.tabs, self.corpus, self.train, self.chat, self.inspect, self.first_run, self
        )
        self.notifier = Notifier(self, self)
        self.train.run_ended.connect(self.notifier.show_ended)
        self.first_run.step_reached.connect(self.sample_steps.show_step)
        self.first_run.left.connect(self.sample_steps.hide)
        self.corpus.library.reported.connect(self._show_sentence)
        self.train_tab.leave_requested.connect(self._ask_to_leave)
        for controller in self._controllers:
            controller.begin()

    def _make_menus(self) -> None:
        self.menus = Menus(
            self,
            self._workspace.root.absolute(),
            {controller.tab.title: controller.tab.icon_name for controller in self._controllers},
            self._settings.appearance,
            self.undo_group,
            self.corpus_tab.documents.row_actions.remove,
        )
        self.menus.files_requested.connect(self._add_files)
        self.menus.folder_requested.connect(self._add_folder)
        self.menus.watch_requested.connect(self._watch_folder)
        self.menus.select_all_requested.connect(self._select_all)
        self.menus.tab_requested.connect(self._go_to)
        self.menus.appearance_requested.connect(self._choose_appearance)
        self.menus.workspace_requested.connect(self.workspaces.ask)
        self.menus.recent_requested.connect(self.workspaces.choose)
        self.workspaces.chosen.connect(self._change_workspace)
        self.workspaces.refused.connect(self._show_refusal)
        self.menus.help_requested.connect(self._show_help)
        self.menus.page_requested.connect(self._show_page)
        self.menus.shortcuts_requested.connect(self._show_shortcuts)
        self.menus.report_requested.connect(self._report)
        self.menus.about_requested.connect(self._show_about)

    def _make_status_bar(self) -> None:
        for label in (ServedLabel(self.chat.server), DoingLabel(self.queues)):
            self.statusBar().addPermanentWidget(label)
        self.statusBar().setSizeGripEnabled(False)
        place = Label(f"Workspace  {self._workspace.root}")
        place.setToolTip("Where the library, data sets and runs are kept")
        self.statusBar().addWidget(place)
        self.queues.stop_overdue.connect(self._offer_to_leave)

    def _restore(self) -> None:
        self.resize(FIRST_SIZE_PX.boundedTo(self.screen().availableSize()))
        if self._settings.charts is not None:
            self.train_tab.curves.show_charts(self._settings.charts)
        if not self._settings.geometry.isEmpty():
            self.restoreGeometry(self._settings.geometry)
        names = [controller.tab.objectName() for controller in self._controllers]
        if self._settings.tab in names:
            self.tabs.setCurrentIndex(names.index(self._settings.tab))
        bring_inside(self)
        self._show_tab()

    @Slot()
    def _stand(self) -> None:
        """The window is shown: its frame is known now, and work may begin that is for what is in front."""
        bring_inside(self)
        self._front.tab.first_focus().setFocus()
        self._front.activate()

    def _ask(self, *, leaving: bool) -> None:
        """Ask whether to stop and close; with `leaving`, whether to close under work that does not stop."""
        at_work = STILL_AT_WORK if self._next is None else BEFORE_ANOTHER
        doing = " and ".join(self.queues.doing(queue).lower() for queue in self.queues.active())
        self.question = CloseQuestion(doing, STILL_STOPPING if leaving else at_work, self)
        self.question.agreed.connect(self._leave if leaving else self._stop_and_close)
        if leaving:
            self.queues.idle.connect(self.question.reject)  # it has stopped after all
        self.question.rejected.connect(self._stay)
        self.question.finished.connect(self._forget_question)
        self.question.open()

    @Slot()
    def _stay(self) -> None:
        if not self._closing:
            self._next = None

    @Slot()
    def _forget_question(self) -> None:
        if self.question is not None:
            self.question.deleteLater()
            self.question = None

    @Slot()
    def _stop_and_close(self) -> None:
        """Close when the last job has ended; until then the window goes on painting."""
        self._closing = True
        self.tabs.setEnabled(False)
        self.statusBar().showMessage("Stopping at the next step and saving…")
        self.queues.idle.connect(self.close)
        self.train.stop()  # which says so over its curves
        self.queues.close_down()
        if not self.queues.active():  # the work ended while the question stood
            self.close()

    @Slot()
    def _ask_to_leave(self) -> None:
        if self.question is None:
            self._ask(leaving=True)

    @Slot(str)
    def _offer_to_leave(self, _queue: str) -> None:
        """A window that waits to close cannot do it; one that stays open says so where its Stop button is."""
        if self._closing:
            self._ask_to_leave()

    @Slot()
    def _leave(self) -> None:
        """Close under work that does not stop. Whoever runs the program waits a little, and ends it without an abort."""
        self._leaving = True
        self.close()

    @Slot()
    def _show_tab(self) -> None:
        """Colour the icon of the tab in front, and let it have the keyboard, unless the row of tabs has it."""
        in_chat = self.tabs.currentWidget() is self.chat_tab
        self.undo_group.setActiveStack(self.chat.undo_stack if in_chat else self.corpus.library.undo_stack)
        for place, controller in enumerate(self._controllers):
            chosen = place == self.tabs.currentIndex()
            colour = colours().accent if chosen else colours().muted
            self.tabs.setTabIcon(place, icon(controller.tab.icon_name, colour))
        if self.isVisible():
            if not self.tabs.tabBar().hasFocus():
                self._front.tab.first_focus().setFocus()
            self._front.activate()

    @Slot(int)
    def _go_to(self, place: int) -> None:
        self.tabs.setCurrentIndex(place)
        self._front.tab.first_focus().setFocus()

    @Slot()
    def _end_sample_steps(self) -> None:
        """Who leaves the chat at the end of the sample's way has seen all of its steps."""
        if self.sample_steps.at_end:
            self.sample_steps.hide()

    @Slot()
    def _add_files(self) -> None:
        self.tabs.setCurrentWidget(self.corpus_tab)
        self.corpus_tab.choose_files()

    @Slot()
    def _add_folder(self) -> None:
        self.tabs.setCurrentWidget(self.corpus_tab)
        self.corpus_tab.choose_folder()

    @Slot(str)
    def _show_sentence(self, sentence: str) -> None:
        self.statusBar().showMessage(sentence, TELLING_MS)

    @Slot()
    def _watch_folder(self) -> None:
        self.tabs.setCurrentWidget(self.corpus_tab)
        self.corpus_tab.choose_watched_folder()

    @Slot()
    def _select_all(self) -> None:
        """In the field that has the cursor, if it has text to select, else among the documents."""
        field = self.focusWidget()
        if _holds_text(field):
            field.selectAll()
        elif self.tabs.currentWidget() is self.corpus_tab:
            self.corpus_tab.documents.view.selectAll()

    @Slot(str)
    def _choose_appearance(self, appearance: str) -> None:
        self._settings.appearance = appearance
        self._settings.save()  # another window may open before this one closes
        self.appearance_requested.emit(appearance)
        self._show_tab()

    @Slot(object)
    def _change_workspace(self, workspace: Workspace) -> None:
        self._next = workspace
        self.close()

    @Slot(str, str)
    def _show_refusal(self, message: str, remedy: str) -> None:
        self._front.tab.banner.show_problem(message, remedy)

    @Slot()
    def _show_help(self) -> None:
        self._show_page(self._front.tab.help_page)

    @Slot(str)
    def _show_page(self, name: str) -> None:
        self.help.show_page(name)

    @Slot()
    def _show_shortcuts(self) -> None:
        """Of the tab in front first."""
        front = self.tabs.currentWidget()
        chat = ("Chat", [*self.chat_tab.prompt.typed_keys(), *keys_of(self.chat_tab)])
        others = [("Corpus", keys_of(self.corpus_tab)), ("Train", keys_of(self.train_tab))]
        others.append(("Inspect", keys_of(self.inspect_tab)))
        groups = [chat, *others] if front is self.chat_tab else [*others, chat]
        dialog = ShortcutsDialog(self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show_keys([("Everywhere", keys_of_menus(self.menuBar())), *groups])

    @Slot()
    def _report(self) -> None:
        ReportDialog(problem_report(self._workspace.root), self).open()

    @Slot()
    def _show_about(self) -> None:
        AboutDialog(self._workspace.root, self).open()


def window_title(workspace: Workspace) -> str:
    """The workspace's name and the program's, once where they are the same."""
    name = workspace.root.name
    return APPLICATION if name in ("", APPLICATION) else f"{name} — {APPLICATION}"


def _holds_text(field: QWidget | None) -> TypeGuard[QLineEdit | QPlainTextEdit | QTextEdit]:
    if isinstance(field, QLineEdit):
        return bool(field.text())
    return isinstance(field, QPlainTextEdit | QTextEdit) and bool(field.toPlainText())
