"""Missing entries and weights: gradients, imputation and likelihood against enumeration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from vrbm import RBM, Binary, Constant, GrandCanonicalRBM
from vrbm.estimator import completion
from vrbm.training import window
from vrbm.training.gradient import gradient
from vrbm.training.observed import Observed, clamped_chain

N, K = 5, 4


def small_model():
    random = np.random.default_rng(3)
    return GrandCanonicalRBM(
        random.normal(size=(K, N)),
        random.normal(size=K),
        random.normal(size=N),
        Binary(),
        Binary(),
        Constant(0.3, absorb_log2=False),
    )


ROWS = np.array([[1, np.nan, 0, np.nan, 1], [np.nan, 0, np.nan, np.nan, 0], [1, 1, 0, 0, 1.0]])


def conditionals(model, row):
    """All states, and their probabilities given the known entries of a row, by enumeration."""
    states = vrbm.exact.states(model.visible, N)
    p = np.asarray(vrbm.exact.visible_probabilities(model))
    fits = (np.isnan(row) | (states == row)).all(axis=1)
    p = np.where(fits, p, 0)
    return states, p / p.sum(), p.sum()


def log_marginal(model, rows):
    """Mean log p(v_obs) as a function of the model that can be differentiated."""
    states = jnp.asarray(vrbm.exact.states(model.visible, N))
    log_p = vrbm.exact.log_probability(model, states)
    parts = []
    for row in rows:
        fits = (np.isnan(row) | (states == row)).all(axis=1)
        parts.append(jax.scipy.special.logsumexp(jnp.where(fits, log_p, -jnp.inf)))
    return jnp.stack(parts).mean()


def test_gradient_of_the_completed_rows_is_that_of_the_known_entries():
    """E over completions of the usual gradient = ∂ log p(v_obs), all by enumeration."""
    model = small_model()
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, K)
    rows, weights = [], []
    for row in ROWS:
        states, p, _ = conditionals(model, row)
        rows.append(states[p > 0])
        weights.append(p[p > 0])
    # One negative row, then the same again with all states by their probability.
    states = jnp.asarray(vrbm.exact.states(model.visible, N))
    p = vrbm.exact.visible_probabilities(model)
    data, w = jnp.asarray(np.concatenate(rows)), jnp.asarray(np.concatenate(weights))
    zero = view.response(jnp.zeros((1, N)))
    positive, _ = gradient(model, pull, view.response(data), zero, weights=w / w.mean())
    negative, _ = gradient(model, pull, view.response(states), zero, weights=p / p.mean())
    expected = jax.jit(jax.grad(lambda model: log_marginal(model, ROWS)))(model)
    for name in "Wbc":
        found = getattr(positive, name) - getattr(negative, name)
        assert_allclose(found, getattr(expected, name), atol=1e-12)


def test_clamped_chains_keep_the_exact_conditional():
    """Stationarity: exact draws stay exact; 4 standard errors, which fails once in 10⁴ means."""
    model, row, n = small_model(), ROWS[1], 20_000
    states, p, _ = conditionals(model, row)
    start = states[np.random.default_rng(0).choice(len(p), size=n, p=p)]
    missing = jnp.broadcast_to(np.isnan(row), start.shape)
    v, _ = jax.jit(clamped_chain, static_argnums=4)(
        model, jnp.asarray(start), missing, jax.random.key(1), 3
    )
    assert_allclose(v[:, ~np.isnan(row)], start[:, ~np.isnan(row)])
    assert_allclose(v.mean(axis=0), p @ states, atol=4 * 0.5 / np.sqrt(n))
    pairs = np.einsum("s,si,sj->ij", p, states, states)
    assert_allclose(v.T @ v / n, pairs, atol=4 * 0.5 / np.sqrt(n))


def test_rows_keep_their_completion():
    model = small_model()
    missing = jnp.asarray(np.isnan(ROWS))
    completed = jnp.asarray(np.nan_to_num(ROWS))
    index = jnp.array([1])
    v, new, _ = Observed(missing=missing).complete(model, completed, index, jax.random.key(0))
    assert_allclose(new[1], v[0])
    assert_allclose(new[np.array([0, 2])], completed[np.array([0, 2])])


def test_completions_against_enumeration():
    model = small_model()
    exactly = completion.complete(model, ROWS, jax.random.key(0))
    free = completion.free_energy(model, ROWS)
    log_z = vrbm.exact.log_partition(model)
    for i, row in enumerate(ROWS):
        states, p, known = conditionals(model, row)
        assert_allclose(exactly.visible[i], p @ states, atol=1e-10)
        assert_allclose(exactly.hidden[i], p @ np.asarray(model.mean_hidden(states)), atol=1e-10)
        sizes = p @ np.asarray(model.size_probabilities(states))
        assert_allclose(exactly.sizes[i], sizes, atol=1e-10)
        assert_allclose(-free[i] - log_z, np.log(known), atol=1e-10)


def test_chains_agree_with_enumeration(monkeypatch):
    """Averages of 4000 steps within 0.05: more than 5 standard errors of these chains."""
    model = small_model()
    exactly = completion.complete(model, ROWS, jax.random.key(0))
    monkeypatch.setattr(completion, "ENUMERATED", -1)
    found = completion.complete(model, ROWS, jax.random.key(0), steps=4000)
    for name in ("visible", "hidden", "sizes"):
        assert_allclose(getattr(found, name), getattr(exactly, name), atol=0.05)


def test_drawn_completions_have_the_exact_frequencies():
    model, row, n = small_model(), ROWS[0], 4096
    states, p, _ = conditionals(model, row)
    drawn = completion.complete(model, np.tile(row, (n, 1)), jax.random.key(2)).states
    assert_allclose(drawn.mean(axis=0), p @ states, atol=4 * 0.5 / np.sqrt(n))


def test_too_many_missing_entries_for_a_probability():
    v = np.zeros((2, 12))
    v[1] = np.nan
    with pytest.raises(ValueError, match="row 1 of X lacks 12 entries"):
        completion.free_energy(small_model(), v)


def test_training_with_holes_learns_what_is_behind_them(monkeypatch):
    """Noisy copies of one bit: 30% of the entries hidden, what they share is still learned."""
    random = np.random.default_rng(0)
    bit, kept = random.integers(0, 2, size=(400, 1)), 0.9
    X = np.where(random.random((400, 5)) < kept, bit, 1 - bit).astype(float)
    holes = np.where(random.random(X.shape) < 0.3, np.nan, X)
    monkeypatch.setattr(completion, "ENUMERATED", 0)  # one function to compile, for all rows
    machine = RBM(K, n_iter=40, learning_rate=0.2, random_state=0).fit(holes)
    likelihoods = [np.where(value == X, kept, 1 - kept).prod(axis=1) for value in (0, 1)]
    best = np.log(np.mean(likelihoods, axis=0)).mean()  # −2.23; independent columns have −3.47
    assert machine.score(X) > best - 0.2
