r"""Models that any other should beat: independent columns, and a tree of columns.

Both are fitted in closed form, and have exact likelihoods: a trained model below them has failed,
or its likelihood cannot be trusted. Rows are 0/1. Counts are smoothed: a twentieth of a row is
added to each cell of a table of two columns, so that no value has the probability 0. (Chosen by
validation rows of ten sets of the DEBD collection, among 0.05, 0.5 and 1.)
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from vrbm import memory

#: Rows that are added to each cell of a table of two columns.
SMOOTHING = 0.05
#: Rows at a time, and the most rows that baselines are fitted to.
BLOCK, MOST = 10_000, 100_000
#: Arrays (N, N) that fitting a tree takes.
TABLES = 10


@dataclass(frozen=True, eq=False)
class Baseline(ABC):
    """A distribution of 0/1 rows whose likelihood is exact."""

    @abstractmethod
    def log_probability(self, rows: Any) -> np.ndarray:
        """log p(v) of rows (n, N) of 0/1, in nats, (n,)."""

    def mean(self, rows: Any) -> float:
        """The mean of log p(v) over rows (n, N) of ±1 or 0/1, block by block."""
        blocks = range(0, len(rows), BLOCK)
        sums = [self.log_probability(rows[at : at + BLOCK] == 1).sum() for at in blocks]
        return float(sum(sums) / len(rows))


@dataclass(frozen=True, eq=False)
class Independent(Baseline):
    """Columns that do not depend on each other."""

    log_ratio: np.ndarray
    """log p(1) − log p(0) of each column, (N,)"""
    log_zero: float
    """log-probability of a row of zeros"""

    def log_probability(self, rows: Any) -> np.ndarray:
        """Σ_i log p(v_i)."""
        return self.log_zero + _floats(rows) @ self.log_ratio


@dataclass(frozen=True, eq=False)
class ChowLiu(Baseline):
    """The tree of columns with the largest mutual information (Chow and Liu 1968).

    p(v) = p(v_r) Π_i p(v_i | v_parent(i)): log p is a sum of one term for each column and one for
    each edge of the tree.
    """

    constant: float
    fields: np.ndarray
    """(N,)"""
    couplings: np.ndarray
    """of each column with its parent, (N,); 0 for the root"""
    parents: np.ndarray
    """of each column, (N,); the root is its own"""

    def log_probability(self, rows: Any) -> np.ndarray:
        """log p(v_r) + Σ_i log p(v_i | v_parent(i))."""
        v = _floats(rows)
        return self.constant + v @ self.fields + (v * v[:, self.parents]) @ self.couplings


def fit_all(rows: Any) -> dict[str, Baseline]:
    """All baselines of rows (n, N) of ±1 or 0/1, by name; of more than `MOST`, some.

    The tree is left out where memory does not hold its tables of N × N numbers.
    """
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST)).astype(int))
    ones = rows[chosen] == 1
    found: dict[str, Baseline] = {"independent columns": independent(ones)}
    if TABLES * 8 * rows.shape[1] ** 2 < memory.SHARE * memory.available():
        found["a Chow-Liu tree"] = chow_liu(ones)
    return found


def independent(rows: Any, weights: np.ndarray | None = None) -> Independent:
    """Independent columns with the frequencies of rows (n, N), weighted (n,) if given."""
    ones = _ones(rows, weights)[0]
    return Independent(np.log(ones) - np.log1p(-ones), float(np.log1p(-ones).sum()))


def chow_liu(rows: Any, weights: np.ndarray | None = None) -> ChowLiu:
    """The tree that fits rows (n, N) best, weighted (n,) if given: O(n N²)."""
    ones, total = _ones(rows, weights)
    both = (_pairs(rows, weights) + SMOOTHING) / total
    np.fill_diagonal(both, ones**2)  # no table: a column counts as independent of itself
    width = len(ones)
    # p(v_i = s, v_j = t) for the four pairs of values, each (N, N).
    cells = {
        (1, 1): both,
        (1, 0): ones[:, None] - both,
        (0, 1): ones[None, :] - both,
        (0, 0): 1 - ones[:, None] - ones[None, :] + both,
    }
    single = {1: ones, 0: 1 - ones}
    information = np.zeros((width, width))
    for (s, t), p in cells.items():
        information += p * (np.log(p) - np.log(single[s])[:, None] - np.log(single[t])[None, :])
    np.fill_diagonal(information, 0)
    # A spanning tree needs weights above 0.
    tree = minimum_spanning_tree(1 + information.max() - information)
    _, parents = breadth_first_order(tree, 0, directed=False)
    parents[0] = 0
    at = np.arange(width)
    log = {cell: np.log(p[at, parents]) for cell, p in cells.items()}
    for t in (0, 1):  # given the parent; the root has none
        for s in (0, 1):
            log[s, t] -= np.log(single[t][parents])
            log[s, t][0] = np.log(single[s][0])
    constant = log[0, 0].sum()
    fields = log[1, 0] - log[0, 0]
    np.add.at(fields, parents, log[0, 1] - log[0, 0])
    couplings = log[1, 1] - log[1, 0] - log[0, 1] + log[0, 0]
    return ChowLiu(float(constant), fields, couplings, parents)


def _floats(rows: Any) -> np.ndarray:
    return np.asarray(rows, np.float64)


def _blocks(rows: Any, weights: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows as numbers, and the same with weights."""
    for at in range(0, len(rows), BLOCK):
        v = _floats(rows[at : at + BLOCK])
        yield v, v if weights is None else v * weights[at : at + BLOCK, None]


def _ones(rows: Any, weights: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Smoothed p(v_i = 1), (N,), and the number of rows with those that smooth."""
    total = (len(rows) if weights is None else float(weights.sum())) + 4 * SMOOTHING
    count = sum(weighted.sum(axis=0) for _, weighted in _blocks(rows, weights))
    return (count + 2 * SMOOTHING) / total, total


def _pairs(rows: Any, weights: np.ndarray | None) -> np.ndarray:
    """Σ v_i v_j over rows, (N, N)."""
    return np.asarray(sum(weighted.T @ v for v, weighted in _blocks(rows, weights)))
