r"""Averages of a model without sampling it: exact draws of the Ising mixture, weighted.

For draws v of the exact law q, the weights w = e^{−F(v)} / q(v) give

    Z = ⟨w⟩_q,    ⟨f⟩_model = ⟨w f⟩_q / ⟨w⟩_q,

with few effective draws where the model is far from q. Only the difference from ⟨f⟩_q is taken from
the draws, and ⟨f⟩_q from the exact solution, so that errors vanish as the model becomes exact.
Configurations that the model likes and that no draw shows are missed, and nothing here can tell:
compare log Z with that of annealing.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np

from vrbm.data import ising
from vrbm.data.dataset import Domain
from vrbm.data.ising.order import order_is_exact
from vrbm.evaluation.likelihood import free_energies
from vrbm.evaluation.mixing import Estimate
from vrbm.evaluation.observables import Comparison, exact_ising
from vrbm.model import GrandCanonicalRBM, Spin
from vrbm.model.weights import error_of_mean, log_mean_exp
from vrbm.typing import Numbers, Values

#: The share of the draws below which averages are not to be trusted.
LEAST_SHARE = 0.1


class Weighted(NamedTuple):
    """What weighted draws say about a model."""

    observables: dict[str, Comparison]
    """energy, energy_variance, abs_magnetization, m2 and correlation_r, for one spin"""
    log_partition: Estimate
    """log Z; it is too low where the draws miss what the model likes"""
    share: float
    """(Σ w)² / (n Σ w²): the fraction of the draws that counts"""

    @property
    def is_trusted(self) -> bool:
        """Whether enough draws count."""
        return self.share > LEAST_SHARE


def weighted_ising(
    model: GrandCanonicalRBM, draws: Values, temperatures: Values, J: float = 1.0
) -> Weighted:
    """Observables of a model beside those of the mixture, all temperatures being equally likely.

    Parameters
    ----------
    draws
        Independent configurations of the mixture, (n, L²) with L ≤ 11, that the model has not been
        trained on. `ising.mixture_set` with another seed has them, in equal parts from each
        temperature, which makes the stated errors a little too large.
    temperatures
        Those of the mixture.
    """
    v = Spin().encode(draws, "draws").astype(np.int8)
    if v.ndim != 2 or len(v) < 2:
        raise ValueError(f"draws has shape {v.shape}: pass configurations (n, L²), two or more.")
    N, L = v.shape[1], isqrt(v.shape[1])
    if not order_is_exact(L, J):
        raise ValueError(f"draws has lattices of side {L}, J is {J}: the order is not known there.")
    log_q = ising.mixture_log_probability(v, temperatures, J)
    log_w = -free_energies(model, v, Domain.SPIN) - log_q
    mean_weight = log_mean_exp(log_w)
    ratio = np.exp(log_w - mean_weight.value)
    exact = exact_ising(L, temperatures, J)

    def average(f: Numbers, true: float) -> Comparison:
        mean, plain = (ratio * f).mean(), f.mean()
        scatter = ratio * (f - mean) - (f - plain)
        return Comparison(float(true + mean - plain), error_of_mean(scatter), true)

    E, m = ising.energy(v, J) / N, np.abs(ising.magnetization(v))
    C = ising.row_correlation(v)
    found = {
        "energy": average(E, exact["energy"]),
        "abs_magnetization": average(m, exact["abs_magnetization"]),
        "m2": average(m**2, exact["m2"]),
    }
    # ⟨(E − E₀)²⟩ about the model's mean E₀: `true` is that of the mixture, about the same E₀.
    E0 = found["energy"].value
    true = exact["energy_variance"] + N * (exact["energy"] - E0) ** 2
    variance = average(N * (E - E0) ** 2, true)
    found["energy_variance"] = variance._replace(exact=exact["energy_variance"])
    for r in range(1, C.shape[-1]):
        found[f"correlation_{r}"] = average(C[:, r], exact[f"correlation_{r}"])
    log_Z = Estimate(mean_weight.value, mean_weight.standard_error)
    return Weighted(found, log_Z, mean_weight.effective_sample_size / len(v))
