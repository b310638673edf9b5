"""A tokenizer from the user's wish and the corpus, whose texts are handed over one by one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from core.config.tokenizer import TokenizerConfig
from core.control import StopToken
from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.char import CharacterSet, CharTokenizer
from core.tokenizers.pieces import cut
from core.tokenizers.spool import Spool
from core.tokenizers.tokenizer import MARKERS, ROLES, SPECIALS, Tokenizer
from core.tokenizers.word import WordTokenizer

SAMPLE_CHARACTERS = 4_096  # of one piece of a thinned corpus: short, so that most documents have a part in it


class Learner(Protocol):
    """Takes texts, which it need not keep, and makes a tokenizer of them."""

    def add(self, text: str) -> None: ...

    def finish(self) -> Tokenizer | None:
        """The tokenizer of the texts so far; None where a stop was asked for meanwhile."""
        ...

    def close(self) -> None:
        """Leave nothing on the disk, finished or not."""
        return


def learner_for(config: TokenizerConfig, corpus_bytes: int, spool: Path, stop: StopToken) -> Learner:
    """What learns the tokenizer that the user wishes for.

    Args:
        config: The wish.
        corpus_bytes: About how much text will be handed over. Where that is more than `config.learn_mib`, a BPE
            or word vocabulary is learned from pieces at even distances.
        spool: A file to be, which may be used for texts on their way, until the learner is closed.
        stop: Ends `finish` early.
    """
    if config.kind == "char":
        return CharLearner()  # every character counts, and counting them needs no room
    thinning = Thinning(min(1.0, config.learn_mib * 2**20 / max(1, corpus_bytes)))
    if config.kind == "word":
        return WordLearner(config.vocab_size, thinning)
    return BpeLearner(config.vocab_size, thinning, spool, stop)


class Thinning:
    """Pieces of texts, together about a given share of them, at even distances: the same ones each time."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._seen = self._kept = 0

    def pick(self, text: str) -> Iterator[str]:
        """What is kept of the next text; all of it where the share is 1."""
        for piece in cut(text, SAMPLE_CHARACTERS):
            if self._kept <= self._seen * self._share:
                self._kept += len(piece)
                yield piece
            self._seen += len(piece)


class CharLearner(Learner):
    def __init__(self) -> None:
        self._characters = CharacterSet()

    def add(self, text: str) -> None:
        self._characters.add(text)

    def finish(self) -> Tokenizer:
        return CharTokenizer((*SPECIALS, *self._characters.in_order(), *ROLES))


class WordLearner(Learner):
    def __init__(self, vocab_size: int, thinning: Thinning) -> None:
        self._vocab_size, self._thinning = vocab_size, thinning
        self._counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        for piece in self._thinning.pick(text):
            self._counts.update(piece.split())

    def finish(self) -> Tokenizer:
        return WordTokenizer.from_counts(self._counts, self._vocab_size)


class BpeLearner(Learner):
    """Puts texts aside in a file: the library wants them all at once, and reads them in a thread of its own."""

    def __init__(self, vocab_size: int, thinning: Thinning, spool: Path, stop: StopToken) -> None:
        self._vocab_size, self._thinning, self._stop = vocab_size, thinning, stop
        self._spool = Spool(spool)

    def add(self, text: str) -> None:
        for piece in self._thinning.pick(text):
            self._spool.append(piece)

    def finish(self) -> Tokenizer | None:
        try:
            return BpeTokenizer.learn(self._texts(), self._vocab_size)
        except _StoppedError:
            return None

    def close(self) -> None:
        self._spool.remove()

    def _texts(self) -> Iterator[str]:
        for text in self._spool.read():
            if self._stop.asked:
                raise _StoppedError  # so that the library makes no vocabulary of what it has read
            yield text


class _StoppedError(Exception):
    """Nobody wants the vocabulary any more."""


def plain_texts(passages: Iterable[tuple[str, bool]]) -> Iterator[str]:
    """What passages say, without the markers of those that are rendered conversations (True beside them)."""
    for text, has_markers in passages:
        yield from MARKERS.split(text)[::2] if has_markers else (text,)  # the markers are between the texts
