r"""Whether Markov chains mix, and what their averages are worth.

A series holds an observable of several chains, (chains, steps). Rows of independent draws are
chains of one step.
"""

from typing import NamedTuple

import numpy as np

from vrbm.data.ising.autocorrelation import autocorrelation_time
from vrbm.typing import Numbers, Values


class Mixing(NamedTuple):
    """Diagnostics of one observable."""

    autocorrelation_time: float
    """τ = 1 + 2 Σ_t ρ(t), in steps; infinite if no decay was seen"""
    effective_sample_size: float
    """number of independent draws that would have the same error"""
    r_hat: float
    """split R̂: 1 when chains agree, and their halves; above 1.01 they have not mixed"""


class Estimate(NamedTuple):
    """A mean value and its standard error."""

    value: float
    error: float


def mixing_diagnostics(series: Values) -> Mixing:
    """All three diagnostics of a series, (chains, steps)."""
    x = _series(series)
    tau = autocorrelation_time(x)
    return Mixing(tau, _size(x, tau), split_r_hat(x))


def effective_sample_size(series: Values) -> float:
    """n/τ of n values in all, (chains, steps); the number of chains where τ is infinite.

    `autocorrelation_time` counts chains that stay apart as correlated. Fewer than four steps cannot
    show any decay: then too it is the number of chains.
    """
    x = _series(series)
    return _size(x, autocorrelation_time(x))


def estimate(series: Values) -> Estimate:
    """Mean of a series (chains, steps), with the standard error σ/√(effective sample size)."""
    x = _series(series)
    spread = x.std(ddof=1) if x.size > 1 else np.inf
    return Estimate(float(x.mean()), float(spread / effective_sample_size(x) ** 0.5))


def split_r_hat(series: Values) -> float:
    r"""R̂ = √([(n − 1)/n W + B/n] / W) of the halves of all chains, (chains, steps).

    Each chain is cut into two of n steps; W is the mean of their variances, B/n the variance of
    their means (Gelman et al., Bayesian Data Analysis, 3rd edition, 11.4). Infinite where nothing
    moves, nan for fewer than four steps.
    """
    x = _series(series)
    n = x.shape[1] // 2
    if n < 2:
        return float("nan")
    halves = np.concatenate([x[:, :n], x[:, -n:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def _size(x: Numbers, tau: float) -> float:
    return float(max(x.size / tau, 1.0)) if np.isfinite(tau) else float(len(x))


def _series(series: Values) -> Numbers:
    x = np.asarray(series, np.float64)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(
            f"series has shape {x.shape}: pass (chains, steps); one chain is series[None]."
        )
    if not np.isfinite(x).all():
        raise ValueError("series holds values that are not finite: remove them first.")
    return x
