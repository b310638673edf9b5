from hypothesis import given
from hypothesis import strategies as st

from core.tokenizers.spool import Spool, read_spool


def spooled(texts, path):
    spool = Spool(path)
    for text in texts:
        spool.append(text)
    return spool


@given(texts=st.lists(st.text(alphabet=st.characters(exclude_categories=[]))))
def test_what_was_put_aside_is_read_back(texts, tmp_path_factory):
    spool = spooled(texts, tmp_path_factory.mktemp("spool") / "texts.jsonl")
    assert list(read_spool(spool.finish())) == texts


def test_reading_twice_gives_the_same(tmp_path):
    spool = spooled(["a\nb", ""], tmp_path / "texts.jsonl")
    path = spool.finish()
    assert list(read_spool(path)) == list(read_spool(path)) == ["a\nb", ""]


def test_removing_leaves_nothing(tmp_path):
    spooled(["a"], tmp_path / "texts.jsonl").remove()
    assert list(tmp_path.iterdir()) == []
