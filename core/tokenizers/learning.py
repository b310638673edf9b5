"""A tokenizer from the user's wish and the corpus."""

from collections.abc import Iterable, Iterator

from core.config.tokenizer import TokenizerConfig
from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.char import CharTokenizer
from core.tokenizers.tokenizer import MARKERS, Tokenizer
from core.tokenizers.word import WordTokenizer


def learn_tokenizer(config: TokenizerConfig, texts: Iterator[str]) -> Tokenizer:
    """Learn a vocabulary from `texts`, which are read once, as a stream, and not kept."""
    if config.kind == "char":
        return CharTokenizer.learn(texts)
    if config.kind == "word":
        return WordTokenizer.learn(texts, config.vocab_size)
    return BpeTokenizer.learn(texts, config.vocab_size)


def plain_texts(passages: Iterable[tuple[str, bool]]) -> Iterator[str]:
    """What passages say, without the markers of those that are rendered conversations (True beside them)."""
    for text, has_markers in passages:
        yield from MARKERS.split(text)[::2] if has_markers else (text,)  # the markers are between the texts
