"""The tabs of the window, in their order. A new one is a folder of its own in `app/tabs`, and a line here."""

from app.tabs.chat.controller import ChatController
from app.tabs.chat.tab import ChatTab
from app.tabs.corpus.controller import CorpusController
from app.tabs.corpus.tab import CorpusTab
from app.tabs.inspect.tab import InspectTab
from app.tabs.inspect.view_connections import make_controller
from app.tabs.models.controller import ModelsController
from app.tabs.models.tab import ModelsTab
from app.tabs.train.controller import TrainController
from app.tabs.train.tab import TrainTab

TABS = (  # what makes the page, and its controller
    (CorpusTab, CorpusController),
    (TrainTab, TrainController),
    (ChatTab, ChatController),
    (InspectTab, make_controller),
    (ModelsTab, ModelsController),
)
