import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ellipk, logsumexp

from tests.data.ising_reference import EXACT, TEMPERATURES, all_configurations
from vrbm.data import ising
from vrbm.data.ising.thermodynamics import _from_states, _kaufman
from vrbm.data.ising.transfer import _powers, _rows


@pytest.mark.parametrize("J", [1.0, -1.0, 0.6, -1.7])
@pytest.mark.parametrize("L", [2, 3, 4])
def test_enumeration(L, J):
    T = np.array([0.1, 0.5, 1.0, 2.269185, 5.0, 100.0])
    E = ising.energy(all_configurations(L), J)
    log_w = -E / T[:, None]
    log_z = logsumexp(log_w, axis=1)
    p = np.exp(log_w - log_z[:, None])
    mean = p @ E
    variance = (p * (E - mean[:, None]) ** 2).sum(axis=1)
    exact = ising.thermodynamics(L, T, J)
    np.testing.assert_allclose(exact.log_partition, log_z, rtol=1e-13)
    np.testing.assert_allclose(exact.energy, mean, rtol=1e-11)
    np.testing.assert_allclose(exact.heat_capacity, variance / T**2, rtol=1e-9, atol=1e-12)
    entropy = -(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(axis=1)
    np.testing.assert_allclose(exact.entropy, entropy, atol=1e-10)


@pytest.mark.parametrize("L", [4, 8])
def test_reference(L):
    exact = ising.thermodynamics(L, TEMPERATURES)
    N = L * L
    reference = list(EXACT[f"L{L}"].values())
    np.testing.assert_allclose(exact.log_partition, [r["lnZ"] for r in reference], rtol=1e-13)
    np.testing.assert_allclose(exact.energy / N, [r["e"] for r in reference], rtol=1e-12)
    np.testing.assert_allclose(exact.heat_capacity / N, [r["c"] for r in reference], rtol=1e-10)
    states = {E: int(g) for E, g in EXACT[f"dos_L{L}"].items()}
    assert {str(E): g for E, g in ising.density_of_states(L).items()} == states


@pytest.mark.parametrize("L", [2, 3, 5, 6, 7, 8, 9, 12, 15, 16])
def test_states_sum_to_all_and_agree_with_kaufman(L):
    states = ising.density_of_states(L)
    assert sum(states.values()) == 2 ** (L * L)
    assert list(states) == sorted(states)
    assert min(states) == -2 * L * L
    assert states[-2 * L * L] == 2
    if L % 2 == 0:
        assert {-E: g for E, g in states.items()} == states
    K = np.array([1e-3, 0.1, 0.3, np.log1p(2**0.5) / 2, 0.5, 1.0, 10.0])
    for counted, product in zip(_from_states(L, K), _kaufman(L, K), strict=True):
        np.testing.assert_allclose(product, counted, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("L", [5, 7])
def test_frustrated_lattice_against_the_trace(L):
    V = _powers(_rows(L), -1 / 0.8)[0]
    scale = 2 * L - 2  # the largest exponent: one bond of each odd ring is not satisfied
    log_z = np.log(np.trace(np.linalg.matrix_power(V, L))) + L * scale / 0.8
    np.testing.assert_allclose(ising.thermodynamics(L, 0.8, -1.0).log_partition, log_z, rtol=1e-13)


@pytest.mark.parametrize("L", [33, 64])
def test_derivatives(L):
    T, h = np.array([1.0, 2.0, 2.269, 2.3, 4.0]), 1e-5
    exact = ising.thermodynamics(L, T)
    ahead, behind = ising.thermodynamics(L, T + h), ising.thermodynamics(L, T - h)
    slope = T**2 * (ahead.log_partition - behind.log_partition) / (2 * h)
    np.testing.assert_allclose(exact.energy, slope, rtol=1e-6)
    slope = (ahead.energy - behind.energy) / (2 * h)
    np.testing.assert_allclose(exact.heat_capacity, slope, rtol=1e-5)


def test_infinite_lattice():
    """Onsager's free energy and energy, which the torus nears exponentially away from T_c."""
    T = 3.0
    K = 1 / T
    k = 2 * np.sinh(2 * K) / np.cosh(2 * K) ** 2
    integral = quad(lambda a: np.log((1 + np.sqrt(1 - (k * np.sin(a)) ** 2)) / 2), 0, np.pi / 2)[0]
    free = np.log(2 * np.cosh(2 * K)) + integral / np.pi
    energy = -(1 + 2 / np.pi * (2 * np.tanh(2 * K) ** 2 - 1) * ellipk(k**2)) / np.tanh(2 * K)
    exact = ising.thermodynamics(200, T)
    np.testing.assert_allclose(exact.log_partition / 200**2, free, rtol=1e-12)
    np.testing.assert_allclose(exact.energy / 200**2, energy, rtol=1e-12)


@pytest.mark.parametrize("J", [1.0, -1.0])
@pytest.mark.parametrize("L", [2, 8, 100])
def test_extreme_temperatures(L, J):
    exact = ising.thermodynamics(L, [1e-40, 1e-3, 0.1, 1e9, 1e40], J)
    N = L * L
    np.testing.assert_allclose(exact.energy[:3], -2 * N, rtol=1e-14)
    np.testing.assert_allclose(exact.log_partition[:3], 2 * N / exact.temperature[:3] + np.log(2))
    np.testing.assert_allclose(exact.log_partition[3:], N * np.log(2), rtol=1e-14)
    free_bonds = (4 if L == 2 else 2) * N / exact.temperature[3:] ** 2  # double bonds at L = 2
    np.testing.assert_allclose(exact.heat_capacity[3:], free_bonds, rtol=1e-6)
    assert (exact.heat_capacity >= 0).all()
    assert (exact.heat_capacity[:3] < 1e-15).all()


def test_shapes_follow_the_temperatures():
    exact = ising.thermodynamics(4, np.ones((2, 3)))
    assert exact.energy.shape == exact.log_partition.shape == exact.heat_capacity.shape == (2, 3)
    assert ising.thermodynamics(4, 1.0).energy.shape == ()


@pytest.mark.parametrize(("L", "J"), [(2, 1.0), (3, -0.8), (4, -1.0)])
def test_probabilities_sum_to_one(L, J):
    v = all_configurations(L)
    T = [0.1, 1.0, 3.0]
    np.testing.assert_allclose(np.exp(ising.log_probability(v, 1.5, J)).sum(), 1)
    log_p = ising.mixture_log_probability(v, T, J)
    assert ising.mixture_log_probability(v[0], T, J) == log_p[0]
    parts = [np.exp(ising.log_probability(v, t, J)) for t in T]
    np.testing.assert_allclose(np.exp(log_p), np.mean(parts, axis=0))
    np.testing.assert_allclose(np.exp(log_p) @ log_p, ising.highest_log_likelihood(L, T, J))


@pytest.mark.parametrize("J", [1.0, -1.0])
def test_entropy_of_the_papers_mixture(J):
    found = ising.highest_log_likelihood(8, ising.PAPER_TEMPERATURES, J)
    np.testing.assert_allclose(found, EXACT["mixture_T0.1_to_4.5_L8"], rtol=1e-13)


def test_entropy_of_one_temperature():
    for T, reference in EXACT["optimal_mean_loglik_L8"].items():
        found = ising.highest_log_likelihood(8, [float(T)])
        np.testing.assert_allclose(found, reference, rtol=1e-11)
        np.testing.assert_allclose(-ising.thermodynamics(8, float(T)).entropy, found, rtol=1e-11)
