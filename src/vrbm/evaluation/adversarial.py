r"""Nearest-neighbour adversarial accuracy: whether nearest neighbours tell samples from data.

For truth T and synthetic samples S, n rows each, with d_XY(i) the distance from row i of X to its
nearest row of Y, itself left out,

    AA_truth = (1/n) Σ_i 1[d_TS(i) > d_TT(i)],    AA_syn = (1/n) Σ_i 1[d_ST(i) > d_SS(i)]

(Yale et al., ESANN 2019). Both are ½ when the two cannot be told apart, 1 when they lie apart, and
below ½ when samples are copies of the data. Discrete data have equal distances: they count ½.
"""

from typing import NamedTuple

import numpy as np

from vrbm.typing import Numbers, Values

_BLOCK = 1 << 24  # distances that are held at once


class AdversarialAccuracy(NamedTuple):
    """Fractions, ½ being the best."""

    truth: float
    """AA_truth: rows of the data that are nearer to other data than to samples"""
    synthetic: float
    """AA_syn: samples that are nearer to other samples than to data"""
    error: float
    """standard error of each if rows were independent of one another, at most ½/√n"""

    @property
    def mean(self) -> float:
        """(AA_truth + AA_syn)/2."""
        return (self.truth + self.synthetic) / 2


def adversarial_accuracy(data: Values, samples: Values) -> AdversarialAccuracy:
    """AA_truth and AA_syn of samples (n, N) against as many rows of data (n, N), in one coding."""
    T, S = np.asarray(data, np.float64), np.asarray(samples, np.float64)
    if T.ndim != 2 or T.shape != S.shape or len(T) < 2:
        raise ValueError(
            f"data has shape {T.shape} and samples {S.shape}: pass the same number of rows, at "
            "least two; nearest distances depend on how many there are."
        )
    truth = _preference(nearest(T, S), nearest(T, None))
    synthetic = _preference(nearest(S, T), nearest(S, None))
    error = max(truth.std(), synthetic.std()) / len(T) ** 0.5
    return AdversarialAccuracy(float(truth.mean()), float(synthetic.mean()), float(error))


def nearest(rows: Numbers, others: Numbers | None) -> Numbers:
    """Squared distance from each row (n, N) to the nearest of others (m, N), (n,).

    With None, to the nearest of the rows but itself.
    """
    targets = rows if others is None else others
    norms = (targets**2).sum(axis=1)
    found = np.empty(len(rows))
    width = max(1, _BLOCK // len(targets))
    for start in range(0, len(rows), width):
        block = rows[start : start + width]
        distances = (block**2).sum(axis=1)[:, None] + norms - 2 * block @ targets.T
        if others is None:
            at = np.arange(len(block))
            distances[at, start + at] = np.inf
        found[start : start + width] = distances.min(axis=1)
    return found


def _preference(to_others: Numbers, to_own: Numbers) -> Numbers:
    """1 where its own are nearer, ½ for ties."""
    return (1 + np.sign(to_others - to_own)) / 2
