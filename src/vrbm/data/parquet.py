"""Rows of a parquet file, read by row group (pyarrow)."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vrbm.data.rows import Rows, Table


class ParquetRows(Rows):
    """One column of the file for each value of a row; missing values are read as NaN."""

    columns: Sequence[str]
    breaks: Sequence[int]

    def __init__(self, file: Any, columns: list[str], path: Path):
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self.file = file
        self.columns = columns
        self.shape = (file.metadata.num_rows, len(columns))
        if 0 in self.shape:
            raise ValueError(
                f"{path} has shape {self.shape}: expected at least one row and column."
            )
        self.breaks = [0, *np.cumsum([size for size in sizes if size]).tolist()]
        self.groups = [i for i, size in enumerate(sizes) if size]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` … `stop` − 1, (stop − start, N), from the row groups that hold them."""
        first = bisect_right(self.breaks, start) - 1
        last = bisect_left(self.breaks, stop)
        table = self.file.read_row_groups(self.groups[first:last], columns=self.columns)
        table = table.slice(start - self.breaks[first], stop - start)
        return np.stack([_values(table.column(name)) for name in self.columns], axis=1)


def read_parquet(path: Path, labels: str | None = None) -> Table:
    """The table in a parquet file; `labels` names the label column."""
    import pyarrow
    import pyarrow.parquet
    from pyarrow import types

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is no whole parquet file ({error}).") from error
    names = file.schema_arrow.names
    if labels is not None and labels not in names:
        raise ValueError(
            f"labels is {labels!r}, but the columns of {path} are: {', '.join(names)}."
        )
    columns = [name for name in names if name != labels]
    for name in columns:
        kind = file.schema_arrow.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"{path} holds {kind} in column {names.index(name)} ({name!r}): expected numbers, "
                "one column for each value. Encode or drop it, or name it as the labels."
            )
    rows = ParquetRows(file, columns, path)
    if labels is None:
        return Table(rows)
    return Table(rows, np.asarray(file.read(columns=[labels]).column(0).to_numpy()))


def _values(column: Any) -> np.ndarray:
    """A column as numbers that numpy can stack: whole numbers and booleans stay small."""
    array = column.to_numpy()
    if array.dtype == object:  # booleans with missing values
        return array.astype(np.float64)
    return array
