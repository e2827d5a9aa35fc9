import numpy as np
import pytest
from scipy.stats import chisquare

from tests.data.ising_reference import (
    EXACT,
    TEMPERATURES,
    all_configurations,
    deviations,
    energy_p_value,
)
from vrbm.data import ising
from vrbm.data.ising.lattice import checkerboard
from vrbm.data.ising.transfer import _powers, _rows


def index(v: np.ndarray) -> np.ndarray:
    """The place of each configuration in `all_configurations`."""
    return (v < 0) @ (1 << np.arange(v.shape[1] - 1, -1, -1))


@pytest.mark.parametrize("J", [1.0, -1.0])
@pytest.mark.parametrize("L", [2, 3])
def test_every_configuration_as_often_as_it_should(L, J):
    """False-failure rate 1e-4 for each of four cases; the seed is fixed."""
    n, T = 100_000, 6.0
    v = ising.exact_draws(L, T, n, J=J, seed=1)
    p = np.exp(ising.log_probability(all_configurations(L), T, J))
    assert p.min() * n > 5
    assert chisquare(np.bincount(index(v), minlength=p.size), p * n).pvalue > 1e-4


@pytest.mark.parametrize("J", [1.0, -1.0])
def test_every_energy_as_often_as_it_should(J):
    """False-failure rate 1e-4 for each of two cases; 5×5 with J < 0 is frustrated."""
    n, T, L = 50_000, 2.0, 5
    v = ising.exact_draws(L, T, n, J=J, seed=2)
    assert energy_p_value(v, T, J) > 1e-4


def test_same_seed_same_draws():
    first, again, other = (ising.exact_draws(4, 2.0, 50, seed=s) for s in (3, 3, 4))
    assert first.dtype == np.int8
    assert first.shape == (50, 16)
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("T", [1e-9, 0.01, 0.1])
@pytest.mark.parametrize("J", [1.0, -1.0])
@pytest.mark.parametrize("L", [2, 3, 8, 9, 10])
def test_cold_lattices_are_in_their_ground_states(L, J, T):
    v = ising.exact_draws(L, T, 64, J=J)
    defects = 2 * L if J < 0 and L % 2 else 0
    assert (ising.energy(v, J) == -2 * L**2 + 2 * defects).all()
    assert len(np.unique(v, axis=0)) > 1
    if not defects:
        order = v * (checkerboard(L) if J < 0 else 1)
        assert 10 < (order.sum(axis=1) > 0).sum() < 54  # both signs; false failures: 1e-8


def test_frustrated_ground_states_are_drawn_evenly():
    """False-failure rate 1e-4; the seed is fixed."""
    v = all_configurations(3)
    ground = np.flatnonzero(ising.energy(v, -1.0) == -18 + 2 * 6)
    found = np.bincount(index(ising.exact_draws(3, 0.01, 20_000, J=-1.0)), minlength=512)[ground]
    assert found.sum() == 20_000
    assert chisquare(found).pvalue > 1e-4


@pytest.mark.parametrize("K", [1e-6, 0.4, 10.0, 20.0, -20.0])
def test_powers_stay_finite(K):
    for power in _powers(_rows(9), K):
        assert np.isfinite(power).all()
        assert power.max() == 1


def test_correlations_in_both_directions():
    """Along rows and along columns; within 4 standard errors, 8 numbers: 5e-4 false failures."""
    n, T = 20_000, "2.5"
    v = ising.exact_draws(8, float(T), n, seed=5)
    for w in (v, v.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 64)):
        c = ising.row_correlation(w)[:, 1:]
        error = c.std(axis=0) / n**0.5
        assert (np.abs(c.mean(axis=0) - EXACT["L8"][T]["C_row"]) < 4 * error).all()


def check_against_reference(n: int) -> None:
    for T in TEMPERATURES:
        v = ising.exact_draws(8, T, n, seed=6)
        found = deviations(v, T, n, EXACT["L8"][str(T)])
        print(f"exact, T = {T}:", {k: f"{d:+.2f}" for k, d in found.items()})
        assert max(map(abs, found.values())) < 4, (T, found)


def test_reference():
    """36 numbers within 4 standard errors: false-failure rate 0.2 %, with a fixed seed."""
    check_against_reference(5_000)


@pytest.mark.slow
def test_reference_with_100_000_draws():
    """36 numbers within 4 standard errors: false-failure rate 0.2 %, with a fixed seed."""
    check_against_reference(100_000)


def test_larger_lattice():
    """Two numbers within 4 standard errors: false-failure rate 1e-4, with a fixed seed."""
    n, T = 2_000, 2.3
    v = ising.exact_draws(10, T, n, J=-1.0, seed=7)
    exact = ising.thermodynamics(10, T, -1.0)
    E = ising.energy(v, -1.0)
    assert abs(E.mean() - exact.energy) < 4 * E.std() / n**0.5
    c = (E - E.mean()) ** 2 / T**2
    assert abs(c.mean() - exact.heat_capacity) < 4 * c.std() / n**0.5
