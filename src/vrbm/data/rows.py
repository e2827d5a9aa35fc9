"""Tables of numbers that give any range of their rows, whatever holds them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from vrbm import memory
from vrbm.data import sparse


class Rows(ABC):
    """A table, (rows, N). Rows that were stored as images, (rows, H, W), are read flat."""

    shape: tuple[int, int]
    name: str = "data"
    #: Bytes of a value as it is read.
    itemsize: int = 8
    image_shape: tuple[int, int] | None = None
    #: Names of the columns, where the file has them.
    columns: Sequence[str] | None = None
    #: Row numbers at which the groups of the file begin, and the end, where it has groups.
    breaks: Sequence[int] | None = None

    @abstractmethod
    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` … `stop` − 1, (stop − start, N)."""


class ArrayRows(Rows):
    """Rows of a numpy array, a memory map or an HDF5 dataset."""

    def __init__(self, array: Any, name: str = "data", columns: Sequence[str] | None = None):
        shape = tuple(array.shape)
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                f"{name} has shape {shape}: pass at least one row and one column, "
                "as (rows, N), or as images, (rows, height, width)."
            )
        self.array, self.name = array, name
        self.itemsize = array.dtype.itemsize
        self.shape = (shape[0], int(np.prod(shape[1:])))
        if len(shape) == 3:
            self.image_shape = (shape[1], shape[2])
        self.columns = columns

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` … `stop` − 1, (stop − start, N)."""
        return np.asarray(self.array[start:stop]).reshape(stop - start, -1)


class SparseRows(Rows):
    """Rows of a scipy sparse matrix or array, made dense as they are read."""

    def __init__(self, matrix: Any, name: str = "data"):
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise ValueError(
                f"{name} has shape {matrix.shape}: pass at least one row and one column."
            )
        sparse.check(matrix, name)
        memory.require(16 * (matrix.shape[0] + 2 * matrix.nnz), name, "pass fewer rows")
        self.name = name
        self.matrix = matrix.tocsr()
        sparse.check(self.matrix, name)
        self.shape = self.matrix.shape

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` … `stop` − 1, (stop − start, N)."""
        return self.matrix[start:stop].toarray()


@dataclass(frozen=True)
class Table:
    """Rows, and a label for each where the file has them."""

    rows: Rows
    labels: np.ndarray | None = None


def as_rows(data: Any, name: str = "data") -> Rows:
    """Rows of an array, a nested list, a sparse matrix or an HDF5 dataset."""
    if isinstance(data, Rows):
        return data
    if scipy.sparse.issparse(data):
        return SparseRows(data, name)
    if not (hasattr(data, "shape") and hasattr(data, "__getitem__")) or hasattr(data, "columns"):
        columns = [str(column) for column in data.columns] if hasattr(data, "columns") else None
        try:
            return ArrayRows(np.asarray(data), name, columns)
        except ValueError as error:
            if "inhomogeneous" in str(error):
                raise ValueError(f"{name} is ragged: pass rows of equal length.") from error
            raise
    return ArrayRows(data, name)


def ranges(rows: Rows, chunk_rows: int | None = None) -> list[tuple[int, int]]:
    """Start and stop of consecutive ranges: the groups of the file, else `chunk_rows` rows each.

    Without `chunk_rows`, a range holds about four million values. A range that memory cannot hold
    is an error.
    """
    count, width = rows.shape
    if rows.breaks is not None:
        found = list(zip(rows.breaks[:-1], rows.breaks[1:], strict=True))
    else:
        step = chunk_rows or max(1, (1 << 22) // width)
        found = [(start, min(start + step, count)) for start in range(0, count, step)]
    longest = max(stop - start for start, stop in found)
    memory.require(
        longest * width * rows.itemsize,
        f"{rows.name}, read {longest:,} rows of {width:,} values at a time,",
        "store it in smaller pieces",
    )
    return found
