"""Pruned models have the F(v) of the whole one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import vrbm
from vrbm.data import ising
from vrbm.evaluation.pruning import prune, to_fixed
from vrbm.training import Config, Optimizer, train


@eqx.filter_jit
def free_energy(model, v):
    return model.free_energy(v)


def with_idle_units(potential, idle=0.0, n=6, busy=5, k=80, hidden=None, visible=None, seed=0):
    """A few busy units, and many whose weights are `idle` times as large."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(k, n))
    W[busy:] *= idle
    b = rng.normal(size=k) * 0.3
    b[busy:] *= 0.1
    return vrbm.GrandCanonicalRBM(
        W, b, rng.normal(size=n), visible or vrbm.Spin(), hidden or vrbm.Spin(), potential
    )


def own_price(W, b):
    return 0.8 + b**2


def shared_price(W, b):
    return 1.0 + jnp.abs(b) + jnp.abs(b).sum() / 100


POTENTIALS = {
    "absorbed": vrbm.Penalizing(),
    "kept": vrbm.Penalizing(absorb_log2=False),
    "constant": vrbm.Constant(0.7),
    "local": vrbm.Local(1.5),
    "own price": own_price,
    "shared price": shared_price,
}


@pytest.mark.parametrize(
    ("name", "hidden", "idle"),
    [
        *[(name, vrbm.Spin(), 0.01) for name in POTENTIALS],
        ("absorbed", vrbm.Binary(), 0.01),
        ("local", vrbm.Binary(), 0.0),
        ("constant", vrbm.Spin(), 0.0),
    ],
)
def test_without_data_every_v_keeps_its_free_energy(name, hidden, idle):
    model = with_idle_units(POTENTIALS[name], idle, hidden=hidden)
    v = vrbm.exact.states(model.visible, 6)
    small = prune(model)
    assert small.max_hidden < model.max_hidden
    F, F_small = np.asarray(free_energy(model, v)), np.asarray(free_energy(small, v))
    assert (F_small - F).min() > -1e-12
    assert (F_small - F).max() <= 1e-6
    log_p, log_p_small = -F - logsumexp(-F), -F_small - logsumexp(-F_small)
    np.testing.assert_allclose(log_p_small, log_p, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(small.prices(), model.prices()[: small.max_hidden])
    assert prune(model, tolerance=1e-2).max_hidden < small.max_hidden


def test_the_bound_is_not_wasteful():
    """At most a few units more than the least that would do for every v."""
    model = with_idle_units(vrbm.Penalizing())
    v = vrbm.exact.states(model.visible, 6)
    survival = np.asarray(model.size_survival(v)).max(axis=0)
    least = int((-np.log1p(-survival[1:]) > 1e-5).sum()) + 1
    assert least <= prune(model, tolerance=1e-5).max_hidden <= least + 4


def test_with_data_rows_keep_their_free_energy():
    """Units that only other v would use are dropped too."""
    model = with_idle_units(vrbm.Penalizing(), 0.01)
    W = model.W.at[30].set(-np.sign(np.asarray(model.c)) * 20)
    model = vrbm.GrandCanonicalRBM(W, model.b, model.c)
    states = vrbm.exact.states(model.visible, 6)
    size = np.asarray(model.mean_size(states))
    rows = states[size < 20]
    assert 0 < len(rows) < 64
    small = prune(model, rows)
    assert small.max_hidden < 30 < prune(model).max_hidden
    np.testing.assert_allclose(
        free_energy(small, rows), free_energy(model, rows), rtol=0, atol=1e-5
    )
    assert np.abs(free_energy(small, states) - free_energy(model, states)).max() > 1


def test_an_ordinary_rbm_loses_units_without_weights():
    model = with_idle_units(vrbm.FixedSize())
    order = np.random.default_rng(1).permutation(80)
    assert order[0] >= 5
    model = vrbm.GrandCanonicalRBM(
        model.W[order].at[0].add(1e-8), model.b[order], model.c, potential=vrbm.FixedSize()
    )
    small = prune(model)
    assert small.max_hidden == 5
    assert small.potential == vrbm.FixedSize()
    v = vrbm.exact.states(model.visible, 6)
    assert np.ptp(free_energy(small, v) - free_energy(model, v)) < 1e-5
    assert prune(model, tolerance=0.0).max_hidden == 6
    idle = vrbm.GrandCanonicalRBM(
        np.zeros((4, 2)), np.ones(4), np.zeros(2), potential=vrbm.FixedSize()
    )
    assert prune(idle).max_hidden == 1


def test_nothing_to_drop():
    model = with_idle_units(vrbm.Penalizing(), k=5)
    assert prune(model).max_hidden == 5
    negative = with_idle_units(vrbm.Constant(-0.5))
    assert prune(negative).max_hidden == 80
    one = vrbm.GrandCanonicalRBM([[1.0]], [0.0], [0.0])
    assert prune(one).max_hidden == prune(one, [[1.0]]).max_hidden == 1


def test_a_pruned_model_is_saved_and_pruned_again(tmp_path):
    model = with_idle_units(vrbm.Penalizing(absorb_log2=False), 0.01)
    small = prune(model)
    vrbm.save(small, tmp_path / "small.safetensors")
    again = vrbm.load(tmp_path / "small.safetensors")
    np.testing.assert_array_equal(again.prices(), small.prices())
    assert prune(again).max_hidden <= small.max_hidden
    assert isinstance(again.potential, vrbm.Constant)


@pytest.mark.parametrize("dtype", [pytest.param(jnp.float64, marks=pytest.mark.slow), jnp.float32])
def test_a_trained_model(dtype):
    """Ising data: F(v) of the data is kept to 1e-5, the rounding in float32 included."""
    rows = np.concatenate([ising.exact_draws(4, T, 500, seed=1) for T in (1.0, 2.0, 3.0, 4.0)])
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), 16, 300, data=rows, weight_scale=1e-3, dtype=dtype
    )
    config = Config.paper(epochs=10, window=False, optimizer=Optimizer.paper(learning_rate=0.1))
    *_, record = train(model, rows, config, jax.random.key(1))
    model = record.state.model
    for small in (prune(model), prune(model, rows)):
        assert small.max_hidden < 100
        change = np.asarray(free_energy(small, rows) - free_energy(model, rows), np.float64)
        assert np.ptp(change) <= 1e-5


@pytest.mark.parametrize("name", ["absorbed", "local"])
def test_to_fixed(name):
    """F of the ordinary RBM is F(v, z) up to a constant."""
    model = with_idle_units(POTENTIALS[name], 0.3, k=9)
    v = vrbm.exact.states(model.visible, 6)
    by_size = model.free_energy_by_size(v)
    for z in (1, 4, 9):
        fixed = to_fixed(model, z)
        assert fixed.max_hidden == z
        assert np.ptp(free_energy(fixed, v) - by_size[:, z - 1]) < 1e-12
    for wrong in (0, 10):
        with pytest.raises(ValueError, match="z is"):
            to_fixed(model, wrong)
