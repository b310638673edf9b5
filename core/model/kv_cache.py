"""Keys and values of the positions already read, kept so that each new token costs one position.

Shapes
    B  sequences in the batch          H  heads
    T  positions being computed        D  head width
    S  positions attended to, S >= T   L  layers
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from core.config.model import ModelConfig


class LayerCache:
    """One layer's keys and values, in buffers made once at their full length."""

    def __init__(self, shape: tuple[int, int, int, int], device: torch.device, dtype: torch.dtype) -> None:
        self._keys = torch.empty(shape, device=device, dtype=dtype)  # (B, H, S, D)
        self._values = torch.empty(shape, device=device, dtype=dtype)  # (B, H, S, D)
        self.length = 0

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

    def select(self, sequences: Sequence[int]) -> None:
        """Keep these sequences of the batch alone, in this order."""
        chosen = torch.tensor(sequences, device=self._keys.device)  # (B,)
        self._keys = self._keys.index_select(0, chosen)  # (B, H, S, D)
        self._values = self._values.index_select(0, chosen)  # (B, H, S, D)


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
        shape = (batch_size, config.n_heads, S, config.d_model // config.n_heads)
        self.layers = [LayerCache(shape, device, dtype) for _ in range(config.n_layers)]

    @property
    def length(self) -> int:
        """How many positions were read, by all layers."""
        return min(layer.length for layer in self.layers)

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on; the buffers stay."""
        for layer in self.layers:
            layer.length = min(layer.length, length)

    def clear(self) -> None:
        """Forget all positions; the buffers stay."""
        self.truncate(0)

    def select(self, sequences: Sequence[int]) -> None:
        """Keep these sequences of the batch alone, in this order; one may be kept several times."""
        for layer in self.layers:
            layer.select(sequences)
