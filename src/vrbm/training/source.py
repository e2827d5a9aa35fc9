"""Where the rows of a training come from: the device, or a stream."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.data.arrays import from_array
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.stream import Stream
from vrbm.model import Unit
from vrbm.typing import RandomKey


def as_dataset(data: Any) -> Dataset:
    """A data set as it is; an array (rows, N) checked and made one."""
    return data if isinstance(data, Dataset) else from_array(data)


def encoded(unit: Unit, rows: np.ndarray, domain: Domain) -> np.ndarray:
    """Rows of a data set as values of the unit: states in int8, [0, 1] as means in float32."""
    low, high = unit.states[0], unit.states[-1]
    if domain is Domain.UNIT:
        return (low + (high - low) * np.asarray(rows)).astype(np.float32)
    return np.where(np.asarray(rows) == 1, np.int8(high), np.int8(low))


class Source(ABC):
    """Blocks of rows for each epoch, with the order in which batches take them."""

    batches: int
    """Batches in an epoch."""

    @abstractmethod
    def blocks(self, epoch: int, key: RandomKey) -> Iterator[tuple[jax.Array, jax.Array]]:
        """Pairs of rows (n, N) and row numbers (batches, batch); the same for the same epoch."""


class OnDevice(Source):
    """All rows in one block, put in a new order each epoch."""

    def __init__(self, rows: np.ndarray, batch_size: int) -> None:
        self.rows = jnp.asarray(rows)
        self.batch_size = min(batch_size, len(rows))
        self.batches = len(rows) // self.batch_size

    def blocks(self, epoch: int, key: RandomKey) -> Iterator[tuple[jax.Array, jax.Array]]:
        """One block."""
        order = jax.random.permutation(jax.random.fold_in(key, epoch), len(self.rows))
        yield self.rows, order[: self.batches * self.batch_size].reshape(self.batches, -1)


class Streamed(Source):
    """Rows in blocks of equal size, shuffled within a window of the file."""

    def __init__(self, rows: Any, unit: Unit, domain: Domain, batch_size: int, seed: int) -> None:
        chunk = 1 << max(10, 22 - int(np.log2(rows.shape[1])))
        self.stream = Stream(rows, chunk_rows=chunk, seed=seed, domain=domain)
        self.unit, self.domain = unit, domain
        self.batch_size = min(batch_size, len(rows))
        self.batches_in_block = max(1, min(chunk, len(rows)) // self.batch_size)
        self.batches = len(rows) // (self.batches_in_block * self.batch_size)
        self.batches *= self.batches_in_block

    def blocks(self, epoch: int, key: RandomKey) -> Iterator[tuple[jax.Array, jax.Array]]:
        """Blocks of `batches_in_block` batches; what fills no block is left out of the epoch."""
        size = self.batches_in_block * self.batch_size
        order = jnp.arange(size).reshape(self.batches_in_block, self.batch_size)
        waiting = np.empty((0, self.stream.shape[1]), self.domain.dtype)
        for piece in self.stream.epoch(epoch):
            waiting = np.concatenate([waiting, piece])
            while len(waiting) >= size:
                yield jnp.asarray(encoded(self.unit, waiting[:size], self.domain)), order
                waiting = waiting[size:]
