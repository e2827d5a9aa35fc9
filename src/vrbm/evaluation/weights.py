r"""The mean of importance weights, from their logarithms, with its error."""

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


def log_mean_exp(log_weights: Values) -> LogMean:
    r"""log (1/n) Σ_r w_r of log-weights (n,), with its standard error and effective sample size.

    The mean is taken of the weights and not of their logarithms, whose average would be lower by
    about half their variance. With ℓ_(r) the value without weight r, the jackknife error is
    √((n−1)/n Σ_r (ℓ_(r) − ℓ̄)²). It is large, as it should be, when one weight outweighs the rest; one
    weight alone has an infinite error.
    """
    logs = np.asarray(checks.host_numbers("log_weights", log_weights), float)
    if logs.ndim != 1 or logs.size == 0 or not np.isfinite(logs).all():
        raise ValueError(
            f"log_weights of shape {logs.shape} are no list of finite numbers: pass one log-weight "
            "for each chain; chains that are not finite point to a model that is not."
        )
    n, peak = logs.size, logs.max()
    w = np.exp(logs - peak)
    total = w.sum()
    value = peak + np.log(total / n)
    size = total**2 / (w**2).sum()
    if n == 1:
        return LogMean(float(value), np.inf, 1.0)
    order = np.argsort(w)
    rest = total - w
    rest[order[-1]] = w[order[:-1]].sum()  # without cancellation where it matters
    left_out = np.log(np.maximum(rest, np.finfo(float).tiny))
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    return LogMean(float(value), float(error), float(size))
