import jax
import numpy as np
import pytest

import vrbm
from tests.data.ising_reference import all_configurations
from tests.evaluation.hand_made import ising_rbm
from vrbm.data import ising
from vrbm.evaluation import exact_ising, weighted_ising

T = np.array([1.5, 2.5, 4.0])


def draws(L, n, seed=3):
    return ising.mixture_set(L, T, n_train=n, n_test=1, seed=seed).train


def enumerated(model, L):
    """Observables and log Z of a model, by all configurations."""
    s, N = all_configurations(L), L * L
    log_p = -np.asarray(model.free_energy(s), np.float64)
    log_Z = np.logaddexp.reduce(log_p)
    p = np.exp(log_p - log_Z)
    E, m = ising.energy(s) / N, np.abs(ising.magnetization(s))
    return {
        "energy": p @ E,
        "energy_variance": N * (p @ E**2 - (p @ E) ** 2),
        "abs_magnetization": p @ m,
        "m2": p @ m**2,
        **{f"correlation_{r}": p @ ising.row_correlation(s)[:, r] for r in range(1, L // 2 + 1)},
    }, log_Z


def test_a_random_model_by_enumeration():
    """Of 30 sets of draws the values scatter around the enumerated ones by the stated errors."""
    key = jax.random.key(0)
    model = vrbm.GrandCanonicalRBM.initialize(
        key, 9, 12, weight_scale=0.2, potential=vrbm.Constant(mu=0.1)
    )
    expected, log_Z = enumerated(model, 3)
    found = [weighted_ising(model, draws(3, 3000, seed), T) for seed in range(30)]
    for name, value in expected.items():
        off = [(w.observables[name].value - value) / w.observables[name].error for w in found]
        assert abs(np.mean(off)) < 4 / 30**0.5, name
        assert 0.6 < np.std(off) < 1.4, name
    off = [(w.log_partition.value - log_Z) / w.log_partition.error for w in found]
    assert abs(np.mean(off)) < 4 / 30**0.5
    assert 0.6 < np.std(off) < 1.4


def test_an_exact_model_has_exact_values():
    """All weights are equal where the mixture is one temperature and the model is that law."""
    model = ising_rbm(4, 1 / 2.5)
    v = ising.exact_draws(4, 2.5, 500, seed=1)
    found = weighted_ising(model, v, 2.5)
    exact = exact_ising(4, 2.5)
    assert found.share == pytest.approx(1, abs=1e-6)
    for name, value in found.observables.items():
        assert value.value == pytest.approx(exact[name], abs=1e-5)
        assert value.exact == exact[name]
        assert value.error < 1e-5


def test_a_foreign_model_has_a_small_share():
    model = ising_rbm(8, -1.0)
    assert weighted_ising(model, draws(8, 1000), T).share < 0.01


def test_draws_may_be_0_and_1():
    model = ising_rbm(4, 0.3)
    v = draws(4, 50)
    assert weighted_ising(model, (v + 1) // 2, T) == weighted_ising(model, v, T)


@pytest.mark.parametrize(
    ("v", "message"),
    [
        (np.ones(16), r"draws has shape \(16,\)"),
        (np.ones((1, 16)), r"draws has shape \(1, 16\)"),
        (np.full((3, 16), 0.5), "draws"),
        (np.ones((3, 144)), "side 12"),
    ],
)
def test_what_cannot_be_weighted_is_refused(v, message):
    with pytest.raises(ValueError, match=message):
        weighted_ising(ising_rbm(4, 0.3), v, T)
