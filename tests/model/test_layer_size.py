import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from vrbm.model import layer_size, random


def plain(steps):
    """The same quantities by two cumulative sums in float64."""
    log_weights = np.cumsum(np.asarray(steps, np.float64), axis=-1)
    peak = log_weights.max(axis=-1, keepdims=True)
    weights = np.exp(log_weights - peak)
    total = weights.sum(axis=-1, keepdims=True)
    survival = weights[..., ::-1].cumsum(axis=-1)[..., ::-1] / total
    return log_weights, (peak + np.log(total))[..., 0], weights / total, survival


SIZES = [1, 2, 7, 8, 9, 63, 64, 65, 130, 513]


@pytest.mark.parametrize("size", SIZES)
def test_one_pass_equals_two_cumulative_sums(size):
    steps = np.random.default_rng(size).normal(-0.1, 1, (3, 2, size))
    sizes = layer_size.scan(jnp.asarray(steps))
    for value, expected in zip(sizes[:4], plain(steps), strict=True):
        assert_allclose(value, expected, rtol=1e-11, atol=1e-14)
    assert_allclose(sizes.log_last, np.log(plain(steps)[2][..., -1]), rtol=1e-9)
    for block in (8, 128):
        for reverse in (False, True):
            sums = layer_size._blocked_sum(jnp.asarray(steps), block, reverse)
            expected = np.cumsum(steps[..., ::-1], -1)[..., ::-1] if reverse else plain(steps)[0]
            assert_allclose(sums, expected, atol=1e-12)


def test_running_sums_of_accelerators_take_the_least_width():
    for size in (*SIZES, 256, 257, 1024, 1025, 4096, 5000, 100_000):
        block = layer_size.accelerator_block(size)
        products = 1 if size <= block else 2
        assert size <= block**products or block == layer_size.WIDEST_BLOCK
        assert products == 1 or size > (block // 2) ** 2
    steps = np.random.default_rng(0).normal(size=(2, 513))
    sums = layer_size._blocked_sum(jnp.asarray(steps), layer_size.accelerator_block(513), False)
    assert_allclose(sums, np.cumsum(steps, -1), atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 90), st.floats(0.01, 30), st.floats(-3, 3), st.integers(0, 2**31))
def test_float32_is_as_exact_as_it_can_be(size, scale, drift, seed):
    steps = np.random.default_rng(seed).normal(drift, scale, (2, size)).astype(np.float32)
    sizes = layer_size.scan(jnp.asarray(steps))
    log_weights, log_norm, p, survival = plain(steps)
    error = 4e-6 * (1 + abs(log_weights).max())
    assert_allclose(sizes.log_norm, log_norm, atol=error)
    assert_allclose(sizes.probabilities, p, atol=error)
    assert_allclose(sizes.survival, survival, atol=error)
    assert_allclose(sizes.survival[..., 0], 1, rtol=1e-6)
    assert sizes.survival.dtype == jnp.float32


def test_derivative_of_the_log_norm_is_the_survival():
    steps = jnp.asarray(np.random.default_rng(0).normal(0, 1, (2, 21)))
    gradient = jax.grad(lambda s: layer_size.scan(s).log_norm.sum())(steps)
    assert_allclose(gradient, layer_size.scan(steps).survival, atol=1e-13)


def test_mean_and_probable_size():
    steps = np.random.default_rng(1).normal(0, 1, (5, 12))
    sizes = layer_size.scan(jnp.asarray(steps))
    p = plain(steps)[2]
    assert_allclose(layer_size.mean(sizes), p @ np.arange(1, 13), rtol=1e-12)
    assert_array_equal(layer_size.probable(sizes), p.argmax(axis=1) + 1)


def test_of_equally_probable_sizes_the_largest_is_taken():
    assert layer_size.probable(layer_size.scan(jnp.zeros(19))) == 19
    assert layer_size.probable(layer_size.scan(jnp.array([1.0, 0.0, 0.0, -1.0]))) == 3


def test_samples_follow_the_probabilities():
    """χ² over 9 sizes, 50,000 draws; threshold at its 1 − 1e-6 quantile."""
    from scipy.stats import chi2

    sizes = layer_size.scan(jnp.asarray(np.random.default_rng(2).normal(0, 1, 9)))
    many = jax.tree.map(lambda a: jnp.broadcast_to(a, (50_000, *a.shape)), sizes)
    draws = np.asarray(layer_size.sample(jax.random.key(3), many))
    counts = np.bincount(draws, minlength=10)
    assert counts[0] == 0
    expected = 50_000 * np.asarray(sizes.probabilities)
    assert ((counts[1:] - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, 8)


def test_a_draw_never_falls_into_a_tail_below_the_resolution(monkeypatch):
    """The smallest uniform number must not select every size with a probability above 0."""
    smallest = lambda key, shape, dtype: jnp.full(shape, 2.0**-23, dtype)  # noqa: E731
    monkeypatch.setattr(random, "uniform", smallest)
    survival = jnp.array([1.0, 1e-30, 1e-38], jnp.float32)
    zero = jnp.float32(0)
    sizes = layer_size.SizeScan(survival, zero, survival, survival, zero, zero)
    assert layer_size.sample(jax.random.key(0), sizes) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 90), st.floats(0.01, 30), st.integers(0, 2**31))
def test_the_survival_falls_and_keeps_its_digits_in_the_tail(size, scale, seed):
    """Relative accuracy of P(z ≥ a) down to 1e-30 of the largest, in float32."""
    steps = np.random.default_rng(seed).normal(-1, scale, (2, size)).astype(np.float32)
    log_weights = np.asarray(layer_size.scan(jnp.asarray(steps)).log_weights, np.float64)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    tails = weights[:, ::-1].cumsum(axis=1)[:, ::-1]
    expected = tails / tails[:, :1]
    survival = np.asarray(layer_size.scan(jnp.asarray(steps)).survival, np.float64)
    seen = expected > 1e-30
    assert_allclose(survival[seen], expected[seen], rtol=1e-4)
    assert (np.diff(survival, axis=1) <= 1e-6 * survival[:, :-1]).all()


@pytest.mark.parametrize("price", [1e2, 1e4, 1e8])
def test_a_unit_that_costs_too_much_spoils_no_other(price):
    steps = np.full((1, 40), -price, np.float32)
    steps[0, :20] = 0.3
    sizes = layer_size.scan(jnp.asarray(steps))
    assert_allclose(sizes.probabilities, plain(steps)[2], atol=3e-7)


def test_full_layer():
    steps = jnp.asarray(np.random.default_rng(3).normal(0, 1, (2, 4)))
    sizes = layer_size.full(steps)
    assert_allclose(sizes.log_norm, steps.sum(axis=1))
    assert_array_equal(sizes.probabilities, np.tile([0, 0, 0, 1.0], (2, 1)))
    assert_array_equal(sizes.survival, np.ones((2, 4)))
    assert_array_equal(layer_size.probable(sizes), [4, 4])
    assert_array_equal(layer_size.sample(jax.random.key(0), sizes), [4, 4])
