r"""The density of states of the torus in exact integers, from Kaufman's partition function.

With x = e^{−2K}, K = J/T, the partition function is e^{2NK} times an integer polynomial,

    Z = e^{2NK} Σ_u g_u x^u = ½ e^{2NK} (A + B + C + D)(x),

where u counts the unsatisfied bonds and A … D are products over the momenta θ, see
`vrbm.data.ising.thermodynamics`. Two factors ±θ make a polynomial of x and 2cos θ (`_pair`), and
the momenta 0 and π one of x alone (`_single`). Since 2cos(πk/L) = ω^k + ω^{−k} with a primitive
root of unity ω of order 2L, and the products are the same for every choice of ω, they may be taken
in the integers modulo Φ(b), where Φ is the cyclotomic polynomial of order 2L and ω = b: exact as
soon as Φ(b) exceeds 2^{N+1}, the sum of all coefficients.
"""

from functools import lru_cache
from math import gcd, prod

import numpy as np

from vrbm.data.ising import checks

#: The largest side for which the states are counted.
LIMIT = 24


def density_of_states(L: int) -> dict[int, int]:
    """g(E), the number of configurations of each energy at J = 1, in the order of E.

    At another coupling the energy JE has as many; the numbers sum to 2^N.
    """
    return dict(_states(checks.side(L, LIMIT, "use thermodynamics(), which needs no states")))


@lru_cache(maxsize=32)
def _states(L: int) -> tuple[tuple[int, int], ...]:
    N, order = L * L, 2 * L
    degree = sum(gcd(k, order) == 1 for k in range(1, order))
    b = 1 << ((N + 2) // degree + 2)
    modulus = _cyclotomic(order, b)  # above 2^{N+2}

    def product(momenta: range, sign: int) -> np.ndarray:
        """Π over θ = πk/L of 2cosh(Lγ/2) for sign +1, of 2sinh(Lγ/2) for −1, in powers of x."""
        total = np.array([1], object)
        for k in momenta:
            if k % L == 0:
                total = np.convolve(total, _single(L, 1 if k == 0 else -1, sign)) % modulus
            elif k < L:  # with its mirror image 2L − k
                two_cosine = (pow(b, k, modulus) + pow(b, order - k, modulus)) % modulus
                total = np.convolve(total, _pair(L, two_cosine, sign, modulus)) % modulus
        return total

    odd, even = range(1, order, 2), range(0, order, 2)
    sectors = [product(momenta, sign) for momenta in (odd, even) for sign in (1, -1)]
    numbers = np.sum(sectors, axis=0) % modulus // 2
    return tuple((2 * u - 2 * N, int(g)) for u, g in enumerate(numbers) if g)


def _pair(L: int, two_cosine: int, sign: int, modulus: int) -> np.ndarray:
    """q^L + (s²/q)^L + 2 sign s^L, where q + s²/q = p, by u_{k+1} = p u_k − s² u_{k−1}.

    p = (1 + x²)² − 2cos θ s and s = x(1 − x²), as in `thermodynamics`.
    """
    s = np.array([0, 1, 0, -1], object)
    p = np.array([1, 0, 2, 0, 1], object)
    p[:4] = p[:4] - two_cosine * s
    square = np.convolve(s, s)
    before, last = np.array([2], object), p
    for _ in range(L - 1):
        following = np.convolve(p, last)
        following[: len(before) + 6] -= np.convolve(square, before)
        before, last = last, following % modulus
    power = _power(s, L)
    last[: len(power)] += 2 * sign * power
    return last % modulus


def _single(L: int, cosine: int, sign: int) -> np.ndarray:
    """(1 − cx)^L + sign (x(1 + cx))^L, the factor of θ = 0 (c = 1) or θ = π (c = −1)."""
    total = _power(np.array([0, 1, cosine], object), L) * sign
    total[: L + 1] += _power(np.array([1, -cosine], object), L)
    return total


def _power(polynomial: np.ndarray, exponent: int) -> np.ndarray:
    total = np.array([1], object)
    for _ in range(exponent):
        total = np.convolve(total, polynomial)
    return total


def _cyclotomic(n: int, b: int) -> int:
    """Φ_n(b) = (b^n − 1) / Π_{d|n, d<n} Φ_d(b)."""
    return (b**n - 1) // prod(_cyclotomic(d, b) for d in range(1, n) if n % d == 0)
