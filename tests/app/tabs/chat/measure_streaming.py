"""How much slower a reply comes in the window than without it, and how long the window's thread works for a token.

    python -m tests.app.tabs.chat.measure_streaming [TOKENS] [completion]

A model of random weights, 4 layers of 128 dimensions, writes the same reply by turns in a plain loop and in the Chat
tab. This is a measurement and no test: on a shared machine a limit on it would fail by chance.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.jobs.job_queue import JobQueues
from app.model_slot import ModelSlot
from app.tabs.chat.controller import ChatController
from app.tabs.chat.tab import ChatTab
from app.widgets.theme import apply_theme
from core.config.model import ModelConfig
from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.events import ReplyEnded
from core.generation.writing import write
from core.model.transformer import Transformer
from core.runs.folder import Workspace
from core.tokenizers.char import CharTokenizer
from core.tokenizers.tokenizer import EOS
from tests.app.tabs.chat.conftest import FakeModel

ROUNDS = 7
HAS_CONVERSATIONS = "completion" not in sys.argv
TOKENIZER = CharTokenizer.train(["abcdefghij klmnopqrst uvwxyz."])
SHAPE = {"n_layers": 4, "n_heads": 4, "d_model": 128, "d_ff": 512, "context_length": 256}


class Streams:
    """Replies of one model, for the window and for a plain loop."""

    def __init__(self, tokens):
        self.model = Transformer(ModelConfig(**SHAPE, head_bias=True), TOKENIZER.vocab_size).eval()
        for token in (EOS, TOKENIZER.user_id, TOKENIZER.assistant_id):  # so that no reply ends early
            self.model.head.bias.data[token] = -100
        self.sampling = SamplingConfig(max_new_tokens=tokens, seed=1)
        self.ended = None

    def open(self, workspace, name, checkpoint, stop):
        yield from ()
        return FakeModel(name=name, has_conversations=HAS_CONVERSATIONS, sampling=self.sampling)

    def complete(self, model, text, sampling, stop, written=(), details=True):
        prompt = TOKENIZER.encode(text)
        self.ended = yield from write(self.model, TOKENIZER, prompt, (), sampling, stop, details=details)
        return self.ended

    def reply(self, model, messages, sampling, stop, written=(), details=True):
        return (yield from self.complete(model, messages[-1][1], sampling, stop))


def wait_until(true):
    loop, timer = QEventLoop(), QTimer(interval=5)
    timer.timeout.connect(lambda: true() and loop.quit())
    timer.start()
    loop.exec()


def in_window(tab, controller, streams):
    """Seconds per token of the reply, and of the window's thread."""
    thread = time.thread_time()
    if tab.talk.kind == "chat":
        tab.prompt.setPlainText("abc")
    else:
        tab.editor.setPlainText("abc")
    tab.send_requested.emit()
    wait_until(lambda: not controller.active)
    ended = streams.ended
    return ended.seconds / ended.tokens, (time.thread_time() - thread) / ended.tokens


def alone(streams):
    *_, ended = streams.complete(None, "abc", streams.sampling, StopToken())
    assert isinstance(ended, ReplyEnded)
    return ended.seconds / ended.tokens


def main() -> None:
    app = QApplication([])
    apply_theme(app, "light")
    streams = Streams(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    with tempfile.TemporaryDirectory() as folder:
        report(measure(streams, Workspace(Path(folder))))
    del app


def measure(streams, workspace):
    """Of each round: seconds per token in a plain loop, in the window, and of the window's thread."""
    queues, tab = JobQueues(), ChatTab()
    workspace.prepare()
    tab.resize(1280, 800)
    tab.show()
    slot = ModelSlot(workspace, queues, tab, open=streams.open)
    controller = ChatController(
        tab, slot, workspace, queues, tab, complete=streams.complete, reply=streams.reply
    )
    controller.open("first", "")
    wait_until(lambda: slot.model is not None)
    rounds = []
    for _ in range(ROUNDS + 1):
        plain = alone(streams)
        rounds.append((plain, *in_window(tab, controller, streams)))
        tab.keys["new"].trigger()
    queues.close_down()
    wait_until(queues.at_rest)
    tab.close()
    return rounds[1:]  # the first only warms up


def report(rounds) -> None:
    plain, window, thread = (1e6 * statistics.median(column) for column in zip(*rounds, strict=True))
    ratios = [window / plain for plain, window, _ in rounds]
    print(f"plain loop          {plain:8.0f} µs per token")
    print(f"in the window       {window:8.0f} µs per token")
    print(f"the window's thread {thread:8.0f} µs per token")
    print(
        f"slower by           {100 * (statistics.median(ratios) - 1):8.1f} % ({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
