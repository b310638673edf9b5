"""The runs there are, as a stream."""

from core.config.corpus import CorpusConfig
from core.config.run import RunConfig
from core.config.toml import run_to_toml
from core.control import StopToken
from core.corpus.duplicates import digest_text
from core.corpus.library import Library
from core.corpus.reading import Digested
from core.documents.document import Document
from core.runs.folder import Workspace
from core.tasks.corpus.look_at_library import count_corpus
from core.tasks.models.look_at_runs import list_runs


def result(stream):
    while True:
        try:
            next(stream)
        except StopIteration as end:
            return end.value


def test_the_runs_and_a_free_name_are_listed(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    folder = workspace.run("run")
    folder.root.mkdir()
    folder.config.write_text(run_to_toml(RunConfig()), encoding="utf-8")
    listed = result(list_runs(workspace, StopToken()))
    assert [run.name for run in listed.runs] == ["run"]
    assert listed.unused_name == "run-2"


def test_the_corpus_is_counted(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    with Library(workspace.library) as library:
        document = Document("/docs/a.txt", "text", sha256="a", text="baa")
        library.record("/docs/a.txt", Digested(document, digest_text("baa")), 3)
    totals = result(count_corpus(workspace, CorpusConfig(), StopToken()))
    assert (totals.documents, totals.characters) == (1, 3)
