"""A layer without an end equals a long layer of which the last units are idle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from vrbm.evaluation.path import path
from vrbm.evaluation.pruning import prune
from vrbm.training import window

UNITS, IDLE, MU = 4, 150, 0.4


@pytest.fixture(params=[vrbm.Spin(), vrbm.Binary()], ids=["spin", "binary"])
def pair(request):
    """The layer without an end, and the long one: e^(−μ·150) is nothing."""
    rng = np.random.default_rng(3)
    W, b, c = rng.normal(0, 1, (UNITS, 5)), rng.normal(0, 1, UNITS), rng.normal(0, 1, 5)
    units = {"visible": vrbm.Spin(), "hidden": request.param}
    endless = vrbm.GrandCanonicalRBM(W, b, c, potential=vrbm.Unbounded(MU), **units)
    W = np.concatenate([W, np.zeros((IDLE, 5))])
    b = np.concatenate([b, np.zeros(IDLE)])
    return endless, vrbm.GrandCanonicalRBM(W, b, c, potential=vrbm.Constant(MU), **units)


def test_energies_sizes_and_means(pair):
    endless, long = pair
    v = np.random.default_rng(0).choice([-1.0, 1.0], (20, 5))
    assert_allclose(endless.free_energy(v), long.free_energy(v), rtol=1e-12)
    assert_allclose(endless.size_survival(v), long.size_survival(v)[:, :UNITS], rtol=1e-12)
    assert_allclose(endless.mean_size(v), long.mean_size(v), rtol=1e-11)
    assert_allclose(endless.mean_hidden(v), long.mean_hidden(v)[:, :UNITS], rtol=1e-12)
    assert_allclose(endless.probable_size(v), long.probable_size(v))
    assert_allclose(endless.expected_free_energy(v), long.expected_free_energy(v), rtol=1e-11)
    assert_allclose(endless.free_energy_by_size(v), long.free_energy_by_size(v)[:, :UNITS])
    assert_allclose(endless.size_log_probabilities(v), np.log(endless.size_probabilities(v)))
    p = long.size_probabilities(v)
    assert_allclose(endless.size_probabilities(v)[:, :-1], p[:, : UNITS - 1], rtol=1e-12)
    assert_allclose(endless.size_probabilities(v)[:, -1], p[:, UNITS - 1 :].sum(axis=1), rtol=1e-12)


def test_normalization_and_gradient(pair):
    endless, long = pair
    assert_allclose(vrbm.exact.log_partition(endless), _log_z(long), rtol=1e-12)
    states = _states()
    p = np.exp(-np.asarray(long.free_energy(states)) - _log_z(long))
    found = vrbm.exact.moments(endless)
    assert_allclose(found.mean_size, p @ np.asarray(long.mean_size(states)), rtol=1e-11)
    priced = window.narrow(endless, endless.prices(), UNITS)
    assert_allclose(vrbm.exact.moments(priced).mean_size, found.mean_size, rtol=1e-12)
    v = jnp.ones((1, 5))

    def free_energy(model, W):
        return vrbm.GrandCanonicalRBM(
            W, model.b, model.c, model.visible, model.hidden, model.potential
        ).free_energy(v)[0]

    slopes = [jax.grad(lambda W, m=model: free_energy(m, W))(model.W) for model in pair]
    assert_allclose(slopes[0], slopes[1][:UNITS], rtol=1e-11)


def _states():
    return np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T


def _log_z(model):
    return jax.nn.logsumexp(-model.free_energy(_states()))


def test_the_annealing_path(pair):
    v = jnp.asarray(np.random.default_rng(0).choice([-1.0, 1.0], (20, 5)))
    at_0, between = [], []
    for model in pair:
        way = path(model)
        at_0.append(way.log_partition_at_0())
        between.append(way.log_weight(v, way.fields(v), jnp.asarray(0.6)))
    assert_allclose(*at_0, rtol=1e-12)
    assert_allclose(*between, rtol=1e-12)


def test_files_and_pruning(pair, tmp_path):
    endless, _ = pair
    vrbm.save(endless, tmp_path / "model")
    again = vrbm.load(tmp_path / "model")
    assert again.potential == endless.potential


def test_pruning(pair):
    """The layer with 40 units more that are hardly used."""
    endless, _ = pair
    W = np.concatenate([endless.W, np.random.default_rng(1).normal(0, 0.01, (40, 5))])
    more = vrbm.GrandCanonicalRBM(
        W, np.zeros(len(W)), endless.c, endless.visible, endless.hidden, endless.potential
    )
    v = _states()
    few = prune(more, v, tolerance=1e-3)
    assert few.max_hidden < 40
    assert_allclose(few.free_energy(v), more.free_energy(v), atol=1e-3)
    assert few.potential == more.potential
    assert prune(more).max_hidden == more.max_hidden


@pytest.mark.parametrize("mu", [0.0, -1.0, float("nan"), float("inf"), "1", jnp.array(-1)])
def test_only_positive_prices(mu):
    with pytest.raises(ValueError, match="mu is"):
        vrbm.Unbounded(mu)
