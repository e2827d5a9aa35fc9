"""Where the rows of a training come from: the device, or a stream."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.data.arrays import from_array
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.stream import Stream
from vrbm.model import Unit, random
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
        """Pairs of rows (n, N) and row numbers (batches, batch); the same for the same epoch.

        `key` is that of the epoch.
        """

    def prepare(self, epoch: int, key: RandomKey) -> None:  # noqa: B027 (nothing is a way to do it)
        """Do what can be done ahead of `blocks` with the same arguments."""

    def leave_out(self, used: np.ndarray | None) -> None:  # noqa: B027
        """Take batches from the rows `used` alone; None: from all."""

    def use_all(self) -> None:  # noqa: B027
        """Take batches, as many as before, from all rows."""

    def close(self) -> None:  # noqa: B027
        """Leave nothing at work."""


class OnDevice(Source):
    """All rows in one block, put in a new order each epoch.

    A thread finds the order; contexts of JAX that hold for one thread alone do not reach it.
    """

    def __init__(self, rows: np.ndarray, batch_size: int) -> None:
        self.rows = jax.device_put(rows)
        self.batch_size = min(batch_size, len(rows))
        self.batches = len(rows) // self.batch_size
        self.used: np.ndarray | None = None
        self.helper = ThreadPoolExecutor(1)
        self.ready: dict[int, Future[jax.Array]] = {}
        """Orders by epoch: each epoch has one key."""

    def prepare(self, epoch: int, key: RandomKey) -> None:
        """Let a thread find the order of the epoch, while this one is at work on another."""
        if epoch not in self.ready:
            self.ready[epoch] = self.helper.submit(self._order, key)

    def leave_out(self, used: np.ndarray | None) -> None:
        """An epoch has as many batches as these rows fill, also when all are used again."""
        if used is not None:
            self.used = used
            self.batch_size = min(self.batch_size, len(used))
            self.batches = len(used) // self.batch_size

    def use_all(self) -> None:
        """An order that was found ahead is of the former rows."""
        if self.used is not None:
            self.used = None
            self.ready.clear()

    def _order(self, key: RandomKey) -> jax.Array:
        used = self.used
        order = random.permutation(key, len(self.rows) if used is None else len(used))
        if used is not None:
            order = used[np.asarray(order)]
        batches = order[: self.batches * self.batch_size].reshape(self.batches, -1)
        return jax.device_put(batches)

    def blocks(self, epoch: int, key: RandomKey) -> Iterator[tuple[jax.Array, jax.Array]]:
        """One block."""
        self.prepare(epoch, key)
        yield self.rows, self.ready.pop(epoch).result()

    def close(self) -> None:
        """Wait for the thread: if still in JAX when the interpreter ends, it would crash."""
        self.helper.shutdown(wait=True, cancel_futures=True)


class Streamed(Source):
    """Rows in blocks of whole batches, shuffled within a window of the file."""

    def __init__(
        self,
        rows: Any,
        unit: Unit,
        domain: Domain,
        batch_size: int,
        seed: int,
        chunk_rows: int | None = None,
    ) -> None:
        chunk_rows = chunk_rows or max(1, (1 << 22) // rows.shape[1])
        self.stream = Stream(rows, chunk_rows=chunk_rows, seed=seed, domain=domain)
        self.unit, self.domain = unit, domain
        self.batch_size = min(batch_size, len(rows))
        self.block = max(1, chunk_rows // self.batch_size) * self.batch_size
        self.batches = len(rows) // self.batch_size

    def blocks(self, epoch: int, key: RandomKey) -> Iterator[tuple[jax.Array, jax.Array]]:
        """Blocks of equal size, and a last one of the batches that are left."""
        waiting = np.empty((0, self.stream.shape[1]), self.domain.dtype)
        for piece in self.stream.epoch(epoch):
            waiting = np.concatenate([waiting, piece])
            while len(waiting) >= self.block:
                yield self._block(waiting[: self.block])
                waiting = waiting[self.block :]
        if len(waiting) >= self.batch_size:
            yield self._block(waiting[: len(waiting) // self.batch_size * self.batch_size])

    def _block(self, rows: np.ndarray) -> tuple[jax.Array, jax.Array]:
        order = jnp.arange(len(rows)).reshape(-1, self.batch_size)
        return jnp.asarray(encoded(self.unit, rows, self.domain)), order
