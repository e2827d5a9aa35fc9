"""Extreme values in float32, and types that stay what they were."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrbm
from tests.model.oracle import POTENTIALS

METHODS = ("free_energy", "expected_free_energy", "size_probabilities", "size_survival",
           "mean_size", "mean_hidden")  # fmt: skip


def everything(model, v):
    z = model.probable_size(v)
    h = model.mean_hidden(v)
    values = [getattr(model, name)(v) for name in METHODS]
    return [*values, model.mean_visible(h, z), model.energy(v, h, z)]


@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("hidden", [vrbm.Spin(), vrbm.Binary()], ids=["spin", "binary"])
@pytest.mark.parametrize("field", [1e-30, 1.0, 1e4])
def test_fields_up_to_ten_thousand(potential, hidden, field):
    rng = np.random.default_rng(0)
    W = jnp.asarray(rng.normal(size=(70, 4)) * field / 4, jnp.float32)
    b = jnp.asarray(rng.normal(size=70) * field / 2, jnp.float32)
    model = vrbm.GrandCanonicalRBM(
        W, b, jnp.zeros(4, jnp.float32), hidden=hidden, potential=POTENTIALS[potential][0]
    )
    v = jnp.asarray(rng.choice([-1, 1], (5, 4)))
    values = jax.jit(everything)(model, v)
    assert all(value.dtype == jnp.float32 for value in values)
    assert all(bool(jnp.isfinite(value).all()) for value in values)
    gradient = jax.jit(jax.grad(lambda m: m.free_energy(v).sum()))(model)
    assert all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(gradient))


@pytest.mark.parametrize("mu", [-1e3, 0.0, 1e3])
@pytest.mark.parametrize("size", [1, 2_000, 100_000])
def test_many_units_and_any_price(size, mu):
    rng = np.random.default_rng(1)
    W = jnp.asarray(rng.normal(size=(size, 2)) * 1e4, jnp.float32)
    model = vrbm.GrandCanonicalRBM(
        W, jnp.zeros(size, jnp.float32), jnp.zeros(2, jnp.float32), potential=vrbm.Constant(mu)
    )
    values = jax.jit(everything)(model, jnp.array([[1.0, -1.0]]))
    assert all(bool(jnp.isfinite(value).all()) for value in values)
    p = values[METHODS.index("size_probabilities")]
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-5)
    assert 1 <= values[METHODS.index("mean_size")] <= size * (1 + 1e-5)


def test_a_hundred_thousand_idle_units_are_exact():
    """W = 0, b = 0, log 2 absorbed, μ = 1: the geometric distribution."""
    size = 100_000
    model = vrbm.GrandCanonicalRBM(
        jnp.zeros((size, 1), jnp.float32),
        jnp.zeros(size, jnp.float32),
        jnp.zeros(1, jnp.float32),
        potential=vrbm.Constant(1.0),
    )
    mean = model.mean_size(jnp.ones(1))
    np.testing.assert_allclose(mean, 1 / (1 - np.exp(-1)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_types_are_those_of_the_weights(dtype):
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 4, 9, dtype=dtype)
    v = np.ones((3, 4))
    assert all(value.dtype == dtype for value in everything(model, v))
    key = jax.random.key(1)
    z = model.sample_size(key, v)
    h = model.sample_hidden(key, v, z)
    assert h.dtype == model.sample_visible(key, h, z).dtype == dtype
    assert vrbm.exact.log_partition(model).dtype == dtype


def test_whole_numbers_and_booleans_are_welcome():
    model = vrbm.GrandCanonicalRBM(np.eye(2, dtype=int), [0, 1], [0, 0], vrbm.Binary())
    expected = model.free_energy([[0.0, 1.0]])
    for v in ([[0, 1]], np.array([[False, True]]), np.array([[0, 1]], np.uint8)):
        np.testing.assert_array_equal(model.free_energy(v), expected)
