"""Which of the domains ±1, 0/1 and [0, 1] a table of numbers belongs to, and which entry does not.

Tables are read range by range, so that memory-mapped data are never loaded whole.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from vrbm.data.dataset import Domain
from vrbm.data.rows import Rows, as_rows, ranges
from vrbm.printable import brief

_ALLOWED = {
    Domain.SPIN: {"−1", "1"},
    Domain.BINARY: {"0", "1"},
    Domain.UNIT: {"0", "1", "between"},
}


def find_domain(data: Any, name: str = "data") -> Domain:
    """The domain of a table, (rows, N): an array, a sparse matrix or `Rows`.

    Only −1 and 1 make ±1; only 0 and 1 make 0/1; anything else within 0 … 1 makes [0, 1]. A table
    of nothing but ones counts as 0/1. Every other table is an error that names the row and the
    column, both counted from 0.
    """
    finder = DomainFinder()
    finder.add_all(as_rows(data, name), name)
    return finder.domain()


class DomainFinder:
    """Collects the kinds of values seen so far, and where each was seen first."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def add_all(self, rows: Rows, name: str) -> None:
        """Take account of a whole table, range by range."""
        for start, stop in ranges(rows):
            self.add(rows.read(start, stop), start, name, rows.columns)

    def add(
        self, chunk: np.ndarray, start: int, name: str, columns: Sequence[str] | None = None
    ) -> None:
        """Take account of rows `start` … of the table called `name`."""

        def first(at: np.ndarray) -> tuple[int, int]:
            row, column = np.unravel_index(at.argmax(), at.shape)
            return int(row), int(column)

        def place(at: np.ndarray) -> str:
            row, column = first(at)
            called = f" ({brief(repr(columns[column]), 60)})" if columns else ""
            return (
                f"{name} holds {chunk[row, column]} in row {start + row}, column {column}{called}"
            )

        chunk = _numbers(chunk, start, name, columns)
        known = np.zeros(chunk.shape, bool)
        for kind, value in (("−1", -1), ("0", 0), ("1", 1)):
            equal = chunk == value
            known |= equal
            if kind not in self.seen and equal.any():
                self.seen[kind] = place(equal)
        if not known.all():
            between = (chunk > 0) & (chunk < 1)
            bad = ~(known | between)
            if bad.any():
                row, column = first(bad)
                finite = np.isfinite(chunk[row, column])
                remedy = (
                    "Values must be ±1, 0/1 or lie in [0, 1]: rescale or threshold the data first, "
                    "e.g. divide 8-bit images by 255."
                    if finite
                    else "Remove or fill in values that are missing or not finite."
                )
                raise ValueError(f"{place(bad)}. {remedy}")
            self.seen.setdefault("between", place(between))
        for other in ("0", "between"):
            if {"−1", other} <= self.seen.keys():
                raise ValueError(
                    f"{self.seen['−1']}, but {self.seen[other]}: use one coding throughout, "
                    "all entries ±1, or all entries within [0, 1]."
                )

    def domain(self) -> Domain:
        """The smallest domain that holds everything seen."""
        if "−1" in self.seen:
            return Domain.SPIN
        return Domain.UNIT if "between" in self.seen else Domain.BINARY

    def require(self, domain: Domain) -> None:
        """Raise an error unless everything seen lies in `domain`."""
        for kind in self.seen.keys() - _ALLOWED[domain]:
            raise ValueError(
                f"{self.seen[kind]}, outside the domain {domain} that was asked for: "
                f"convert the data, or pass domain=None to have the domain found."
            )


def _numbers(chunk: np.ndarray, start: int, name: str, columns: Sequence[str] | None) -> np.ndarray:
    """The chunk as real numbers; text and other objects are errors that name the first one."""
    if chunk.dtype.kind in "iuf":
        return chunk
    if chunk.dtype.kind == "b":
        return chunk.view(np.uint8)  # a file may hold other bytes than 0 and 1
    if chunk.dtype.kind in "OUST":
        for (row, column), value in np.ndenumerate(chunk):
            if not isinstance(value, Real):
                called = f" ({brief(repr(columns[column]), 60)})" if columns else ""
                raise ValueError(
                    f"{name} holds {brief(repr(value), 60)} in row {start + row}, column "
                    f"{column}{called}, which is no number: encode or drop such columns first."
                )
        return chunk.astype(np.float64)
    raise ValueError(
        f"{name} has dtype {chunk.dtype}: pass real numbers, booleans or whole numbers."
    )
