import numpy as np
import pytest

from tests.data.ising_reference import all_configurations, bond_by_bond
from vrbm.data import ising
from vrbm.data.ising import checks
from vrbm.data.ising.lattice import checkerboard, is_frustrated


@pytest.mark.parametrize("J", [1.0, -0.7])
@pytest.mark.parametrize("L", [2, 3, 5])
def test_energy_counts_each_bond_once(L, J):
    v = np.random.default_rng(0).choice([-1, 1], (20, L * L))
    np.testing.assert_allclose(ising.energy(v, J), [bond_by_bond(row, L, J) for row in v])


def test_ordered_states_have_the_lowest_energy():
    assert ising.energy(np.ones(64, np.int8)) == -128
    assert ising.energy(checkerboard(8), -1.0) == -128
    assert not is_frustrated(8, -1.0)
    assert is_frustrated(3, -1.0)
    # Each of the 2L rings has an odd length, hence one bond that is not satisfied.
    assert ising.energy(all_configurations(3), -1.0).min() == -18 + 2 * 6


def test_one_lattice_or_many():
    v = np.random.default_rng(0).choice([-1, 1], (2, 3, 16))
    assert ising.energy(v).shape == ising.magnetization(v).shape == (2, 3)
    assert ising.row_correlation(v).shape == (2, 3, 3)
    assert ising.magnetization(np.ones(16)) == 1


def test_row_correlation():
    v = np.random.default_rng(0).choice([-1, 1], (4, 5, 5))
    correlation = ising.row_correlation(v.reshape(4, 25))
    for r in range(3):
        direct = [[s[a, b] * s[a, (b + r) % 5] for a in range(5) for b in range(5)] for s in v]
        np.testing.assert_allclose(correlation[:, r], np.mean(direct, axis=1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ising.energy(np.zeros(16)), r"holds 0.0: pass spins ±1"),
        (lambda: ising.energy(np.full(16, np.nan)), "holds nan: pass spins"),
        (lambda: ising.energy(np.ones(15)), r"shape \(15,\): pass lattices"),
        (lambda: ising.energy(np.ones(1)), r"shape \(1,\): pass lattices"),
        (lambda: ising.energy(np.ones(16), 0.0), "J is 0"),
        (lambda: ising.energy(np.ones(16), float("nan")), "J is nan: pass a finite"),
        (lambda: ising.thermodynamics(1, 1.0), "L is 1: pass the side"),
        (lambda: ising.thermodynamics(8, 0.0), "temperatures holds 0: pass finite"),
        (lambda: ising.thermodynamics(8, [1.0, np.inf]), "temperatures holds inf"),
        (lambda: ising.thermodynamics(8, []), "temperatures is empty"),
        (lambda: ising.thermodynamics(8, 1e60), r"\|J\|/T lies between"),
        (lambda: ising.thermodynamics(25, 1.0, -1.0), "25, and the limit here is 24.*frustrated"),
        (lambda: ising.density_of_states(25), r"limit here is 24: use thermodynamics\(\)"),
        (lambda: ising.exact_draws(12, 1.0, 1), "limit here is 11: use swendsen_wang"),
        (lambda: ising.exact_draws(8, 1.0, 0), "n is 0: pass a whole number"),
        (lambda: ising.metropolis_draws(5, 1.0, 1), "L is 5, and a checkerboard .* even L"),
        (lambda: ising.swendsen_wang_draws(5, 1.0, 1, chains=0), "chains is 0: pass"),
        (lambda: ising.mixture_set(4, [1.0], 0, 1), "n_train is 0: pass"),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_one_temperature_where_one_is_asked_for():
    with pytest.raises(ValueError, match=r"temperature has shape \(2,\): pass one number"):
        checks.temperature([1.0, 2.0], 1.0)


def test_bonds_make_the_energy():
    """Also at L = 2, where two spins share two bonds."""
    rng = np.random.default_rng(0)
    for L in (2, 3, 5):
        s = 2 * rng.integers(0, 2, (10, L * L)) - 1
        i, j = ising.bonds(L).T
        assert len(i) == 2 * L * L
        np.testing.assert_array_equal(-(s[:, i] * s[:, j]).sum(axis=1), ising.energy(s))
