"""The log pseudo-likelihood against enumerated conditionals, and losses against changed models."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from vrbm.model import Binary, FixedSize, GrandCanonicalRBM, Spin, pseudo

N, K = 5, 4


def model(visible, hidden, seed=0):
    random = np.random.default_rng(seed)
    W, b, c = (random.normal(size=shape) for shape in ((K, N), (K,), (N,)))
    return GrandCanonicalRBM(W, b, c, visible, hidden, FixedSize())


def rows(unit, count=7, seed=1):
    low, high = unit.states
    return np.random.default_rng(seed).choice([low, high], (count, N))


@pytest.mark.parametrize("visible", [Spin(), Binary()])
@pytest.mark.parametrize("hidden", [Spin(), Binary()])
def test_log_pseudo_likelihood(visible, hidden):
    """Σ_i log p(v_i | others), where p(v_i | others) follows from F at both values of v_i."""
    rbm, v = model(visible, hidden), rows(visible)
    expected = np.zeros(len(v))
    for i in range(N):
        both = []
        for state in visible.states:
            other = v.copy()
            other[:, i] = state
            both.append(-np.asarray(rbm.free_energy(other)))
        mine = -np.asarray(rbm.free_energy(v))
        expected += mine - np.logaddexp(*both)
    assert_allclose(pseudo.log_pseudo_likelihood(rbm, jnp.asarray(v)), expected, rtol=1e-10)


def without(rbm, unit, more_bias):
    W, b = (np.delete(np.asarray(x), unit, axis=0) for x in (rbm.W, rbm.b))
    return GrandCanonicalRBM(W, b, rbm.c + more_bias, rbm.visible, rbm.hidden, FixedSize())


@pytest.mark.parametrize("unit", [Spin(), Binary()])
def test_contributions_are_what_the_model_without_a_unit_loses(unit):
    rbm, v = model(unit, unit), jnp.asarray(rows(unit, 50))
    found = pseudo.contributions(rbm, v)
    whole = pseudo.log_pseudo_likelihood(rbm, v)
    for a in range(K):
        lost = whole - pseudo.log_pseudo_likelihood(without(rbm, a, found.biases[a]), v)
        assert float(found.mean[a]) == pytest.approx(float(lost.mean()), rel=1e-9)
        assert float(found.error[a]) == pytest.approx(float(lost.std()) / 50**0.5, rel=1e-9)


def test_a_unit_without_weights_contributes_nothing():
    rbm = model(Binary(), Binary())
    rbm = GrandCanonicalRBM(rbm.W.at[2].set(0), rbm.b, rbm.c, Binary(), Binary(), FixedSize())
    found = pseudo.contributions(rbm, jnp.asarray(rows(Binary(), 20)))
    assert_allclose(found.mean[2], 0, atol=1e-14)
    assert_allclose(found.biases[2], 0, atol=1e-14)


def test_entries_between_two_states_count_as_shares_of_both():
    """A column that no unit knows has a log-likelihood that is linear in its entries."""
    rbm = model(Binary(), Binary())
    rbm = GrandCanonicalRBM(rbm.W.at[:, 3].set(0), rbm.b, rbm.c, Binary(), Binary(), FixedSize())
    v = jnp.zeros((3, N), rbm.W.dtype).at[:, 3].set(jnp.array([0.0, 1.0, 0.25]))
    low, high, between = pseudo.log_pseudo_likelihood(rbm, v)
    assert float(between) == pytest.approx(0.75 * float(low) + 0.25 * float(high), rel=1e-12)
