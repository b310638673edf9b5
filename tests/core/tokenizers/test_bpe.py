import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.chunks import cut
from core.tokenizers.tokenizer import EOS, ROLES, SPECIALS

TEXT = "The sheep graze on the meadow. The shepherd sings, the sheep sleep.\n\n\tdef graze(sheep):\n" * 8


@pytest.fixture(scope="module")
def tokenizer() -> BpeTokenizer:
    return BpeTokenizer.train([TEXT], 400)


@given(st.text())
@example("🐑 e\u0301 \u200d👩‍👩‍👧 \x00\x1c\u2028")
@example("<|user|>a<eos><pad> <|assistant|>")
@example("  two  spaces \n\n at  the end  ")
def test_decoding_gives_back_any_text(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_strings_in_plain_text_are_ordinary_even_where_they_were_learned():
    tokenizer = BpeTokenizer.train(["<eos><|user|>" * 50], 400)
    specials = {0, 1, 2, EOS, tokenizer.user_id, tokenizer.assistant_id}
    assert not specials & set(tokenizer.encode("<eos><|user|><|assistant|><pad>"))
    assert tokenizer.encode_marked("<eos><|user|><|assistant|>") == [
        *(EOS, tokenizer.user_id, tokenizer.assistant_id)
    ]


def test_a_merge_that_spells_a_special_token_keeps_its_own_id():
    tokenizer = BpeTokenizer.train(["eos", "<pad>"], 400)
    spelled = BpeTokenizer(
        [*tokenizer.tokens[:-2], "<e", "os", "os>", "<eos>", *ROLES],
        [*tokenizer.merges, ("<", "e"), ("o", "s"), ("os", ">"), ("<e", "os>")],
    )
    assert spelled.encode("<eos>") != [EOS]
    assert spelled.decode(spelled.encode("<eos>")) == "<eos>"


def test_specials_are_first_and_roles_last(tokenizer):
    assert tokenizer.tokens[:4] == SPECIALS
    assert tokenizer.tokens[-2:] == ROLES


def test_the_vocabulary_is_no_larger_than_asked_and_smaller_where_pairs_run_out(tokenizer):
    assert BpeTokenizer.train([TEXT], 300).vocab_size == 300
    assert BpeTokenizer.train(["ab ab"], 5000).vocab_size < 300


def test_frequent_words_become_one_token_with_the_space_before_them(tokenizer):
    (sheep,) = tokenizer.encode(" sheep")
    assert tokenizer.token_bytes(sheep) == b" sheep"


def test_learning_twice_gives_the_same_vocabulary(tokenizer):
    again = BpeTokenizer.train([TEXT], 400)
    assert (again.tokens, again.merges) == (tokenizer.tokens, tokenizer.merges)


def test_how_the_text_is_handed_over_does_not_change_what_is_learned(tokenizer):
    again = BpeTokenizer.train(cut(TEXT, 20), 400)
    assert (again.tokens, again.merges) == (tokenizer.tokens, tokenizer.merges)


def test_no_text_is_unknown(tokenizer):
    assert tokenizer.unknown("🐑 ß\x00") == ()


def test_half_a_surrogate_pair_becomes_a_replacement_character(tokenizer):
    assert tokenizer.decode(tokenizer.encode("a\ud83db")) == "a\ufffdb"


def test_many_texts_encode_as_one_after_the_other_does(tokenizer):
    texts = ["the sheep", "", "graze 🐑", " "]
    assert [ids.tolist() for ids in tokenizer.encode_all(texts)] == [tokenizer.encode(text) for text in texts]
