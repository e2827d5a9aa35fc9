"""Rows of a parquet file, read by row group (pyarrow)."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from pyarrow import types

from vrbm import memory
from vrbm.data.rows import Rows, Table
from vrbm.printable import brief, plain
from vrbm.reading import check_regular, damage


class ParquetRows(Rows):
    """One column of the file for each value of a row; missing values are read as NaN."""

    columns: Sequence[str]
    breaks: Sequence[int]

    def __init__(self, file: Any, columns: list[str], path: Path):
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self.file, self.path, self.name = file, path, str(path)
        self.itemsize = 16  # a column of 8 bytes each, and its copy in the table
        self.columns = columns
        self.shape = (file.metadata.num_rows, len(columns))
        if 0 in self.shape:
            raise ValueError(
                f"{path} has shape {self.shape}: expected at least one row and column."
            )
        if min(sizes) < 0 or sum(sizes) != file.metadata.num_rows:
            raise ValueError(
                f"{path} claims {file.metadata.num_rows} rows, but row groups of {sizes[:5]} …: it "
                "is damaged, write it anew."
            )
        self.breaks = [0, *np.cumsum([size for size in sizes if size]).tolist()]
        self.groups = [i for i, size in enumerate(sizes) if size]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` … `stop` − 1, (stop − start, N), from the row groups that hold them."""
        first = bisect_right(self.breaks, start) - 1
        last = bisect_left(self.breaks, stop)
        with _damage(self.path):
            table = self.file.read_row_groups(self.groups[first:last], columns=self.columns)
            table = table.slice(start - self.breaks[first], stop - start)
            values = np.stack([_values(table.column(name)) for name in self.columns], axis=1)
        if values.shape != (stop - start, len(self.columns)):
            raise ValueError(
                f"{self.path} has {len(values)} values in rows {start} to {stop}: it is damaged, "
                "write it anew."
            )
        return values


def read_parquet(path: Path, labels: str | None = None) -> Table:
    """The table in a parquet file; `labels` names the label column."""
    check_regular(path)
    if plain(path) != str(path):  # pyarrow takes names in UTF-8 alone
        raise ValueError(f"{path} has a name that pyarrow cannot read: rename it.")
    with _damage(path):
        file = pyarrow.parquet.ParquetFile(path)
        schema = file.schema_arrow
        names = schema.names
    if labels is not None and labels not in names:
        raise ValueError(
            f"labels is {labels!r}, but the columns of {path} are: {brief(', '.join(names), 500)}."
        )
    counts = Counter(names)
    for name in names:
        if counts[name] > 1:
            raise ValueError(f"{path} has several columns named {name!r}: rename all but one.")
    columns = [name for name in names if name != labels]
    for name in columns:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"{path} holds {kind} in column {names.index(name)} ({name!r}): expected numbers, "
                "one column for each value. Encode or drop it, or name it as the labels."
            )
    rows = ParquetRows(file, columns, path)
    if labels is None:
        return Table(rows)
    with _damage(path):
        return Table(rows, _labels(path, labels))


def _labels(path: Path, name: str) -> np.ndarray:
    """The label column; text is read once for each value, and its size is known before it grows."""
    file = pyarrow.parquet.ParquetFile(path, read_dictionary=[name])
    column = file.read(columns=[name]).column(0)
    if types.is_dictionary(column.type):
        longest = max((len(str(value)) for value in column.unique().to_pylist()), default=0)
        memory.require(
            4 * longest * len(column), f"column {brief(repr(name))} of {brief(path)}", "shorten it"
        )
    return np.asarray(column.to_numpy())


def _damage(path: Path) -> AbstractContextManager[None]:
    """What pyarrow raises for damage: its own errors, and those of Python that they stand for."""
    errors = (pyarrow.ArrowException, OSError, ArithmeticError, LookupError, TypeError, ValueError)
    return damage(path, "parquet file", "write it anew", *errors, MemoryError, RuntimeError)


def _values(column: Any) -> np.ndarray:
    """A column as numbers that numpy can stack: whole numbers and booleans stay small."""
    array = column.to_numpy()
    if array.dtype == object:  # booleans with missing values
        return array.astype(np.float64)
    return array
