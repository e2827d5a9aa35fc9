"""When scores cannot be."""

import numpy as np

from vrbm.evaluation.likelihood import LogPartition, exceeds_zero


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
