"""Stiff directions against eigenvectors of a dense covariance, and what they do to a training."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from tests.data.ising_reference import all_configurations
from vrbm.data import ising
from vrbm.training import Config, Optimizer, Persistent, stiffness, train
from vrbm.training.gradient import Parameters

KEY = jax.random.key(4)
K, N, CHAINS = 6, 5, 40


@pytest.fixture
def chains():
    rng = np.random.default_rng(0)
    common = rng.choice([-1.0, 1.0], CHAINS)[:, None]
    h = np.tanh(common + 0.3 * rng.normal(size=(CHAINS, K)))
    v = common * rng.choice([-1.0, 1.0], (CHAINS, N), p=[0.2, 0.8])
    return jnp.asarray(h), jnp.asarray(v)


def flat(u):
    return np.concatenate([np.ravel(part) for part in u])


def model_of(units=K):
    return vrbm.GrandCanonicalRBM.initialize(KEY, N, units, dtype=jnp.float64)


def covariance(h, v, v_offset=0.0, h_offset=0.0):
    outer = (h - h_offset)[:, :, None] * (v - v_offset)[:, None, :]
    s = np.concatenate([outer.reshape(len(h), -1), h, v], axis=1)
    return np.cov(s.T, bias=True)


def iterated(stiff, *arguments, steps=6000):
    return jax.lax.fori_loop(0, steps, lambda _, s: stiffness.followed(s, *arguments), stiff)


@pytest.mark.parametrize("is_centred", [False, True])
def test_they_are_the_leading_eigenvectors(chains, is_centred):
    h, v = chains
    offsets = (jnp.linspace(-0.5, 0.5, N), jnp.linspace(0.3, -0.2, K)) if is_centred else ()
    values, vectors = np.linalg.eigh(covariance(h, v, *offsets))
    found = iterated(stiffness.start(model_of(), 2, KEY), h, v, *offsets)
    assert_allclose(found.curvatures, values[[-1, -2]], rtol=1e-4)
    for number, u in enumerate(found.directions):
        assert abs(flat(u) @ vectors[:, -1 - number]) == pytest.approx(1, abs=1e-4)


def test_a_window_is_units_that_are_nothing(chains):
    h, v = chains
    padded = jnp.pad(h, ((0, 0), (0, 3)))
    begin = stiffness.start(model_of(K + 3), 2, KEY)
    narrow = stiffness.followed(begin, h, v, jnp.zeros(N), jnp.zeros(K + 3))
    full = stiffness.followed(begin, padded, v)
    for mine, theirs in zip(jax.tree.leaves(narrow), jax.tree.leaves(full), strict=True):
        assert_allclose(mine, theirs, atol=1e-12)


def test_the_gradient_is_shortened_along_them_alone(chains):
    stiff = iterated(stiffness.start(model_of(), 2, KEY), *chains)
    rng = np.random.default_rng(1)
    g = Parameters(*(jnp.asarray(rng.normal(size=shape)) for shape in ((K, N), (K,), (N,))))
    rate = 0.3
    U = np.stack([flat(u) for u in stiff.directions], axis=1)
    kept = np.minimum(1, stiffness.MOST / (rate * np.asarray(stiff.curvatures)))
    assert (kept < 1).all()
    expected = flat(g) - U @ ((1 - kept) * (U.T @ flat(g)))
    assert_allclose(flat(stiffness.damped(g, stiff, rate)), expected, atol=1e-12)


def test_soft_directions_are_left_alone(chains):
    stiff = iterated(stiffness.start(model_of(), 2, KEY), *chains)
    g = Parameters(jnp.ones((K, N)), jnp.ones(K), jnp.ones(N))
    for mine, theirs in zip(stiffness.damped(g, stiff, 1e-6), g, strict=True):
        assert_array_equal(mine, theirs)


def test_the_first_ones_are_orthonormal():
    U = np.stack([flat(u) for u in stiffness.start(model_of(), 4, KEY).directions])
    assert_allclose(U @ U.T, np.eye(4), atol=1e-12)
    assert stiffness.start(model_of(), 0, KEY) is None


def test_other_numbers_of_units():
    stiff = stiffness.start(model_of(), 1, KEY)
    (u,), (more,), (less,) = (
        stiffness.resized(stiff, units, kept).directions
        for units, kept in ((K, np.arange(K)), (K + 2, np.arange(K)), (K - 2, np.array([3, 0])))
    )
    assert_array_equal(more.W[:K], u.W)
    assert_array_equal(more.b[K:], 0)
    assert_array_equal(less.W[:2], u.W[np.array([3, 0])])
    assert_array_equal(less.W[2:], 0)
    assert stiffness.resized(None, 3, np.arange(3)) is None


def test_phases_keep_their_share():
    """At a rate at which the model swings between order and disorder it stays near the data."""
    s = all_configurations(4)
    order = jnp.asarray(np.abs(ising.magnetization(s)), jnp.float32)
    states = jnp.asarray(s, jnp.float32)
    exact = eqx.filter_jit(lambda model: jax.nn.softmax(-model.free_energy(states)) @ order)
    data = ising.mixture_set(4, [0.5, 1.0, 6.0, 8.0], n_train=2000, n_test=1, seed=1).train
    expected = np.abs(ising.magnetization(data)).mean()
    config = Config.paper(
        epochs=50,
        negative=Persistent(k=1, chains=200),
        optimizer=Optimizer.paper("sgd", 0.1),
        centred=True,
        monitor_rows=10,
    )
    model = vrbm.GrandCanonicalRBM.initialize(
        KEY, 16, 24, weight_scale=0.01, data=data, potential=vrbm.Constant(0.1)
    )
    errors = {}
    for stiff in (0, 2):
        records = train(model, data, replace(config, stiff=stiff), KEY)
        found = [float(exact(record.state.model)) for record in records if record.epoch > 20]
        errors[stiff] = np.sqrt(np.mean((np.array(found) - expected) ** 2))
    assert errors[0] > 0.1
    assert errors[2] < 0.04


def test_an_optimizer_of_ones_own_is_refused():
    data = np.ones((10, N))
    config = Config.paper(negative=Persistent(), optimizer=Optimizer.paper("sgd"), stiff=1)
    with pytest.raises(ValueError, match="stiff is 1, which needs the rate"):
        train(model_of(), data, config, KEY, optimizer=optax.sgd(0.1))


def test_a_training_goes_on_with_as_many_as_it_began_with():
    data = np.random.default_rng(0).choice([-1, 1], (200, N))
    config = Config.paper(
        epochs=1, negative=Persistent(1, 20), optimizer=Optimizer.paper("sgd"), monitor_rows=10
    )
    (record,) = train(model_of(), data, replace(config, stiff=1), KEY)
    with pytest.raises(ValueError, match="stiff is 0, but the state was begun with 1"):
        train(None, data, replace(config, epochs=2), state=record.state)
    assert len(list(train(None, data, replace(config, epochs=2, stiff=1), state=record.state))) == 1
