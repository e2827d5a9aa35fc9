import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from vrbm.model import random

UNITS = pytest.mark.parametrize("unit", [vrbm.Spin(), vrbm.Binary()], ids=["spin", "binary"])
X = jnp.array([-1e4, -40.0, -3.0, -1e-3, 0.0, 1e-3, 0.7, 12.0, 1e4])


@UNITS
def test_cumulant_is_the_log_of_the_sum_over_states(unit):
    x = X[abs(X) < 100]
    expected = np.log(sum(np.exp(s * x) for s in unit.states))
    assert_allclose(unit.cumulant(x), expected, rtol=1e-12, atol=1e-15)
    for large in (-1e4, 1e4):
        assert_allclose(unit.cumulant(jnp.float32(large)), max(s * large for s in unit.states))


@UNITS
def test_mean_and_variance_are_the_derivatives_of_the_cumulant(unit):
    first = jax.vmap(jax.grad(unit.cumulant))(jnp.asarray(X))
    assert_allclose(unit.mean(X), first, atol=1e-12)
    x = X[abs(X) < 100]
    states = np.array(unit.states)
    p = np.exp(np.outer(x, states) - np.asarray(unit.cumulant(x))[:, None])
    second = jax.vmap(jax.grad(jax.grad(unit.cumulant)))(jnp.asarray(x))
    assert_allclose(second, p @ states**2 - (p @ states) ** 2, atol=1e-12)


@UNITS
def test_field_inverts_the_mean(unit):
    x = np.linspace(-6, 6, 13)
    assert_allclose(unit.field(unit.mean(jnp.asarray(x))), x, atol=1e-9)


@UNITS
def test_samples_have_the_mean(unit):
    """z-test of six means over 40,000 draws each, |z| < 5: fails by chance 4 in a million."""
    x = jnp.array([-3.0, -1.0, -0.1, 0.0, 0.5, 2.0])
    draws = unit.sample(jax.random.key(0), jnp.broadcast_to(x, (40_000, 6)))
    assert set(np.unique(draws)) <= set(unit.states)
    variance = jax.vmap(jax.grad(jax.grad(unit.cumulant)))(x)
    z = (draws.mean(axis=0) - unit.mean(x)) / jnp.sqrt(variance / 40_000)
    assert abs(z).max() < 5


@UNITS
@pytest.mark.parametrize("u", [2**-23, 1.0])
def test_a_unit_in_a_strong_field_never_flips(unit, u, monkeypatch):
    monkeypatch.setattr(random, "uniform", lambda key, shape, dtype: jnp.full(shape, u, dtype))
    draws = unit.sample(jax.random.key(0), jnp.array([-60.0, 60.0], jnp.float32))
    assert_array_equal(draws, unit.states)


@UNITS
def test_residual_keeps_its_digits(unit):
    """s − ⟨s⟩ against extended precision: tiny when the field agrees, large when it does not."""
    width = unit.states[1] - unit.states[0]
    for s, x in itertools.product(unit.states, (-30.0, -3.0, 0.0, 0.4, 30.0)):
        sign = 1 if s == unit.states[1] else -1
        exact = sign * width / (1 + np.exp(np.longdouble(sign * width * x)))
        value = unit.residual(jnp.float32(s), jnp.float32(x))
        assert_allclose(float(value), float(exact), rtol=2e-6)


@UNITS
def test_residual_of_a_mean_value(unit):
    low, high = unit.states
    value, x = jnp.meshgrid(jnp.linspace(low, high, 7), jnp.array([-900.0, -3.0, 0.0, 0.4, 900.0]))
    assert_allclose(unit.residual(value, x), value - unit.mean(x), atol=1e-15)


@UNITS
def test_cumulant_in_single_precision_is_exact_to_rounding(unit):
    x = np.linspace(-80, 80, 20_001, dtype=np.float32)
    wide = x.astype(np.longdouble)
    low, high = unit.states
    expected = np.maximum(low * wide, high * wide) + np.log1p(np.exp(-(high - low) * abs(wide)))
    assert_allclose(unit.cumulant(jnp.asarray(x)), expected.astype(float), rtol=3e-7)


@UNITS
def test_field_of_data_is_finite_and_near_the_mean(unit):
    low, high = unit.states
    mean = jnp.array([low, high, (low + high) / 2, low + 0.3 * (high - low)], jnp.float32)
    for rows in (1, 1000, 10**9):
        field = unit.field_of_data(mean, rows)
        assert np.isfinite(field).all()
    assert_allclose(unit.mean(field), mean, atol=1e-5)


@UNITS
def test_encode_accepts_both_codings(unit):
    low, high = unit.states
    expected = np.array([[low, high], [high, high]])
    for data in (
        [[0, 1], [1, 1]],
        [[-1, 1], [1, 1]],
        np.array([[False, True], [True, True]]),
        np.array([[0, 1], [1, 1]], np.uint8),
    ):
        assert_array_equal(unit.encode(data), expected)


def test_encode_reads_a_lone_value_in_its_own_coding_first():
    assert_array_equal(vrbm.Spin().encode([1, 1]), [1.0, 1.0])
    assert_array_equal(vrbm.Spin().encode([0, 0]), [-1.0, -1.0])
    assert_array_equal(vrbm.Binary().encode([-1, -1]), [0.0, 0.0])


@UNITS
@pytest.mark.parametrize(
    ("data", "found"),
    [
        ([-1, 0, 1], "−1, 0 and 1 together"),
        ([0.0, 0.3], "the value 0.3"),
        ([1, np.nan], "the value nan"),
        ([0, 255], "the value 255"),
    ],
)
def test_encode_refuses_the_rest_and_says_why(unit, data, found):
    with pytest.raises(ValueError, match=f"pixels holds {found}"):
        unit.encode(data, "pixels")


@UNITS
def test_encode_refuses_what_is_no_number(unit):
    with pytest.raises(ValueError, match="dtype"):
        unit.encode(["a", "b"])
    with pytest.raises(ValueError, match="ragged"):
        unit.encode([[1, 1], [1]])
