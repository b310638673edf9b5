"""How fast text becomes tokens: ours beside `tokenizers`, on Python's own sources and their documentation."""

import sysconfig
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from core.bench.rounds import Subject, interleave
from core.control import StopToken
from core.errors.bench import SourcesMissingError
from core.events.base import Task
from core.events.bench import BenchMeasured
from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.bpe_encoders import ExactEncoder
from core.tokenizers.char import CharTokenizer
from core.tokenizers.encoding import encode_passages
from core.tokenizers.tokenizer import ROLES, SPECIALS, IdArray, Tokenizer

MEGABYTE = 10**6
TEXT_MEGABYTES = 20
LEARNED_FROM_MEGABYTES = 8
VOCAB_SIZE = 8_192


def bench_tokens(rounds: int, stop: StopToken) -> Task[list[BenchMeasured]]:
    """Time the way from passages to arrays of ids: characters by the table, BPE by both engines with equal ids."""
    texts = _texts(TEXT_MEGABYTES * MEGABYTE)
    size = sum(len(text.encode()) for text in texts) / MEGABYTE
    results: list[BenchMeasured] = []
    if stop.asked:
        return results
    characters = CharTokenizer.train(texts)
    ids = {character: token_id for token_id, character in enumerate(characters.tokens)}
    subjects = {"a dictionary per character": _with_dictionary(ids, texts, size)}
    subjects["ours"] = _ours(characters, texts, size)
    results += yield from interleave("char", f"{size:.0f} MB", "MB/s", subjects, rounds, stop)
    if stop.asked:
        return results
    bpe = BpeTokenizer.train(_first(texts, LEARNED_FROM_MEGABYTES * MEGABYTE), VOCAB_SIZE)
    exact = ExactEncoder(bpe.tokens[len(SPECIALS) : -len(ROLES)], bpe.merges)
    assert _same_ids(bpe, exact, texts)
    subjects = {
        "tokenizers encode_batch": _with_tokenizers(exact, texts, size),
        "ours": _ours(bpe, texts, size),
    }
    results += yield from interleave("bpe", f"{size:.0f} MB", "MB/s", subjects, rounds, stop)
    return results


def _texts(least: int) -> list[str]:
    """The standard library's sources, of code and prose about even parts, again from the start where they end.

    Raises:
        SourcesMissingError: They are not there.
    """
    paths = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    texts: list[str] = []
    size = 0
    for path in cycle(paths):
        texts.append(path.read_text(encoding="utf-8", errors="replace"))
        size += len(texts[-1])
        if size >= least:
            return texts
    raise SourcesMissingError


def _first(texts: Sequence[str], characters: int) -> list[str]:
    chosen: list[str] = []
    while sum(map(len, chosen)) < characters:
        chosen.append(texts[len(chosen)])
    return chosen


def _ours(tokenizer: Tokenizer, texts: Sequence[str], size: float) -> Subject:
    def work() -> float:
        for _ in encode_passages(tokenizer, ((text, False) for text in texts)):
            pass
        return size

    return work


def _with_dictionary(ids: dict[str, int], texts: Sequence[str], size: float) -> Subject:
    def work() -> float:
        for text in texts:
            np.array([ids[character] for character in text], dtype=np.int64)
        return size

    return work


def _with_tokenizers(exact: ExactEncoder, texts: Sequence[str], size: float) -> Subject:
    def work() -> float:
        exact.engine.encode_batch(list(texts), add_special_tokens=False)
        return size

    return work


def _same_ids(bpe: BpeTokenizer, exact: ExactEncoder, texts: Sequence[str]) -> bool:
    theirs: list[IdArray] = [np.array(ids) + len(SPECIALS) for ids in exact.encode(texts)]
    return all(map(np.array_equal, bpe.encode_all(texts), theirs))
