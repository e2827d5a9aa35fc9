"""The random numbers of units against known answers, and against what uniform numbers do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vrbm.model import random

# Known answers of the Random123 library for 13 rounds: two words of counter, of key, of the result.
ANSWERS = [
    ((0, 0), (0, 0), (0x9D1C5EC6, 0x8BD50731)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0xFD36D048, 0x2D17272C)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xBA3E4725, 0xF27D669E)),
]


@pytest.mark.parametrize(("counter", "key", "expected"), ANSWERS)
def test_draws_are_threefry_of_13_rounds(counter, key, expected):
    words = (np.array([word], np.uint32) for word in (*key, *counter))
    assert_array_equal(np.concatenate(random._threefry(*words, random.DRAW_ROUNDS)), expected)


def test_draws_of_entry_n_encrypt_n():
    key = np.array([3, 0xDEADBEEF], np.uint32)
    counter = np.arange(7, dtype=np.uint32)
    expected = random._threefry(key[:1], key[1:], 0 * counter, counter, random.DRAW_ROUNDS)
    assert_array_equal(random.bits(jnp.asarray(key), (7,)), expected)


def test_entry_n_depends_on_n_alone():
    key = jax.random.key(5)
    assert_array_equal(random.bits(key, (3, 4))[0].ravel(), random.bits(key, (20,))[0][:12])
    keys = jax.random.split(key, 3)
    mapped = jax.vmap(lambda k: random.uniform(k, (4,), jnp.float32))(keys)
    for one, key in zip(mapped, keys, strict=True):
        assert_array_equal(one, random.uniform(key, (4,), jnp.float32))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_numbers_are_uniform(impl, dtype):
    """Counts in 64 bins of 2^17 numbers: χ² of 63 degrees, below 130 but 1 in 600,000 times."""
    u = np.asarray(random.uniform(jax.random.key(1, impl=impl), (2**17,), dtype))
    assert u.dtype == dtype
    assert u.min() > 0
    assert u.max() <= 1
    counts = np.bincount(np.minimum((u * 64).astype(int), 63), minlength=64)
    assert ((counts - 2**11) ** 2 / 2**11).sum() < 130
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / np.sqrt(len(u))


def test_the_ends_of_the_range(monkeypatch):
    words = jnp.array([0, 0xFFFFFFFF], jnp.uint32)
    monkeypatch.setattr(random, "bits", lambda key, shape: (words, words))
    assert_array_equal(random.uniform(jax.random.key(0), (2,), jnp.float32), [1.0, 2.0**-23])
    assert_array_equal(random.uniform(jax.random.key(0), (2,), jnp.float64), [1.0, 2.0**-52])


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_give_different_numbers(kind):
    root = jax.random.key(0, impl=kind)
    keys = [root, jax.random.key(1, impl=kind), *jax.random.split(root, 3)]
    keys += [jax.random.fold_in(root, n) for n in range(3)]
    drawn = {tuple(np.asarray(random.uniform(key, (4,), jnp.float32)).tolist()) for key in keys}
    assert len(drawn) == len({np.asarray(jax.random.key_data(key)).tobytes() for key in keys})


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_keys_and_orders_of_the_host_are_those_of_jax(kind):
    key = jax.random.key(7, impl=kind)
    for number in (0, 1, 2**32 - 1):
        expected = jax.random.key_data(jax.random.fold_in(key, number))
        assert_array_equal(jax.random.key_data(random.fold_in(key, number)), expected)
        expected = jax.random.key_data(jax.random.fold_in(jax.random.fold_in(key, number), 3))
        assert_array_equal(jax.random.key_data(random.fold_in(key, number, 3)), expected)
    for n in (1, 2, 9, 3000):
        assert_array_equal(random.permutation(key, n), jax.random.permutation(key, n))


def test_numbered_keys_are_those_of_a_split():
    key = random.key_of_seed(7)
    assert_array_equal(jax.random.key_data(key), jax.random.key_data(jax.random.key(7)))
    for number, expected in enumerate(jax.random.split(key, 3)):
        found = random.fold_in(key, number)
        assert_array_equal(jax.random.key_data(found), jax.random.key_data(expected))
