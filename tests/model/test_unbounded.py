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
KINDS = {
    "spin": (vrbm.Spin(), True),
    "binary": (vrbm.Binary(), True),
    "off": (vrbm.Binary(), False),
}


@pytest.fixture(params=KINDS)
def pair(request):
    """The layer without an end, and the long one: e^(−μ·150) is nothing, and e^(−40)."""
    hidden, absorb = KINDS[request.param]
    rng = np.random.default_rng(3)
    W, b, c = rng.normal(0, 1, (UNITS, 5)), rng.normal(0, 1, UNITS), rng.normal(0, 1, 5)
    units = {"visible": vrbm.Spin(), "hidden": hidden}
    potential = vrbm.Unbounded(MU, absorb_log2=absorb)
    endless = vrbm.GrandCanonicalRBM(W, b, c, potential=potential, **units)
    W = np.concatenate([W, np.zeros((IDLE, 5))])
    b = np.concatenate([b, np.full(IDLE, 0.0 if absorb else -40.0)])
    potential = vrbm.Constant(MU, absorb_log2=absorb)
    return endless, vrbm.GrandCanonicalRBM(W, b, c, potential=potential, **units)


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
    """Both ends of it; between them units that are off stay so in the layer without an end only."""
    v = jnp.asarray(np.random.default_rng(0).choice([-1.0, 1.0], (20, 5)))
    endless, long = map(path, pair)
    at_1 = endless.log_weight(v, endless.fields(v), jnp.ones(()))
    assert_allclose(at_1, -pair[0].free_energy(v), rtol=1e-12)
    steps = endless.model.hidden.cumulant(jnp.zeros(UNITS)) - endless.model.prices()
    sizes = np.logaddexp.reduce([*np.cumsum(steps)[:-1], np.sum(steps) - np.log1p(-np.exp(-MU))])
    assert_allclose(endless.log_partition_at_0(), 5 * np.log(2) + sizes, rtol=1e-12)
    if pair[0].potential.absorb_log2:
        assert_allclose(endless.log_partition_at_0(), long.log_partition_at_0(), rtol=1e-12)
        between = [way.log_weight(v, way.fields(v), jnp.asarray(0.6)) for way in (endless, long)]
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
    b = np.concatenate([np.zeros(UNITS), np.full(40, endless.potential.seed_bias)])
    more = vrbm.GrandCanonicalRBM(
        W, b, endless.c, endless.visible, endless.hidden, endless.potential
    )
    v = _states()
    few = prune(more, v, tolerance=1e-3)
    assert few.max_hidden < 40
    assert_allclose(few.free_energy(v), more.free_energy(v), atol=1e-3)
    assert few.potential == more.potential
    assert prune(more).max_hidden == more.max_hidden


def test_only_units_that_can_be_off_are_off():
    kept = vrbm.Unbounded(0.2, absorb_log2=False)
    assert np.log1p(np.exp(kept.seed_bias)) == pytest.approx(0.05)
    assert vrbm.Unbounded(5000.0, absorb_log2=False).seed_bias == 0
    assert vrbm.Unbounded(0.2).seed_bias == 0
    with pytest.raises(
        ValueError, match=r"hidden is Spin\(\), but units beyond .*: pass hidden=Bin"
    ):
        vrbm.GrandCanonicalRBM(np.ones((2, 2)), np.zeros(2), np.zeros(2), potential=kept)


@pytest.mark.parametrize("mu", [0.0, -1.0, float("nan"), float("inf"), "1", jnp.array(-1)])
def test_only_positive_prices(mu):
    with pytest.raises(ValueError, match="mu is"):
        vrbm.Unbounded(mu)
