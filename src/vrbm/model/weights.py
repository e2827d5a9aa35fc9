r"""Means with their errors: of independent values, and of weights from their logarithms."""

from dataclasses import dataclass

import numpy as np

from vrbm.model import checks
from vrbm.typing import Values


@dataclass(frozen=True)
class LogMean:
    """log of the mean of n independent weights."""

    value: float
    """log (1/n) Σ w"""
    standard_error: float
    """of `value`, by the jackknife"""
    effective_sample_size: float
    """(Σw)² / Σw², between 1 and n"""


def error_of_mean(values: np.ndarray) -> float:
    """The standard error of the mean of independent values (n,); infinite for one."""
    n = len(values)
    return float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf


def log_mean_exp(log_weights: Values, groups: np.ndarray | None = None) -> LogMean:
    r"""log (1/n) Σ_r w_r of log-weights (n,), with its standard error and effective sample size.

    The mean is taken of the weights and not of their logarithms, whose average would be lower by
    about half their variance. With ℓ_g the value without weight g, the jackknife error is
    √((G−1)/G Σ_g (ℓ_g − ℓ̄)²). It is large, as it should be, when one weight outweighs the rest; a
    weight that is alone has an infinite error. `groups` (n,) numbers weights that are not
    independent: they are left out together.
    """
    logs = np.asarray(checks.host_numbers("log_weights", log_weights), float)
    if logs.ndim != 1 or logs.size == 0 or not np.isfinite(logs).all():
        raise ValueError(
            f"log_weights of shape {logs.shape} are no list of finite numbers: pass one log-weight "
            "for each chain; chains that are not finite point to a model that is not."
        )
    w = np.exp(logs - logs.max())
    total = w.sum()
    value = float(logs.max() + np.log(total / w.size))
    size = float(total**2 / (w**2).sum())
    _, group = np.unique(np.arange(w.size) if groups is None else groups, return_inverse=True)
    sums, counts = np.bincount(group, w), np.bincount(group)
    n = len(sums)
    if n == 1:
        return LogMean(value, np.inf, size)
    rest = total - sums
    rest[sums.argmax()] = np.delete(sums, sums.argmax()).sum()  # where a difference would cancel
    left_out = np.log(np.maximum(rest, np.finfo(float).tiny) / (w.size - counts))
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    return LogMean(value, float(error), size)
