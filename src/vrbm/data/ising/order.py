r"""Exact order of small tori: the distribution of the magnetization and the correlation in a row.

With the transfer matrix V of `vrbm.data.ising.transfer` and D_θ = diag e^{iθ n(σ)}, where n counts
the up spins of a row, tr (D_θ V)^L / tr V^L is the characteristic function of the number of up
spins of the lattice. A row alone has p(σ) ∝ V^L(σ, σ).
"""

from functools import lru_cache

import numpy as np

from vrbm.data.ising import checks
from vrbm.data.ising.lattice import is_frustrated, row_correlation
from vrbm.data.ising.transfer import COLDEST, _powers, _rows
from vrbm.typing import Numbers

#: The largest side: that of the transfer matrix; smaller where its momenta are of no use.
LIMIT, FRUSTRATED_LIMIT = 11, 9


def magnetization_probabilities(L: int, temperature: float, J: float = 1.0) -> Numbers:
    """p(M) of M = Σ_i s_i = −N, −N + 2, …, N, (N + 1,), to an absolute 1e-14."""
    return np.array(_exact(*_checked(L, temperature, J))[0])


def exact_row_correlation(L: int, temperature: float, J: float = 1.0) -> Numbers:
    """⟨s_{a,b} s_{a,b+r}⟩ for r = 0 … ⌊L/2⌋, (⌊L/2⌋ + 1,)."""
    return np.array(_exact(*_checked(L, temperature, J))[1])


def order_is_exact(L: int, J: float = 1.0) -> bool:
    """Whether the two functions above have this lattice."""
    return (FRUSTRATED_LIMIT if is_frustrated(L, J) else LIMIT) >= L


def _checked(L: int, temperature: float, J: float) -> tuple[int, float]:
    L, J = checks.side(L), checks.coupling(J)
    if not order_is_exact(L, J):
        checks.side(L, LIMIT if L > LIMIT else FRUSTRATED_LIMIT, "there are thermodynamics() only")
    K = J / checks.temperature(temperature, J)
    return L, min(max(K, -COLDEST), COLDEST)


@lru_cache(maxsize=256)
def _exact(L: int, K: float) -> tuple[Numbers, Numbers]:
    rows, N = _rows(L), L * L
    powers = _powers(rows, K)
    up = (rows == 1).sum(axis=1)
    # Cold frustrated lattices have small traces of large matrices: no change of basis for them.
    whole = [(np.eye(len(rows)), np.arange(len(rows)), 1)]
    sectors = whole if is_frustrated(L, K) else _sectors(L)
    angles = 2 * np.pi * np.arange(N + 1) / (N + 1)
    characteristic = np.zeros(N + 1, complex)
    for basis, states, times in sectors:
        block = basis.conj().T @ powers[0] @ basis
        for k in range((N + 1) // 2 + 1):
            matrix = np.exp(1j * angles[k] * up[states])[:, None] * block
            half = np.linalg.matrix_power(matrix, L // 2)
            rest = half @ matrix if L % 2 else half
            characteristic[k] += times * (half * rest.T).sum()
    mirror = np.arange((N + 1) // 2 + 1, N + 1)
    characteristic[mirror] = characteristic[N + 1 - mirror].conj()
    p = np.maximum(np.fft.fft(characteristic).real, 0)
    of_row = (powers[0] * powers[-1]).sum(axis=1)
    squares = np.repeat(rows[:, None], L, axis=1).reshape(len(rows), N)  # L equal rows
    return p / p.sum(), of_row @ row_correlation(squares) / of_row.sum()


def _sectors(L: int) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Rows of momentum 2πk/L, for k = 0 … ⌊L/2⌋, each a basis (2^L, d), since V keeps momentum.

    With it the number of one row of each orbit of shifts, (d,), and how often the sector counts:
    −k is the mirror image of k.
    """
    powers = 1 << np.arange(L)
    shifted = np.stack([(_rows(L) == -1) @ np.roll(powers, -j) for j in range(L)], axis=1)
    first = np.flatnonzero(shifted.min(axis=1) == np.arange(1 << L))  # the least of each orbit
    sectors = []
    for k in range(L // 2 + 1):
        basis = np.zeros((1 << L, first.size), complex)
        for j in range(L):
            basis[shifted[first, j], np.arange(first.size)] += np.exp(2j * np.pi * k * j / L)
        norm = np.sqrt((np.abs(basis) ** 2).sum(axis=0))
        there = norm > 1e-9  # an orbit shorter than L lacks some momenta
        sectors.append((basis[:, there] / norm[there], first[there], 1 if 2 * k % L == 0 else 2))
    return sectors
