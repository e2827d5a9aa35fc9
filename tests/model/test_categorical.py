"""Units of several colours; sums over all states are in test_rbm."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from tests.model.oracle import Oracle
from vrbm.model import pseudo

UNIT = vrbm.Categorical(3)
Y = np.random.default_rng(0).normal(0, 2, (50, 4, 3))
P = np.exp(Y) / np.exp(Y).sum(axis=-1, keepdims=True)


def by_row(x):
    return jnp.asarray(x.reshape(len(x), -1))


def test_cumulant_and_mean_are_those_of_the_softmax():
    assert_allclose(UNIT.cumulant(by_row(Y)), np.log(np.exp(Y).sum(axis=-1)), rtol=1e-13)
    assert_allclose(UNIT.mean(by_row(Y)), P.reshape(50, -1), rtol=1e-12)
    slope = jax.grad(lambda y: UNIT.cumulant(y).sum())(by_row(Y))
    assert_allclose(slope, P.reshape(50, -1), rtol=1e-12)


def test_large_fields_are_no_matter():
    y = jnp.array([1e4, -1e4, 0.0, 50.0, 0.0, -3.0], jnp.float32)
    assert_allclose(UNIT.cumulant(y), [1e4, 50])
    assert_allclose(UNIT.mean(y), [1, 0, 0, 1, 0, 0], atol=1e-20)


def test_a_residual_keeps_its_digits():
    """1 − ⟨s⟩ = 2e^−50 in float32, where ⟨s⟩ is 1."""
    y = jnp.array([50.0, 0.0, 0.0], jnp.float32)
    value = jnp.array([1.0, 0.0, 0.0], jnp.float32)
    tiny = np.exp(-50)
    assert_allclose(UNIT.residual(value, y), [2 * tiny, -tiny, -tiny], rtol=1e-5)
    means = jnp.array([0.5, 0.25, 0.25])
    assert_allclose(UNIT.residual(means, jnp.zeros(3)), means - 1 / 3, atol=1e-15)


def test_samples_are_one_hot_and_have_the_mean():
    """z-test of twelve means over 40,000 draws, |z| < 5: fails by chance 7 in a million."""
    y = jnp.broadcast_to(by_row(Y)[0], (40_000, 12))
    draws = np.asarray(UNIT.sample(jax.random.key(0), y))
    UNIT.check("draws", draws)
    assert set(np.unique(draws)) == {0, 1}
    p = P[0].ravel()
    assert (abs(draws.mean(axis=0) - p) / np.sqrt(p * (1 - p) / 40_000)).max() < 5


def test_a_colour_of_no_probability_is_never_drawn():
    """In float32 the sums of 20 equal colours end below 1; what is left is no colour."""
    unit = vrbm.Categorical(21)
    y = jnp.zeros(21, jnp.float32).at[20].set(-60)
    draws = unit.sample(jax.random.key(0), jnp.broadcast_to(y, (1_000_000, 21)))
    assert not draws[:, 20].any()


def test_fields_of_data_give_its_means_and_one_row_of_no_preference():
    mean = jnp.array([0.7, 0.3, 0.0])
    field = UNIT.field_of_data(mean, 9)
    assert_allclose(UNIT.mean(field), (9 * mean + 1 / 3) / 10, rtol=1e-12)


def test_colours_and_one_hot_rows():
    colours = np.random.default_rng(1).integers(0, 3, (5, 4))
    rows = UNIT.one_hot(colours)
    assert rows.dtype == np.int8
    assert rows.shape == (5, 12)
    assert_array_equal(UNIT.colours_of(rows), colours)
    assert_array_equal(UNIT.nearest(jnp.asarray(0.9 * rows + 0.03)), rows)
    assert_array_equal(UNIT.one_hot(colours.astype(float)), rows)
    assert UNIT.one_hot(colours[:0]).shape == (0, 12)
    assert vrbm.Categorical(np.int64(3)) == UNIT


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: vrbm.Categorical(1), "colours is 1: pass a whole number of at least 2"),
        (lambda: vrbm.Categorical(True), "colours is True"),
        (lambda: UNIT.one_hot([[0, 3]]), "rows hold .*3.*: pass whole numbers from 0 to 2"),
        (lambda: UNIT.one_hot([[0.5]]), "rows hold .*0.5"),
        (lambda: UNIT.one_hot([["a"]]), "rows hold a"),
        (lambda: UNIT.one_hot([[0, np.nan]]), "rows hold nan"),
        (lambda: vrbm.exact.states(UNIT, 4), "n is 4, which is no multiple of the 3 values"),
        (lambda: Oracle("three colours").model.free_energy(np.zeros((2, 9))), "v has .*sum to 0"),
        (
            lambda: Oracle("three colours").model.free_energy(np.ones(9)),
            "sum to 3 in row 0, site 0",
        ),
        (
            lambda: vrbm.GrandCanonicalRBM(np.ones((2, 4)), np.ones(2), np.ones(4), UNIT),
            "W has 4 columns, which is no multiple of the 3 values",
        ),
        (
            lambda: vrbm.GrandCanonicalRBM(np.ones((3, 4)), np.ones(3), np.ones(4), hidden=UNIT),
            "hidden units are Spin.. or Binary",
        ),
    ],
)
def test_what_cannot_be_is_said(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


def test_pseudo_likelihood_and_contributions():
    """log p of each site given the others by enumeration of its colours, with and without units."""
    oracle = Oracle("three colours", "binary", "fixed", n=3, k=4)
    v = jnp.asarray(oracle.v)

    def pl(model):
        total = np.zeros(len(v))
        for site in range(3):
            both = []
            for colour in np.eye(3):
                other = np.array(v)
                other[:, 3 * site : 3 * site + 3] = colour
                both.append(-np.asarray(model.free_energy(other)))
            total += -np.asarray(model.free_energy(v)) - np.logaddexp.reduce(both)
        return total

    whole = pl(oracle.model)
    assert_allclose(pseudo.log_pseudo_likelihood(oracle.model, v), whole, rtol=1e-10)
    found = pseudo.contributions(oracle.model, v)
    for a in range(4):
        W, b = np.delete(oracle.W, a, axis=0), np.delete(oracle.b, a)
        c = oracle.c + np.asarray(found.biases[a])
        less = vrbm.GrandCanonicalRBM(W, b, c, UNIT, vrbm.Binary(), vrbm.FixedSize())
        assert_allclose(found.mean[a], (whole - pl(less)).mean(), rtol=1e-9)


def test_files_hold_the_colours(tmp_path):
    model = Oracle("three colours", "spin").model
    vrbm.save(model, tmp_path / "model.safetensors")
    loaded = vrbm.load(tmp_path / "model.safetensors")
    assert loaded.visible == vrbm.Categorical(3)
    assert_array_equal(loaded.W, model.W)
