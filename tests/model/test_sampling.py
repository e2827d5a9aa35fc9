"""Sampled kernels against exact distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import vrbm
from tests.model.oracle import POTENTIALS, Oracle, counts_of

DRAWS = 200_000


def gibbs_step(model, key, v):
    """(z, h) given v, then v given (h, z)."""
    size_key, hidden_key, visible_key = jax.random.split(key, 3)
    z = model.sample_size(size_key, v)
    h = model.sample_hidden(hidden_key, v, z)
    return model.sample_visible(visible_key, h, z)


@pytest.mark.parametrize(
    ("visible", "hidden", "potential"),
    [("spin", "spin", name) for name in POTENTIALS]
    + [("binary", "binary", "kept"), ("spin", "binary", "absorbed"), ("binary", "spin", "local")]
    + [("three colours", "binary", "absorbed"), ("three colours", "spin", "fixed")],
)
def test_a_gibbs_step_leaves_the_joint_distribution_invariant(visible, hidden, potential):
    """Draw v exactly, step, draw z: χ² of the counts of (v, z) against p(v, z).

    Immune to slow mixing. The threshold is the 1 − 1e-6 quantile, so the sixteen cases together
    fail by chance 16 times in a million; the seed is fixed.
    """
    oracle = Oracle(visible, hidden, potential, n=3, k=3, seed=7)
    model = oracle.model
    start, step, size = jax.random.split(jax.random.key(11), 3)
    p = vrbm.exact.visible_probabilities(model)
    v = jnp.asarray(oracle.v)[jax.random.choice(start, len(p), (DRAWS,), p=p)]
    v = jax.jit(gibbs_step)(model, step, v)
    z = jax.jit(lambda m, k, v: m.sample_size(k, v))(model, size, v)
    sizes = np.asarray(z)
    counts = np.stack(
        [counts_of(oracle.v, v[sizes == size]) for size in range(1, oracle.k + 1)], axis=1
    )
    joint = np.zeros(counts.shape)
    np.add.at(joint, (oracle.index, oracle.z - 1), oracle.p)
    possible = joint > 0
    assert counts[~possible].sum() == 0
    statistic = ((counts - DRAWS * joint) ** 2)[possible] / (DRAWS * joint[possible])
    assert statistic.sum() < chi2.ppf(1 - 1e-6, possible.sum() - 1)


def test_a_wrong_kernel_would_be_found():
    """The same statistic for a step that forgets to draw the size: far beyond the threshold."""
    oracle = Oracle(n=3, k=3, seed=7)
    p = np.asarray(vrbm.exact.visible_probabilities(oracle.model))
    start, hidden, visible = jax.random.split(jax.random.key(11), 3)
    v = jnp.asarray(oracle.v)[jax.random.choice(start, len(p), (DRAWS,), p=jnp.asarray(p))]
    h = oracle.model.sample_hidden(hidden, v, oracle.k)
    v = oracle.model.sample_visible(visible, h, oracle.k)
    counts = np.bincount(np.searchsorted([-1, 1], v) @ [4, 2, 1], minlength=8)
    statistic = (counts - DRAWS * p) ** 2 / (DRAWS * p)
    assert statistic.sum() > 10 * chi2.ppf(1 - 1e-6, 7)


def test_hidden_samples_end_at_the_size():
    model = Oracle(k=5).model
    v = Oracle(k=5).v
    z = np.arange(len(v)) % 5 + 1
    h = np.asarray(model.sample_hidden(jax.random.key(0), v, z))
    assert_allclose(abs(h).sum(axis=1), z)
    assert (h[np.arange(5) >= z[:, None]] == 0).all()


def test_a_key_gives_the_same_draw():
    model, v = Oracle().model, Oracle().v
    once, again, other = (model.sample_hidden(jax.random.key(k), v, 3) for k in (0, 0, 1))
    assert (once == again).all()
    assert (once != other).any()
    assert (model.sample_hidden(jax.random.PRNGKey(0), v, 3) == once).all()


def test_the_draws_of_the_first_units_do_not_depend_on_k():
    big = Oracle(k=9, potential="constant").model
    small = vrbm.GrandCanonicalRBM(big.W[:4], big.b[:4], big.c, potential=big.potential)
    v, key = Oracle().v, jax.random.key(2)
    assert (small.sample_hidden(key, v, 4) == big.sample_hidden(key, v, 4)[:, :4]).all()
