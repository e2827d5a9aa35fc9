"""Negative phases against exact distributions."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

import vrbm
from tests.model.oracle import POTENTIALS, Oracle, counts_of
from vrbm.training import Gibbs, MeanField, Persistent, Tempered, window
from vrbm.training.tempered import Replicas, tempered

CHAINS = 100_000


def priced(model):
    return window.narrow(model, model.prices(), model.max_hidden)


def statistic(v, model, p, states):
    """χ² of the counts of v against p."""
    counts = counts_of(states, v)
    return ((counts - len(v) * p) ** 2 / (len(v) * p)).sum()


THRESHOLD = chi2.ppf(1 - 1e-6, 7)


@pytest.mark.parametrize(
    ("visible", "hidden", "potential"),
    [
        *((units, units, name) for units in ("spin", "binary") for name in POTENTIALS),
        ("three colours", "binary", "kept"),
    ],
)
def test_sampled_phases_leave_the_model_invariant(visible, hidden, potential):
    """Exact draws stay exact draws. Each of the cases fails by chance once in a million."""
    oracle = Oracle(visible, hidden, potential, seed=4)
    states = len(oracle.v)
    threshold = chi2.ppf(1 - 1e-6, states - 1)
    model = priced(oracle.model)
    p = np.asarray(vrbm.exact.visible_probabilities(oracle.model))
    key = jax.random.key(5)
    v = jnp.asarray(oracle.v)[jax.random.choice(key, states, (CHAINS,), p=jnp.asarray(p))]
    _, info = jax.jit(Gibbs(2))(model, None, v, key)
    assert statistic(info.v, model, p, oracle.v) < threshold
    state, info = jax.jit(Persistent(3, CHAINS))(model, v, v[:10], key)
    assert statistic(state, model, p, oracle.v) < threshold


@pytest.mark.parametrize("potential", ["absorbed", "kept", "constant", "fixed", "local"])
def test_replica_exchange_leaves_every_marginal_invariant(potential):
    """Each replica starts with exact draws of its own marginal, and still has them afterwards.

    Four replicas, three rounds of swaps; each of the 4 tests fails by chance once in a million.
    """
    oracle = Oracle("spin", "spin", potential, seed=6)
    model = priced(oracle.model)
    kernel = Tempered(k=1, betas=4, chains=CHAINS)
    betas = jnp.array([0.0, 0.3, 0.7, 1.0])
    base = jnp.array([0.3, -0.2, 0.1])
    marginals = [
        np.asarray(vrbm.exact.visible_probabilities(tempered(model, beta, base))) for beta in betas
    ]
    keys = jax.random.split(jax.random.key(1), 4)
    v = jnp.stack(
        [
            jnp.asarray(oracle.v)[jax.random.choice(key, 8, (CHAINS,), p=jnp.asarray(p))]
            for key, p in zip(keys, marginals, strict=True)
        ]
    )
    state = Replicas(v, betas, base, jnp.full(3, 0.5), jnp.zeros(()))
    step = jax.jit(kernel)
    for round_ in range(3):
        state, info = step(model, state, v[0, :5], jax.random.key(10 + round_))
    for replica, p in zip(state.v, marginals, strict=True):
        assert statistic(replica, model, p, oracle.v) < THRESHOLD
    assert ((info.swap_rates > 0) & (info.swap_rates <= 1)).all()
    assert (info.v == state.v[-1]).all()
    # The end at β = 1 is the model, the end at β = 0 independent units.
    np.testing.assert_allclose(
        marginals[-1], vrbm.exact.visible_probabilities(oracle.model), atol=1e-12
    )
    free = np.exp(oracle.v @ np.asarray(base))
    np.testing.assert_allclose(marginals[0], free / free.sum(), atol=1e-12)


@pytest.mark.parametrize("parity", [0.0, 1.0])
def test_swaps_move_values_between_neighbours(parity):
    """At equal β every swap is accepted: even pairs change places in one round, odd in the next."""
    oracle = Oracle(potential="constant", n=3)
    # Without weights and with fields of ±60, values tell which replica they came from.
    still = vrbm.GrandCanonicalRBM(0 * oracle.W, oracle.b, oracle.c, potential=vrbm.Constant(1.0))
    kernel = Tempered(k=1, betas=4, chains=2)
    state = Replicas(
        jnp.ones((4, 2, 3)), jnp.ones(4), jnp.zeros(3), jnp.full(3, 0.5), jnp.asarray(parity)
    )
    marks = jnp.arange(4.0)[:, None, None] * jnp.ones((4, 2, 3)) / 4

    def kept(path, response, beta, key, k):
        return response.v, jnp.zeros((1, still.max_hidden))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vrbm.training.tempered._gibbs_chain", kept)
        new, info = kernel(
            priced(still), dataclasses.replace(state, v=marks), marks[0], jax.random.key(0)
        )
    order = np.asarray(new.v[:, 0, 0] * 4).round().astype(int).tolist()
    assert order == ([1, 0, 3, 2] if parity == 0 else [0, 2, 1, 3])
    assert new.parity == 1 - parity
    # Running averages follow the pairs that had their turn.
    expected = [0.475, 0.5, 0.475] if parity == 0 else [0.5, 0.475, 0.5]
    np.testing.assert_allclose(new.rejected, expected)
    np.testing.assert_allclose(info.swap_rates, 1 - new.rejected)


def test_the_ladder_moves_to_where_swaps_fail():
    kernel = Tempered(betas=5)
    state = Replicas(
        jnp.zeros((5, 1, 1)),
        jnp.linspace(0, 1, 5),
        jnp.zeros(1),
        jnp.array([0.1, 0.1, 0.1, 0.7]),
        jnp.zeros(()),
    )
    betas = np.asarray(kernel.rest(state).betas)
    assert betas[0] == 0
    assert betas[-1] == 1
    assert (np.diff(betas) > 0).all()
    assert betas[1] > 0.5
    barrier = np.interp(betas, state.betas, np.r_[0, np.cumsum(state.rejected)])
    np.testing.assert_allclose(np.diff(barrier), 0.25, atol=1e-12)
    once = kernel.rest(state)
    np.testing.assert_allclose(kernel.rest(once).betas, once.betas, atol=1e-12)


def test_size_rules_of_the_mean_field():
    model = priced(Oracle(k=5, potential="constant").model)
    v = jnp.asarray(Oracle().v)
    key = jax.random.key(0)
    h = model.mean_hidden(v)
    sizes = {
        "mean": jnp.ceil(model.mean_size(v)).astype(int),
        "probable": model.probable_size(v),
        "sample": model.sample_size(jax.random.fold_in(key, 0), v),
    }
    for rule, z in sizes.items():
        _, info = MeanField(1, rule)(model, None, v, key)
        np.testing.assert_allclose(info.v, model.mean_visible(h, z), atol=1e-12)
    _, twice = MeanField(2, "mean")(model, None, v, key)
    _, once = MeanField(1, "mean")(model, None, v, key)
    _, again = MeanField(1, "mean")(model, None, once.v, key)
    np.testing.assert_allclose(twice.v, again.v, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MeanField(0), "k is 0: pass a whole number of at least 1"),
        (lambda: Gibbs(-1), "k is -1"),
        (lambda: Persistent(1, 0), "chains is 0"),
        (lambda: Tempered(betas=1), "betas is 1: replica exchange needs at least 2"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()
