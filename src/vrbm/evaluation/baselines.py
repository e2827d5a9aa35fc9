r"""Models that any other should beat: independent columns, and a tree of columns.

Both are fitted in closed form, and have exact likelihoods: a trained model below them has failed,
or its likelihood cannot be trusted. Rows are 0/1. Counts are smoothed: a twentieth of a row is
added to each cell of a table of two columns, so that no value has the probability 0. (Chosen by
validation rows of ten sets of the DEBD collection, among 0.05, 0.5 and 1.)
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from vrbm import memory
from vrbm.model.weights import error_of_mean

INDEPENDENT, SITES, TREE = "independent columns", "independent sites", "a Chow-Liu tree"
#: Rows that are added to each cell of a table of two columns.
SMOOTHING = 0.05
#: Rows at a time, and the most rows that baselines are fitted to.
BLOCK, MOST = 10_000, 100_000
#: The most columns that a tree is fitted to.
WIDEST = 2000
#: Mutual information, in units of log N / n, below which an edge may be made by chance: twice the
#: largest of N²/2 pairs of independent columns.
CHANCE = 4.0
#: Arrays (N, N) that fitting a tree takes.
TABLES = 10


@dataclass(frozen=True)
class BaselineScore:
    """A baseline on the rows that a model is scored on."""

    mean: float
    """mean of log p(v) over the rows"""
    paired_error: float
    """standard error, from the sampling of the rows, of the difference to the model"""
    optimism: float
    """how much higher than on new rows the mean of its own training rows may be"""

    @property
    def margin(self) -> float:
        """What a model may be lower by without having failed: 2 paired errors and the optimism."""
        return 2 * self.paired_error + self.optimism


@dataclass(frozen=True, eq=False)
class Baseline(ABC):
    """A distribution of 0/1 rows whose likelihood is exact."""

    fitted_rows: int
    """rows that it was fitted to"""

    @property
    @abstractmethod
    def n_parameters(self) -> float:
        """The number k of fitted parameters, with a count for those that were chosen."""

    @abstractmethod
    def log_probability(self, rows: Any) -> np.ndarray:
        """log p(v) of rows (n, N) of 0/1, in nats, (n,)."""

    def log_probabilities(self, rows: Any) -> np.ndarray:
        """log p(v) of rows (n, N) of ±1 or 0/1, (n,), block by block."""
        blocks = range(0, len(rows), BLOCK)
        return np.concatenate([self.log_probability(rows[at : at + BLOCK] == 1) for at in blocks])

    def mean(self, rows: Any) -> float:
        """The mean of log p(v) over rows (n, N) of ±1 or 0/1."""
        return float(self.log_probabilities(rows).mean())

    def beside(self, rows: Any, log_weights: np.ndarray) -> BaselineScore:
        """Its score on rows (n, N), and how it differs from a model of these log-weights, (n,).

        The log-weights are log p(v) up to a constant, which the paired error does not depend on.
        The optimism is k/n for a model of k parameters fitted to n rows (Akaike).
        """
        log_p = self.log_probabilities(rows)
        optimism = self.n_parameters / self.fitted_rows
        return BaselineScore(float(log_p.mean()), error_of_mean(log_p - log_weights), optimism)


@dataclass(frozen=True, eq=False)
class Independent(Baseline):
    """Columns that do not depend on each other."""

    ones: np.ndarray
    """p(v_i = 1), (N,), above 0 and below 1"""

    @property
    def n_parameters(self) -> float:
        """N."""
        return len(self.ones)

    def log_probability(self, rows: Any) -> np.ndarray:
        """Σ_i log p(v_i)."""
        zeros = np.log1p(-self.ones)
        return zeros.sum() + _floats(rows) @ (np.log(self.ones) - zeros)


@dataclass(frozen=True, eq=False)
class Sites(Baseline):
    """Sites of several colours that do not depend on each other, in one-hot rows."""

    log_p: np.ndarray
    """log p of each colour of each site, (sites, q)"""

    @property
    def n_parameters(self) -> float:
        """sites·(q − 1)."""
        return self.log_p.size - len(self.log_p)

    def log_probability(self, rows: Any) -> np.ndarray:
        """Σ_i log p(v_i)."""
        return _floats(rows) @ self.log_p.ravel()


@dataclass(frozen=True, eq=False)
class ChowLiu(Baseline):
    """The tree of columns with the largest mutual information (Chow and Liu 1968).

    p(v) = p(v_0) Π_i p(v_i | v_parent(i)).
    """

    parents: np.ndarray
    """of each column, (N,); the first column is the root, and its own parent"""
    given: np.ndarray
    """p(v_i = 1 | v_parent(i) = t) for t = 0, 1, (2, N); for the root p(v_0 = 1), twice"""
    chance_edges: int
    """edges whose mutual information is below `CHANCE` log N / n"""

    @property
    def n_parameters(self) -> float:
        """N probabilities and N − 1 edges.

        An edge that chance may have made counts max(1, 2 log N): of about N pairs the largest
        mutual information is chosen, which is near log N / n, and is lost on new rows.
        """
        width = len(self.parents)
        by_chance = max(1.0, 2 * np.log(width)) - 1
        return 2 * width - 1 + self.chance_edges * by_chance

    @cached_property
    def terms(self) -> tuple[float, np.ndarray, np.ndarray]:
        """log p as a constant, a field for each column, and a coupling of it with its parent."""
        one, zero = np.log(self.given), np.log1p(-self.given)
        fields = one[0] - zero[0]
        np.add.at(fields, self.parents, zero[1] - zero[0])
        return float(zero[0].sum()), fields, one[1] - one[0] - zero[1] + zero[0]

    def log_probability(self, rows: Any) -> np.ndarray:
        """log p(v_0) + Σ_i log p(v_i | v_parent(i))."""
        v = _floats(rows)
        constant, fields, couplings = self.terms
        return constant + v @ fields + (v * v[:, self.parents]) @ couplings


def fit_all(rows: Any, most: int = MOST, per_unit: int = 1) -> dict[str, Baseline]:
    """All baselines of rows (n, N) of ±1 or 0/1, by name; of more than `most` rows, some.

    The tree is left out where there are more than `WIDEST` columns, or where memory does not hold
    its tables of N × N numbers. One-hot rows, with so many values for a unit, have one baseline.
    """
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int))
    ones = rows[chosen] == 1
    if per_unit > 1:
        return {SITES: sites(ones, per_unit)}
    width = rows.shape[1]
    found: dict[str, Baseline] = {INDEPENDENT: independent(ones)}
    if width <= WIDEST and TABLES * 8 * width**2 < memory.SHARE * memory.available():
        found[TREE] = chow_liu(ones)
    return found


def score_all(
    fitted: Mapping[str, Baseline], rows: Any, log_weights: np.ndarray
) -> dict[str, BaselineScore]:
    """Each baseline on rows (n, N), beside a model of these log-weights −F(v), (n,)."""
    return {name: baseline.beside(rows, log_weights) for name, baseline in fitted.items()}


def sites(rows: Any, colours: int) -> Sites:
    """Independent sites with the frequencies of one-hot rows (n, sites·q), smoothed."""
    counts = np.asarray(rows).sum(axis=0, dtype=float).reshape(-1, colours) + SMOOTHING
    return Sites(len(rows), np.log(counts / counts.sum(axis=1, keepdims=True)))


def independent(rows: Any, weights: np.ndarray | None = None) -> Independent:
    """Independent columns with the frequencies of rows (n, N), weighted (n,) if given."""
    return Independent(len(rows), _ones(rows, weights)[0])


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
    given = np.array([cells[1, t][at, parents] / single[t][parents] for t in (0, 1)])
    given[:, 0] = ones[0]
    is_chance = information[at, parents] < CHANCE * np.log(max(width, 2)) / total
    return ChowLiu(len(rows), parents, given, int(is_chance[1:].sum()))


def _floats(rows: Any) -> np.ndarray:
    return np.asarray(rows, np.float64)


def _blocks(rows: Any, weights: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows as numbers, and the same with weights.

    In float32 without weights: sums over a block are then whole numbers below 2²⁴, and exact.
    """
    for at in range(0, len(rows), BLOCK):
        block = rows[at : at + BLOCK]
        if weights is None:
            v = np.asarray(block, np.float32)
            yield v, v
        else:
            v = _floats(block)
            yield v, v * weights[at : at + BLOCK, None]


def _ones(rows: Any, weights: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Smoothed p(v_i = 1), (N,), and the number of rows with those that smooth."""
    total = (len(rows) if weights is None else float(weights.sum())) + 4 * SMOOTHING
    count = np.sum([weighted.sum(axis=0) for _, weighted in _blocks(rows, weights)], axis=0)
    return (_floats(count) + 2 * SMOOTHING) / total, total


def _pairs(rows: Any, weights: np.ndarray | None) -> np.ndarray:
    """Σ v_i v_j over rows, (N, N)."""
    return np.asarray(sum(_floats(weighted.T @ v) for v, weighted in _blocks(rows, weights)))
