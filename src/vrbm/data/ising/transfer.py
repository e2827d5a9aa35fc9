r"""Exact independent draws of the torus, row by row, from powers of the transfer matrix.

For rows σ of L spins, V(σ, σ') = exp(K[½h(σ) + σ·σ' + ½h(σ')]) with h(σ) = Σ_b σ_b σ_{b+1}, and
Z = tr V^L. Therefore

    p(σ_1) ∝ V^L(σ_1, σ_1),    p(σ_{a+1} | σ_1 … σ_a) ∝ V(σ_a, σ_{a+1}) V^{L−a}(σ_{a+1}, σ_1),

with no burn-in and no autocorrelation. Powers are scaled by their largest element.
"""

import numpy as np

from vrbm.data.ising import checks
from vrbm.data.ising.lattice import checkerboard, is_frustrated
from vrbm.typing import Spins

#: The largest side: V has 4^L elements, and L powers of it are kept.
LIMIT = 11
#: Beyond this |J|/T the ground states alone are drawn: all others weigh e^{−4·20} < 1e-34 each.
COLDEST = 20.0
_BLOCK = 1 << 18  # conditional weights that are held at once

Seed = int | np.random.SeedSequence


def exact_draws(L: int, temperature: float, n: int, *, J: float = 1.0, seed: Seed = 0) -> Spins:
    """n independent configurations at one temperature, (n, N); the same for the same seed."""
    checks.side(L, LIMIT, "use swendsen_wang_draws() for larger lattices")
    n, J = checks.count("n", n), checks.coupling(J)
    checks.memory_for(n, L)
    K = min(abs(J) / checks.temperature(temperature, J), COLDEST)
    # J < 0 on even L is J > 0 with every second spin reversed.
    frustrated = is_frustrated(L, J)
    reverse = J < 0 and not frustrated
    rows = _rows(L)
    powers = _powers(rows, -K if frustrated else K)
    rng = np.random.default_rng(seed)
    index = np.empty((n, L), np.intp)
    first = np.cumsum((powers[0] * powers[-1]).sum(axis=1))  # of the diagonal of V^L
    index[:, 0] = np.searchsorted(first, rng.random(n) * first[-1], side="right")
    width = max(1, _BLOCK // len(rows))
    for start in range(0, n, width):
        block = index[start : start + width]
        for a in range(1, L):
            weights = powers[0][block[:, a - 1]] * powers[L - a - 1][block[:, 0]]
            block[:, a] = _choose(weights, rng)
    spins = rows[index].reshape(n, L * L)
    return spins * checkerboard(L) if reverse else spins


def _rows(L: int) -> Spins:
    """All states of a row, (2^L, L)."""
    return (1 - 2 * (np.arange(1 << L)[:, None] >> np.arange(L) & 1)).astype(np.int8)


def _powers(rows: Spins, K: float) -> list[np.ndarray]:
    """V, V², …, V^{L−1}, each symmetric, (2^L, 2^L), and scaled to have 1 as largest element."""
    s = rows.astype(np.float64)
    within = (s * np.roll(s, -1, axis=1)).sum(axis=1) / 2
    exponent = K * (within[:, None] + s @ s.T + within)
    powers = [np.exp(exponent - exponent.max())]
    for _ in range(rows.shape[1] - 2):
        product = powers[-1] @ powers[0]
        powers.append(product / product.max())
    return powers


def _choose(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One column for each row of weights (n, columns), with probability in proportion, (n,)."""
    sums = np.cumsum(weights, axis=1)
    threshold = rng.random(len(weights)) * sums[:, -1]
    return np.count_nonzero(sums[:, :-1] <= threshold[:, None], axis=1)
