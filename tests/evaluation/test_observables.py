import numpy as np
import pytest

from tests.data.ising_reference import EXACT, all_configurations
from tests.evaluation.hand_made import chains, ising_rbm
from vrbm.data import ising
from vrbm.evaluation.mixing import mixing_diagnostics
from vrbm.evaluation.observables import compare_with_ising, exact_ising, ising_observables


@pytest.mark.parametrize(("L", "temperature"), [("4", "2.269185"), ("8", "2.5")])
def test_exact_values_are_the_reference(L, temperature):
    reference = EXACT[f"L{L}"][temperature]
    T, N = float(temperature), int(L) ** 2
    found = exact_ising(int(L), T)
    expected = {
        "energy": reference["e"],
        "heat_capacity": reference["c"],
        "energy_variance": reference["c"] * T**2,
        "abs_magnetization": reference["absm"],
        "m2": reference["m2"],
        "susceptibility": N * reference["m2"] / T,
        "connected_susceptibility": N * (reference["m2"] - reference["absm"] ** 2) / T,
        **{f"correlation_{r + 1}": C for r, C in enumerate(reference["C_row"])},
    }
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("L", "J"), [(2, 1.0), (3, 1.0), (3, -0.8), (4, -1.0)])
def test_exact_order_by_enumeration(L, J):
    s, N = all_configurations(L), L * L
    for T in (0.05, 0.7, 2.0):
        E = ising.energy(s, J)
        p = np.exp(-(E - E.min()) / T)
        p /= p.sum()
        up = (s == 1).sum(axis=1)
        np.testing.assert_allclose(
            ising.magnetization_probabilities(L, T, J), np.bincount(up, p, N + 1), atol=1e-13
        )
        np.testing.assert_allclose(
            ising.exact_row_correlation(L, T, J), p @ ising.row_correlation(s), atol=1e-12
        )


def test_a_mixture_of_temperatures():
    """Against the average over all configurations at L = 3."""
    T, s = np.array([0.8, 2.0, 4.0]), all_configurations(3)
    p = np.exp(ising.mixture_log_probability(s, T))
    E, m = ising.energy(s) / 9, np.abs(ising.magnetization(s))
    found = exact_ising(3, T)
    expected = {
        "energy": p @ E,
        "energy_variance": 9 * (p @ E**2 - (p @ E) ** 2),
        "abs_magnetization": p @ m,
        "m2": p @ m**2,
        "correlation_1": p @ ising.row_correlation(s)[:, 1],
    }
    assert found == pytest.approx(expected)


def test_large_lattices_have_exact_energies_only():
    found = compare_with_ising(np.ones((3, 144)), 1.0)
    assert found["energy"].exact == pytest.approx(ising.thermodynamics(12, 1.0).energy / 144)
    assert found["abs_magnetization"].exact is found["abs_magnetization"].deviation is None


@pytest.mark.parametrize("T", [2.0, 2.269185, 3.5])
def test_samples_of_an_ising_model_built_by_hand(T):
    """L = 4: all values within 4 standard errors; false failures about 9 × 6e-5 each."""
    samples = chains(ising_rbm(4, 1 / T), n=200, steps=1500, burn_in=500, seed=round(10 * T))
    found = compare_with_ising(samples, T)
    assert len(found) == 9
    for name, value in found.items():
        assert abs(value.deviation) < 4, (name, value)
        assert value.error < 0.05 * abs(value.exact), (name, value)
    diagnostics = mixing_diagnostics(ising.energy(samples))
    assert diagnostics.r_hat < 1.02
    assert diagnostics.autocorrelation_time > 2
    naive = np.std(ising.energy(samples)) / 16 / np.sqrt(samples[..., 0].size)
    ratio = found["energy"].error / naive
    assert ratio == pytest.approx(diagnostics.autocorrelation_time**0.5, rel=0.01)


def test_independent_draws_in_either_coding():
    """Exact draws, n rows: within 4 standard errors, and 0/1 gives the same as ±1."""
    s = ising.exact_draws(4, 2.5, 4000, seed=1)
    found = compare_with_ising(s, [2.5])
    for name, value in found.items():
        assert abs(value.deviation) < 4, (name, value)
    assert ising_observables((s + 1) // 2, 2.5) == ising_observables(s, 2.5)
    E = ising.energy(s) / 16
    assert found["energy"].error == pytest.approx(E.std(ddof=1) / 4000**0.5)
    assert found["heat_capacity"].value == pytest.approx(16 * E.var(ddof=1) / 2.5**2)


def test_a_wrong_temperature_is_seen():
    s = ising.exact_draws(4, 2.4, 4000, seed=1)
    assert abs(compare_with_ising(s, 2.6)["energy"].deviation) > 5


def test_complaints():
    with pytest.raises(ValueError, match="independent"):
        ising_observables(np.ones(16), 1.0)


def test_lattices_too_large_for_exact_order():
    with pytest.raises(ValueError, match="limit here is 11"):
        ising.magnetization_probabilities(12, 2.0)
    with pytest.raises(ValueError, match="limit here is 9"):
        ising.exact_row_correlation(11, 2.0, -1.0)
