r"""Moments of samples against those of data, up to third order, for any data.

δ_i = v_i − ⟨v_i⟩. The moments are ⟨v_i⟩, the pair correlations C_ij = ⟨δ_i δ_j⟩ for i < j and
⟨δ_i δ_j δ_k⟩ for i < j < k, which are cumulants too: no lower order enters twice.
"""

from math import comb
from typing import NamedTuple

import numpy as np

from vrbm.model import checks
from vrbm.typing import Numbers, Values

_BLOCK = 1 << 24  # products that are held at once


class MomentScore(NamedTuple):
    """The moments of one order, of samples against data."""

    difference: float
    """root mean square difference"""
    noise: float
    """what it would be if samples and data, both independent, came from one distribution"""
    correlation: float
    """Pearson's coefficient between the moments of the two; nan where all are equal"""
    number: int
    """how many moments"""


def compare_moments(
    data: Values, samples: Values, *, triples: int = 20_000, seed: int = 0
) -> dict[int, MomentScore]:
    """Moments of order 1, 2 and 3 of samples (n, N) against data (rows, N), in the same coding.

    All means and pairs, and at most `triples` different triples, drawn with the seed. Correlated
    samples make the difference larger than the noise says: pass draws that are apart.
    """
    a, b = _rows("data", data), _rows("samples", samples)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"samples has {b.shape[1]} values in a row, and data {a.shape[1]}: pass the same."
        )
    n = a.shape[1]
    groups = {1: np.arange(n)[:, None], 2: np.column_stack(np.triu_indices(n, 1))}
    groups[3] = random_triples(n, checks.count("triples", triples), seed)
    scores = {}
    for order, group in groups.items():
        if len(group):
            (x, x_error), (y, y_error) = moments(a, group), moments(b, group)
            noise = np.sqrt((x_error**2 + y_error**2).mean())
            difference = np.sqrt(((x - y) ** 2).mean())
            scores[order] = MomentScore(float(difference), float(noise), _pearson(x, y), len(group))
    return scores


def moments(rows: Values, groups: np.ndarray) -> tuple[Numbers, Numbers]:
    """⟨Π_{i∈g} δ_i⟩ of groups g of one, two or more units, (groups, order), with standard errors.

    Of a single unit it is ⟨v_i⟩. Errors are for independent rows.
    """
    v = _rows("rows", rows)
    mean = v.mean(axis=0)
    values, errors = np.empty(len(groups)), np.empty(len(groups))
    width = max(1, _BLOCK // len(v))
    for start in range(0, len(groups), width):
        block = slice(start, start + width)
        product = np.ones((len(v), len(groups[block])))
        for column in groups[block].T:
            product *= v[:, column] - mean[column]
        values[block] = product.mean(axis=0)
        errors[block] = product.std(axis=0) / len(v) ** 0.5
    return (mean[groups[:, 0]] if groups.shape[1] == 1 else values), errors


def pair_correlations(rows: Values) -> Numbers:
    """C_ij = ⟨v_i v_j⟩ − ⟨v_i⟩⟨v_j⟩ of rows (n, N), (N, N)."""
    v = _rows("rows", rows)
    v = v - v.mean(axis=0)
    return v.T @ v / len(v)


def random_triples(n: int, most: int, seed: int = 0) -> np.ndarray:
    """Different triples i < j < k of n units, (triples, 3): all, or `most` drawn evenly."""
    total = comb(n, 3)
    if total <= most:
        i, j, k = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
        return np.column_stack([x[(i < j) & (j < k)] for x in (i, j, k)])
    rng = np.random.default_rng(seed)
    found = np.empty((0, 3), int)
    while len(found) < most:
        drawn = np.sort(rng.integers(0, n, (2 * most, 3)), axis=1)
        drawn = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]
        found = np.unique(np.concatenate([found, drawn]), axis=0)
    return found[np.sort(rng.permutation(len(found))[:most])]


def _pearson(x: Numbers, y: Numbers) -> float:
    x, y = x - x.mean(), y - y.mean()
    norm = np.sqrt((x**2).sum() * (y**2).sum())
    return float((x * y).sum() / norm) if norm > 0 else float("nan")


def _rows(name: str, rows: Values) -> Numbers:
    v = np.asarray(checks.host_numbers(name, rows), np.float64)
    if v.ndim != 2 or 0 in v.shape:
        raise ValueError(f"{name} has shape {v.shape}: pass at least one row, as (rows, N).")
    return v
