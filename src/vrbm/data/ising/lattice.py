r"""Observables of spin configurations on the periodic L×L lattice.

A configuration is flattened row by row to N = L² spins ±1, and every site has a bond to its right
and to its lower neighbour: 2N bonds, each counted once. For L = 2 two spins thus share two bonds.
"""

from math import isqrt

import numpy as np
from jaxtyping import Int64

from vrbm.data.ising import checks
from vrbm.typing import Numbers, Spins, Values


def energy(configurations: Values, J: float = 1.0) -> Numbers:
    """E = −J Σ_⟨ij⟩ s_i s_j, (…), of configurations (…, N)."""
    s = _squares(configurations)
    bonds = s * np.roll(s, -1, axis=-1) + s * np.roll(s, -1, axis=-2)
    return np.asarray(-checks.coupling(J) * bonds.sum(axis=(-2, -1), dtype=np.float64))


def magnetization(configurations: Values) -> Numbers:
    """m = Σ_i s_i / N, (…), of configurations (…, N)."""
    s = checks.configurations(configurations)
    return np.asarray(s.sum(axis=-1, dtype=np.int64) / s.shape[-1])


def row_correlation(configurations: Values) -> Numbers:
    """C(r) = Σ_{a,b} s_{a,b} s_{a,b+r} / N for r = 0 … ⌊L/2⌋, (…, ⌊L/2⌋ + 1), along rows."""
    s = _squares(configurations)
    shifts = range(s.shape[-1] // 2 + 1)
    products = [(s * np.roll(s, -r, axis=-1)).mean(axis=(-2, -1)) for r in shifts]
    return np.stack(products, axis=-1)


def bonds(L: int) -> Int64[np.ndarray, "bonds 2"]:
    """The two sites of each bond, (2N, 2): all to the right, then all to below."""
    site = np.arange(checks.side(L) ** 2).reshape(L, L)
    return np.concatenate(
        [np.stack([site, np.roll(site, -1, axis)], axis=-1).reshape(-1, 2) for axis in (1, 0)]
    )


def checkerboard(L: int) -> Spins:
    """(−1)^{a+b} of the site in row a and column b, (N,): the order that J < 0 favours."""
    a, b = np.indices((L, L))
    return (1 - 2 * ((a + b) % 2)).astype(np.int8).reshape(-1)


def is_frustrated(L: int, J: float) -> bool:
    """Whether no configuration satisfies all bonds: J < 0 on rings of odd length."""
    return J < 0 and L % 2 == 1


def _squares(configurations: Values) -> np.ndarray:
    s = checks.configurations(configurations)
    L = isqrt(s.shape[-1])
    return s.reshape(*s.shape[:-1], L, L)
