r"""Exact order of small tori: the distribution of the magnetization and the correlation in a row.

With the transfer matrix V of `vrbm.data.ising.transfer` and D_θ = diag e^{iθ n(σ)}, where n counts
the up spins of a row, tr (D_θ V)^L / tr V^L is the characteristic function of the number of up
spins of the lattice. A row alone has p(σ) ∝ V^L(σ, σ).
"""

from functools import lru_cache

import numpy as np

from vrbm.data.ising import checks
from vrbm.data.ising.lattice import row_correlation
from vrbm.data.ising.transfer import COLDEST, _powers, _rows
from vrbm.typing import Numbers

#: The largest side: some hundred products of matrices with 4^L elements.
LIMIT = 9


def magnetization_probabilities(L: int, temperature: float, J: float = 1.0) -> Numbers:
    """p(M) of M = Σ_i s_i = −N, −N + 2, …, N, (N + 1,), to an absolute 1e-14."""
    return np.array(_exact(*_checked(L, temperature, J))[0])


def exact_row_correlation(L: int, temperature: float, J: float = 1.0) -> Numbers:
    """⟨s_{a,b} s_{a,b+r}⟩ for r = 0 … ⌊L/2⌋, (⌊L/2⌋ + 1,)."""
    return np.array(_exact(*_checked(L, temperature, J))[1])


def _checked(L: int, temperature: float, J: float) -> tuple[int, float]:
    L = checks.side(L, LIMIT, "for larger lattices there are only thermodynamics()")
    J = checks.coupling(J)
    K = J / checks.temperature(temperature, J)
    return L, min(max(K, -COLDEST), COLDEST)


@lru_cache(maxsize=256)
def _exact(L: int, K: float) -> tuple[Numbers, Numbers]:
    rows, N = _rows(L), L * L
    powers = _powers(rows, K)
    up = (rows == 1).sum(axis=1)
    characteristic = np.empty(N + 1, complex)
    for k in range((N + 1) // 2 + 1):
        matrix = np.exp(2j * np.pi * k / (N + 1) * up)[:, None] * powers[0]
        half = np.linalg.matrix_power(matrix, L // 2)
        rest = half @ matrix if L % 2 else half
        characteristic[k] = (half * rest.T).sum()
        characteristic[-k % (N + 1)] = characteristic[k].conjugate()
    p = np.maximum(np.fft.fft(characteristic).real, 0)
    of_row = (powers[0] * powers[-1]).sum(axis=1)
    squares = np.repeat(rows[:, None], L, axis=1).reshape(len(rows), N)  # L equal rows
    return p / p.sum(), of_row @ row_correlation(squares) / of_row.sum()
