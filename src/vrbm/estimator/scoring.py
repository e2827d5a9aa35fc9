"""When scores cannot be."""

import numpy as np


class ImpossibleLikelihood(ValueError):
    """A probability above 1: log Z is wrong, and no score of the model means anything."""


def check_possible(scores: np.ndarray, free_energies: np.ndarray, error: float) -> None:
    """Raise if a log-probability of two-valued rows is above 0 by far more than the error of log Z.

    Rounding of the free energies may lift a probability of almost 1 somewhat above it.
    """
    highest = float(scores.max())
    if highest > 0.01 + 6 * error + 1e-4 * float(np.abs(free_energies).max()):
        raise ImpossibleLikelihood(
            f"the model gives a row of X a log-probability of {highest:.2f} nats, above 0, which "
            "is impossible: annealing has missed most of what the model gives, and log Z is far "
            "too low. Train anew with a lower learning_rate, or more n_gibbs."
        )
