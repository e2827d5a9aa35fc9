"""Exact figures and slow oracles that the Ising tests share."""

import json
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import chisquare

from vrbm.data import ising

EXACT = json.loads((Path(__file__).parent / "ising_exact.json").read_text())
TEMPERATURES = [float(T) for T in EXACT["L8"]]


def all_configurations(L: int) -> np.ndarray:
    return np.array(list(product((1, -1), repeat=L * L)), np.int8)


def bond_by_bond(v: np.ndarray, L: int, J: float) -> float:
    """The energy of one configuration, summed over bonds in a plain loop."""
    s = v.reshape(L, L).astype(int)
    return -J * sum(
        int(s[a, b]) * (int(s[a, (b + 1) % L]) + int(s[(a + 1) % L, b]))
        for a in range(L)
        for b in range(L)
    )


def estimates(v: np.ndarray, T: float, effective: float) -> dict[str, tuple[float, float]]:
    """Mean and standard error of e, c, |m| and m² for one spin, from `effective` draws."""
    E, m = ising.energy(v), ising.magnetization(v)
    N = v.shape[1]
    series = {
        "e": E / N,
        "c": (E - E.mean()) ** 2 / N / T**2,
        "absm": np.abs(m),
        "m2": m**2,
    }
    return {name: (x.mean(), x.std() / effective**0.5) for name, x in series.items()}


def deviations(v: np.ndarray, T: float, effective: float, exact: dict) -> dict[str, float]:
    """Differences from the exact values in standard errors."""
    found = estimates(v, T, effective)
    return {k: (mean - exact[k]) / error for k, (mean, error) in found.items() if k in exact}


def energy_p_value(v: np.ndarray, T: float, J: float) -> float:
    """Chi-square test of the energies against the density of states.

    Energies that are expected less than ten times are counted with the rarest of the others.
    """
    L = round(v.shape[1] ** 0.5)
    states = ising.density_of_states(L)
    E = J * np.array(list(states))
    log_g = np.log(np.array(list(states.values()), float))
    p = np.exp(log_g - E / T - ising.thermodynamics(L, T, J).log_partition)
    expected = p / p.sum() * len(v)
    found = np.array([np.count_nonzero(ising.energy(v, J) == e) for e in E])
    common = np.flatnonzero(expected >= 10)
    place = np.full(E.size, common[np.argmin(expected[common])])
    place[common] = common
    _, group = np.unique(place, return_inverse=True)
    return float(chisquare(np.bincount(group, found), np.bincount(group, expected)).pvalue)
