r"""Exact thermodynamics of the L×L torus: Kaufman's partition function in a form that is stable.

With x = e^{−2K}, s = x(1 − x²) and, for the momentum θ, p = (1 + x²)² − 2cos θ s, let q be the
larger root of q + s²/q = p; it is e^{γ−4K} 2sinh 2K in Kaufman's notation. Then

    Z = ½ e^{2NK} (A + B + C + D),    A, B = Π_{θ odd} (q^{L/2} ± (s²/q)^{L/2}),
                                      C, D = Π_{θ even} (q^{L/2} ± (s²/q)^{L/2}),

over θ = πk/L with k odd or even, 0 ≤ k < 2L. At θ = 0 the root is q = (1 − x)² at all
temperatures, so that D changes its sign at the critical one. Nothing overflows: x lies in (0, 1).
"""

from dataclasses import dataclass
from math import log

import numpy as np

from vrbm.data.ising import checks
from vrbm.data.ising.lattice import is_frustrated
from vrbm.data.ising.states import LIMIT, density_of_states
from vrbm.typing import Numbers, Values


@dataclass(frozen=True, eq=False)
class Thermodynamics:
    """Exact values for the whole lattice, one for each temperature; divide by N for one spin."""

    temperature: Numbers
    log_partition: Numbers
    """ln Z"""
    energy: Numbers
    """⟨E⟩ = −∂ ln Z/∂(1/T)"""
    heat_capacity: Numbers
    """∂⟨E⟩/∂T = (⟨E²⟩ − ⟨E⟩²)/T²"""

    @property
    def entropy(self) -> Numbers:
        """S = ln Z + ⟨E⟩/T in nats."""
        return np.asarray(self.log_partition + self.energy / self.temperature)


def thermodynamics(L: int, temperatures: Values, J: float = 1.0) -> Thermodynamics:
    """Exact ln Z, energy and heat capacity of the L×L torus at any temperatures, (…).

    J < 0 on even L is J > 0 with every second spin reversed. On odd L it is frustrated: there the
    sum over the density of states is used, up to L = 23.
    """
    J = checks.coupling(J)
    T = checks.temperatures("temperatures", temperatures, J)
    frustrated = is_frustrated(checks.side(L), J)
    if frustrated:
        checks.side(L, LIMIT, "an odd lattice with J < 0 is frustrated; take an even L, or J > 0")
    J, solve = (J, _from_states) if frustrated else (abs(J), _kaufman)
    K = J / T.reshape(-1)
    log_z, slope, curvature = solve(int(L), K)
    return Thermodynamics(
        temperature=T,
        log_partition=log_z.reshape(T.shape),
        energy=(-J * slope).reshape(T.shape),
        heat_capacity=(K**2 * curvature).reshape(T.shape),
    )


def _from_states(L: int, K: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """ln Z = ln Σ_E g(E) e^{−KE} with its first and second derivative in K, each (t,)."""
    energies, log_numbers = log_states(L)
    log_weights = log_numbers - K[:, None] * energies  # (t, energies)
    peak = log_weights.max(axis=1)
    weights = np.exp(log_weights - peak[:, None])
    total = weights.sum(axis=1)
    mean = weights @ energies / total
    variance = (weights * (energies - mean[:, None]) ** 2).sum(axis=1) / total
    return peak + np.log(total), -mean, variance


def log_states(L: int) -> tuple[Numbers, Numbers]:
    """Energies at J = 1 and ln g(E), each (energies,)."""
    states = density_of_states(L)
    return np.array(list(states), np.float64), np.array([log(g) for g in states.values()])


def _kaufman(L: int, K: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """ln Z with its first and second derivative in K > 0, each (t,).

    Derivatives run along τ = ln x = −2K until the end.
    """
    odd = np.pi * np.arange(1, 2 * L, 2) / L
    even = np.pi * np.arange(2, 2 * L, 2) / L
    scales, values, firsts, seconds = [], [], [], []
    for angles, sign in ((odd, 1), (odd, -1), (even, 1), (even, -1)):
        g, g1, g2 = _modes(L, K, angles, sign)
        z, z1, z2 = np.ones_like(K), np.zeros_like(K), np.zeros_like(K)
        if angles is even:
            log_scale, z, z1, z2 = _zero_mode(L, K, sign)
            g = g + log_scale
        # The sector is e^g z, and so are its derivatives, with these in place of z.
        scales.append(g)
        values.append(z)
        firsts.append(g1 * z + z1)
        seconds.append((g2 + g1**2) * z + 2 * g1 * z1 + z2)
    peak = np.max(scales, axis=0)
    weights = np.exp(np.array(scales) - peak)  # (sectors, t)
    total, first, second = ((weights * np.array(f)).sum(axis=0) for f in (values, firsts, seconds))
    slope = first / total
    curvature = np.maximum(second / total - slope**2, 0)  # rounding may leave −1e-20 at low T
    return 2 * L**2 * K + peak + np.log(total / 2), 2 * L**2 - 2 * slope, 4 * curvature


def _modes(L: int, K: Numbers, angles: Numbers, sign: int) -> tuple[Numbers, Numbers, Numbers]:
    """Σ_θ ln(q^{L/2} + sign (s²/q)^{L/2}) and its derivatives in τ, each (t,); θ is not 0."""
    K = K[:, None]
    x, y = np.exp(-2 * K), -np.expm1(-4 * K)  # y = 1 − x²
    cosine = np.cos(angles)
    s, s1, s2 = x * y, x - 3 * x**3, x - 9 * x**3
    w1, w2 = 2 * s * s1, 2 * (s1**2 + s * s2)  # of s²
    gap = (1 - 2 * x - x**2) ** 2 + 4 * np.sin(angles / 2) ** 2 * s  # p − 2s, without cancellation
    root = np.sqrt(gap * (gap + 4 * s))  # q − s²/q
    p = gap + 2 * s
    p1 = 4 * x**2 * (1 + x**2) - 2 * cosine * s1
    p2 = 8 * x**2 + 16 * x**4 - 2 * cosine * s2
    q = (p + root) / 2
    l1 = (p1 - w1 / q) / root  # of ln q
    l2 = (p2 - w2 / q + w1 * l1 / q - (p * p1 - 2 * w1) / root * l1) / root
    ratio = np.exp(L * (np.log(y) - 2 * K - np.log(q)))  # (s/q)^L
    r1 = L * (1 - 2 * x**2 / y - l1)  # of its logarithm
    r2 = L * (-4 * x**2 / y**2 - l2)
    part = sign * ratio / (1 + sign * ratio)
    value = L / 2 * np.log(q) + np.log1p(sign * ratio)
    first = L / 2 * l1 + part * r1
    second = L / 2 * l2 + part * r2 + part * (1 - part) * r1**2
    return value.sum(axis=1), first.sum(axis=1), second.sum(axis=1)


def _zero_mode(L: int, K: Numbers, sign: int) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """(1 − x)^L + sign (x(1 + x))^L and its derivatives in τ, as e^scale times three numbers."""
    x, rest = np.exp(-2 * K), -np.expm1(-2 * K)  # rest = 1 − x
    log_a, log_b = L * np.log(rest), L * (np.log1p(x) - 2 * K)
    scale = np.maximum(log_a, log_b)
    a, b = np.exp(log_a - scale), sign * np.exp(log_b - scale)
    a1, b1 = -L * x / rest, L * (1 + x / (1 + x))  # of the logarithms
    a2, b2 = -L * x / rest**2, L * x / (1 + x) ** 2
    return scale, a + b, a * a1 + b * b1, a * (a1**2 + a2) + b * (b1**2 + b2)
