"""Keys and values of the positions already read, kept so that each new token costs one position.

Shapes
    B  sequences in the batch          H  heads
    T  positions being computed        D  head width
    S  positions attended to, S >= T   L  layers
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from core.config.model import ModelConfig, kv_cache_shape

MIN_POSITIONS = 64  # of a buffer that grows


class LayerCache:
    """One layer's keys and values, in a buffer made once at its full length."""

    def __init__(self, buffer: Tensor, length: int = 0) -> None:
        """Take a buffer for keys and values, (2, B, H, S, D), of which so many positions count already."""
        self._keys, self._values = buffer[0], buffer[1]  # 2 x (B, H, S, D)
        self.length = length

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the new positions, (B, H, T, D) each, and give all so far: views, (B, H, S, D) each.

        Raises:
            ValueError: The buffers have no room for T more.
        """
        end = self.length + keys.shape[2]
        if end > self._keys.shape[2]:
            raise ValueError(f"the cache holds {self._keys.shape[2]} positions, and {end} were given")
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]


class KVCache:
    """The caches of all L layers, with room for `n_positions`: the whole context where none is given."""

    def __init__(
        self,
        config: ModelConfig,
        batch_size: int,
        device: torch.device,
        dtype: torch.dtype,
        n_positions: int | None = None,
    ) -> None:
        S = config.context_length if n_positions is None else min(n_positions, config.context_length)
        shape = kv_cache_shape(config, batch_size, S)
        self._longest = config.context_length
        self._use(torch.empty(shape, device=device, dtype=dtype), 0)  # (L, 2, B, H, S, D)

    @classmethod
    def over(cls, buffer: Tensor, length: int) -> "KVCache":
        """A cache in a buffer that is there already, (L, 2, B, H, S, D), and holds so many positions."""
        cache = cls.__new__(cls)
        cache._longest = buffer.shape[4]
        cache._use(buffer, length)
        return cache

    def reserve(self, n_positions: int) -> None:
        """Have room for at least this many positions, up to the context.

        The buffer grows to twice its size, so that it is copied seldom.
        """
        if n_positions <= (S := self._buffer.shape[4]) or self._longest == S:
            return
        size = grown(S, min(n_positions, self._longest), MIN_POSITIONS, self._longest)
        larger = self._buffer.new_empty((*self._buffer.shape[:4], size, self._buffer.shape[5]))
        larger[..., : self.length, :] = self._buffer[..., : self.length, :]
        self._use(larger, self.length)  # (L, 2, B, H, S, D)

    @property
    def length(self) -> int:
        """How many positions were read, by all layers."""
        return min(layer.length for layer in self.layers)

    def next_position(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The place of one new position, to be filled by the caller, who then calls `advance`.

        Returns:
            Views, one for each of L layers: where its keys and values go, (2, B, H, D), all keys up to there and
            all values, (B, H, S, D) each.

        Raises:
            ValueError: The buffers are full.
        """
        at = self.length
        if at == self._buffer.shape[4]:
            raise ValueError(f"the cache holds {at} positions, and {at + 1} were given")
        seen = self._buffer[..., : at + 1, :]  # (L, 2, B, H, S, D)
        return self._buffer[..., at, :].unbind(0), seen[:, 0].unbind(0), seen[:, 1].unbind(0)

    def advance(self) -> None:
        """Keep the position that `next_position` gave the place of."""
        end = self.length + 1
        for layer in self.layers:
            layer.length = end

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on; the buffers stay."""
        for layer in self.layers:
            layer.length = min(layer.length, length)

    def clear(self) -> None:
        """Forget all positions; the buffers stay."""
        self.truncate(0)

    def select(self, sequences: Sequence[int]) -> None:
        """Keep these sequences of the batch alone, in this order; one may be kept several times."""
        chosen = torch.tensor(sequences, device=self._buffer.device)  # (B,)
        self._use(self._buffer.index_select(2, chosen), self.length)  # (L, 2, B, H, S, D)

    def _use(self, buffer: Tensor, length: int) -> None:
        self._buffer = buffer  # (L, 2, B, H, S, D)
        self.layers = [LayerCache(buffer[layer], length) for layer in range(len(buffer))]


def grown(size: int, needed: int, fewest: int, most: int) -> int:
    """Twice the size, as often as it takes to copy seldom."""
    size = max(size, min(fewest, most))
    while size < needed:
        size = min(2 * size, most)
    return size
