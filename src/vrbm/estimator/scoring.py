"""When scores cannot be, or fall short of models that are fitted in closed form."""

import warnings
from collections.abc import Mapping

import numpy as np

from vrbm.data.dataset import Domain
from vrbm.estimator.fitting import Rows
from vrbm.evaluation import baselines
from vrbm.evaluation.baselines import Baseline
from vrbm.evaluation.likelihood import (
    LikelihoodWarning,
    LogPartition,
    exceeds_zero,
    mean_log_likelihood,
)

#: Products n N² that fitting baselines may take, about a second on two cores.
WORK = 10**11
FEWEST_ROWS = 1000


class ImpossibleLikelihood(ValueError):
    """A probability above 1: log Z is wrong, and no score of the model means anything."""


def check_possible(scores: np.ndarray, partition: LogPartition) -> None:
    """Raise if a log-probability of two-valued rows is above 0, by more than its error."""
    highest = float(scores.max())
    if exceeds_zero(highest, partition):
        raise ImpossibleLikelihood(
            f"the model gives a row of X a log-probability of {highest:.2f} nats, above 0, which "
            "is impossible: annealing has missed most of what the model gives, and log Z is far "
            "too low. Train anew with a lower learning_rate, or more n_gibbs."
        )


def fitted_baselines(rows: Rows) -> dict[str, Baseline]:
    """Baselines of training rows, of those without missing entries.

    There are none for weighted rows, for values between 0 and 1, and for fewer than 2 such rows.
    Of very many rows some are taken.
    """
    if rows.weights is not None or rows.domain is Domain.UNIT:
        return {}
    whole = are_states(rows.v)
    v = rows.v if whole.all() else rows.v[whole]
    most = max(FEWEST_ROWS, WORK // v.shape[1] ** 2)
    return baselines.fit_all(v, min(most, baselines.MOST)) if len(v) > 1 else {}


def are_states(v: np.ndarray) -> np.ndarray:
    """Which of the rows (n, N) hold only 0 and 1, (n,)."""
    return ((v == 0) | (v == 1)).all(axis=1)


def warn_if_below(
    v: np.ndarray,
    free_energy: np.ndarray,
    partition: LogPartition,
    fitted: Mapping[str, Baseline],
) -> None:
    """Warn if 0/1 rows v (n, N) with these F(v), (n,), are likelier under a baseline.

    Rows with other values are left out. The rule is that of `LogLikelihood.shortfalls`.
    """
    whole = are_states(v)
    if not fitted or not whole.any():
        return
    log_weights = -free_energy[whole].astype(np.float64)
    beside = baselines.score_all(fitted, v[whole], log_weights)
    for words in mean_log_likelihood(log_weights, partition).shortfalls(beside)[:1]:
        remedy = "train with more n_iter, a lower learning_rate, more n_gibbs or more hidden units."
        warnings.warn(f"{words.removesuffix('.')}; {remedy}", LikelihoodWarning, stacklevel=3)
