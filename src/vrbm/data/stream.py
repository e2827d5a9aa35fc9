"""Data larger than memory: chunks of rows, shuffled within a window, every row once an epoch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vrbm import memory
from vrbm.data.dataset import Domain
from vrbm.data.domains import DomainFinder
from vrbm.data.formats import open_tables
from vrbm.data.rows import as_rows, ranges


class Stream:
    """Rows of a table that need not fit in memory.

    An epoch visits the chunks of the source in random order, loads `window` of them at a time,
    shuffles the rows of that window, and yields them in pieces of `chunk_rows`. The memory needed
    is that of the window and two chunks. The order depends on `seed` and the number of the epoch
    alone, so that an epoch can be taken up again at any piece.

    The source is a path (npy, HDF5, parquet; other formats are held in memory), an array, a memory
    map, a sparse matrix or an HDF5 dataset. The chunks of a parquet file are its row groups.
    Without `domain`, one pass over the data finds it; with it, each chunk is checked when read.
    """

    def __init__(
        self,
        source: Any,
        *,
        key: str | None = None,
        chunk_rows: int = 4096,
        window: int = 16,
        seed: int = 0,
        domain: Domain | None = None,
    ):
        for name, value, least in (
            ("chunk_rows", chunk_rows, 1),
            ("window", window, 1),
            ("seed", seed, 0),
        ):
            if value < least:
                raise ValueError(f"{name} is {value}: pass a whole number of at least {least}.")
        self.name = str(source) if isinstance(source, str | Path) else "data"
        if isinstance(source, str | Path):
            source = open_tables(Path(source), key)["train"].rows
        self.rows = as_rows(source, self.name)
        self.chunk_rows = chunk_rows
        self.window = window
        self.seed = seed
        self._chunks = np.array(ranges(self.rows, chunk_rows))  # (chunks, 2): start, stop
        count = min(window + 1, len(self._chunks)) * int(np.diff(self._chunks).max())
        memory.require(
            count * self.shape[1] * self.rows.itemsize,
            f"{self.name}, in windows of {count:,} rows,",
            "lower window or chunk_rows",
        )
        self._check = domain is not None
        if domain is None:
            finder = DomainFinder()
            finder.add_all(self.rows, self.name)
            domain = finder.domain()
        self.domain = domain

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and values in a row."""
        return self.rows.shape

    def epoch(self, number: int, start: int = 0) -> Iterator[np.ndarray]:
        """Pieces `start`, `start` + 1, … of an epoch, each (at most chunk_rows, N).

        All rows come exactly once when `start` is 0. The pieces before `start` are not read, but
        for those in its own window.
        """
        if number < 0 or start < 0:
            raise ValueError(f"epoch {number} from piece {start}: both count from 0.")
        order = self._generator(number).permutation(len(self._chunks))
        position = 0
        for index, first in enumerate(range(0, len(order), self.window)):
            chunks = self._chunks[order[first : first + self.window]]
            count = int((chunks[:, 1] - chunks[:, 0]).sum())
            pieces = -(-count // self.chunk_rows)
            if position + pieces > start:
                rows = self._load(chunks, count)
                shuffled = self._generator(number, index).permutation(count)
                for piece in range(max(0, start - position), pieces):
                    begin = piece * self.chunk_rows
                    yield rows[shuffled[begin : begin + self.chunk_rows]]
                del rows  # before the next window is loaded
            position += pieces

    def _generator(self, *place: int) -> np.random.Generator:
        """A generator of its own for an epoch, and for each window in it."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=place))

    def _load(self, chunks: np.ndarray, count: int) -> np.ndarray:
        """The rows of some chunks, one chunk after the other."""
        window = np.empty((count, self.shape[1]), self.domain.dtype)
        filled = 0
        for start, stop in chunks.tolist():
            chunk = self.rows.read(start, stop)
            if self._check:
                finder = DomainFinder()
                finder.add(chunk, start, self.name, self.rows.columns)
                finder.require(self.domain)
            window[filled : filled + stop - start] = chunk
            filled += stop - start
        return window
