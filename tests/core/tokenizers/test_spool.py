from hypothesis import given
from hypothesis import strategies as st

from core.tokenizers.spool import read_spool, write_spool


@given(texts=st.lists(st.text(alphabet=st.characters(exclude_categories=[]))))
def test_what_was_put_aside_is_read_back(texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("spool") / "texts.jsonl"
    write_spool(iter(texts), path)
    assert list(read_spool(path)) == texts


def test_reading_twice_gives_the_same(tmp_path):
    write_spool(["a\nb", ""], tmp_path / "texts.jsonl")
    assert list(read_spool(tmp_path / "texts.jsonl")) == list(read_spool(tmp_path / "texts.jsonl"))
