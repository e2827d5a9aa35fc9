r"""Samples of a model against the exact Ising model, with errors that count autocorrelation.

Samples have shape (chains, steps, N), or (n, N) for independent draws; they may be ±1 or 0/1.
Values are for one spin. With several temperatures the reference is their mixture, all equally
likely, as in the paper's data.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np

from vrbm.data import ising
from vrbm.data.ising.order import order_is_exact
from vrbm.evaluation.mixing import Estimate, effective_sample_size, estimate
from vrbm.model import Spin
from vrbm.typing import Numbers, Values


class Comparison(NamedTuple):
    """An observable of the samples beside its exact value."""

    value: float
    error: float
    """standard error"""
    exact: float | None
    """None where the lattice is too large for it"""

    @property
    def deviation(self) -> float | None:
        """Difference from the exact value in standard errors."""
        if self.exact is None:
            return None
        difference = self.value - self.exact
        if abs(difference) <= 1e-12 * max(1.0, abs(self.exact)):
            return 0.0
        return float(np.divide(difference, self.error)) if self.error else float("inf")


def ising_observables(samples: Values, temperatures: Values, J: float = 1.0) -> dict[str, Estimate]:
    r"""Mean values of one spin, with standard errors.

    energy ⟨E⟩/N; energy_variance (⟨E²⟩ − ⟨E⟩²)/N; abs_magnetization ⟨|m|⟩; m2 ⟨m²⟩; correlation_r
    C(r) along rows for r = 1 … ⌊L/2⌋. For one temperature also heat_capacity, the variance of the
    energy over T², susceptibility χ = N⟨m²⟩/T, and connected_susceptibility N(⟨m²⟩ − ⟨|m|⟩²)/T.

    Errors of variances are those of their linear part, e.g. of the average of (E − ⟨E⟩)².
    """
    s = _spins(samples)
    N = s.shape[-1]
    E, m = ising.energy(s, J) / N, np.abs(ising.magnetization(s))
    centred = (E - E.mean()) ** 2 * N
    worth = effective_sample_size(E)
    bias = worth / (worth - 1) if worth > 1 else 1.0  # the mean is that of the same samples
    variance = _scaled(estimate(centred), bias)
    found = {
        "energy": estimate(E),
        "energy_variance": variance,
        "abs_magnetization": estimate(m),
        "m2": estimate(m**2),
    }
    correlation = ising.row_correlation(s)
    for r in range(1, correlation.shape[-1]):
        found[f"correlation_{r}"] = estimate(correlation[..., r])
    T = _temperatures(temperatures)
    if T.size == 1:
        beta = 1 / float(T[0])
        connected = Estimate(m.var(), estimate(m**2 - 2 * m.mean() * m).error)
        found["heat_capacity"] = _scaled(variance, beta**2)
        found["susceptibility"] = _scaled(found["m2"], N * beta)
        found["connected_susceptibility"] = _scaled(connected, N * beta)
    return found


def exact_ising(L: int, temperatures: Values, J: float = 1.0) -> dict[str, float]:
    """The exact values of `ising_observables`; for L > 11 those of the energy only."""
    T, N = _temperatures(temperatures), L * L
    thermal = ising.thermodynamics(L, T, J)
    E = thermal.energy
    variance = (thermal.heat_capacity * T**2 + (E - E.mean()) ** 2).mean() / N
    found = {"energy": E.mean() / N, "energy_variance": variance}
    if T.size == 1:
        found["heat_capacity"] = variance / T[0] ** 2
    if order_is_exact(L, J):
        m = np.abs(np.arange(-N, N + 1, 2)) / N
        p = np.mean([ising.magnetization_probabilities(L, t, J) for t in T], axis=0)
        correlation = np.mean([ising.exact_row_correlation(L, t, J) for t in T], axis=0)
        found |= {"abs_magnetization": p @ m, "m2": p @ m**2}
        found |= {f"correlation_{r}": C for r, C in enumerate(correlation) if r}
        if T.size == 1:
            found["susceptibility"] = N * (p @ m**2) / T[0]
            found["connected_susceptibility"] = N * (p @ m**2 - (p @ m) ** 2) / T[0]
    return {name: float(value) for name, value in found.items()}


def compare_with_ising(
    samples: Values, temperatures: Values, J: float = 1.0
) -> dict[str, Comparison]:
    """Each observable of the samples beside its exact value, and how far apart they are."""
    found = ising_observables(samples, temperatures, J)
    exact = exact_ising(isqrt(np.shape(samples)[-1]), temperatures, J)
    return {name: Comparison(*value, exact.get(name)) for name, value in found.items()}


def _scaled(value: Estimate, factor: float) -> Estimate:
    return Estimate(float(value.value * factor), float(value.error * factor))


def _spins(samples: Values) -> Numbers:
    """Spins, (chains, steps, N)."""
    s = Spin().encode(samples, "samples")
    if s.ndim == 2:
        s = s[:, None]
    if s.ndim != 3 or 0 in s.shape:
        raise ValueError(
            f"samples has shape {s.shape}: pass (chains, steps, N), or (n, N) if independent."
        )
    return s


def _temperatures(value: Values) -> Numbers:
    return np.reshape(np.asarray(value, np.float64), -1)
