"""What a data set holds, in a few numbers."""

from dataclasses import dataclass

import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.data.rows import as_rows, ranges


@dataclass(frozen=True)
class SplitSummary:
    """One split: its rows, the mean of all values, columns that never change, rows by label."""

    split: str
    rows: int
    mean: float
    constant_columns: int
    labels: dict[str, int] | None


def summarize(data: Dataset) -> list[SplitSummary]:
    """A summary of each split, read range by range."""
    summaries = []
    for split, values, labels in data.splits():
        rows = as_rows(values)
        total = 0.0
        first = rows.read(0, 1)
        constant = np.ones(rows.shape[1], bool)
        for start, stop in ranges(rows):
            chunk = rows.read(start, stop)
            total += float(chunk.sum(dtype=np.float64))
            constant &= (chunk == first).all(axis=0)
        counts = None
        if labels is not None:
            names, numbers = np.unique(labels, return_counts=True)
            counts = {label_text(name): int(n) for name, n in zip(names, numbers, strict=True)}
        mean = total / (rows.shape[0] * rows.shape[1])
        summaries.append(SplitSummary(split, rows.shape[0], mean, int(constant.sum()), counts))
    return summaries


def label_text(label: object) -> str:
    """A label as one would write it: 0.3, not 0.30000000000000004."""
    return f"{label:.6g}" if isinstance(label, float | np.floating) else str(label)
