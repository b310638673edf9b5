"""The tokens whose keys and values are known already: what the next reply begins with is not read again."""

from collections.abc import Sequence
from itertools import takewhile
from operator import eq

from core.model.kv_cache import KVCache
from core.model.transformer import Transformer


class PrefixCache:
    """Keys and values of what was read last, kept between replies: the turns of one conversation begin alike.

    It belongs to one model. At most one cache is kept, which grows with what it holds; whoever decodes takes it and
    gives it back, so that two that decode at once have one each.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[KVCache, list[int]]] = []

    def take(self, model: Transformer) -> tuple[KVCache, list[int]]:
        """A cache for one row, and the tokens that it holds. Whoever reads into it reserves room first."""
        try:
            return self._kept.pop()  # in one step: another thread may ask too
        except IndexError:
            return KVCache(model.config, 1, model.device, model.dtype, 0), []

    def give_back(self, cache: KVCache, ids: Sequence[int]) -> None:
        """Keep a cache for the next reply; `ids` are the tokens that it holds, and perhaps more."""
        self._kept[:] = [(cache, list(ids[: cache.length]))]


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens two texts begin with in common."""
    return sum(1 for _ in takewhile(bool, map(eq, first, second)))
