"""Exact log-probabilities of configurations, and the best that any model of them can reach."""

from math import isqrt

import numpy as np
from scipy.special import logsumexp

from vrbm.data.ising import checks
from vrbm.data.ising.lattice import energy
from vrbm.data.ising.thermodynamics import log_states, thermodynamics
from vrbm.typing import Numbers, Values


def log_probability(configurations: Values, temperature: float, J: float = 1.0) -> Numbers:
    """ln p(v|T) = −E(v)/T − ln Z(T) in nats, (…), of configurations (…, N)."""
    return mixture_log_probability(configurations, [temperature], J)


def mixture_log_probability(
    configurations: Values, temperatures: Values, J: float = 1.0
) -> Numbers:
    """ln p(v) = ln mean_T e^{−E(v)/T − ln Z(T)} in nats, (…), all temperatures equally likely."""
    v = checks.configurations(configurations)
    levels, level = np.unique(energy(v, J), return_inverse=True)
    log_p = _mixture_of_energies(isqrt(v.shape[-1]), levels, temperatures, J)
    return np.asarray(log_p[level.reshape(v.shape[:-1])])


def highest_log_likelihood(L: int, temperatures: Values, J: float = 1.0) -> float:
    """Σ_v p(v) ln p(v) = Σ_E g(E) p(E) ln p(E) of the temperature mixture, in nats.

    It is minus the entropy of the mixture: the mean log-likelihood of the true distribution, which
    no model exceeds. L is limited by `density_of_states`.
    """
    energies, log_numbers = log_states(L)
    log_p = _mixture_of_energies(L, checks.coupling(J) * energies, temperatures, J)
    return float(np.exp(log_numbers + log_p) @ log_p)


def _mixture_of_energies(L: int, energies: Numbers, temperatures: Values, J: float) -> Numbers:
    """ln p of one configuration of each energy, (energies,)."""
    exact = thermodynamics(L, np.reshape(temperatures, -1), J)
    log_p = -energies[:, None] / exact.temperature - exact.log_partition  # (energies, t)
    return logsumexp(log_p, axis=1) - np.log(exact.temperature.size)
