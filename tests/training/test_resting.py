"""Steps in which idle units rest against steps in which all units are moved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from vrbm.training import (
    Config,
    MeanField,
    Optimizer,
    Persistent,
    loop,
    resting,
    start,
    step,
    train,
    window,
)
from vrbm.training.observed import Observed

N, K, WIDTH = 12, 300, 48


def settled(potential):
    """Some strong units, then many idle ones whose numbers keep away from zero.

    In float64, where rounding does not grow from step to step: what is left is the first order.
    """
    rng = np.random.default_rng(0)
    W = np.r_[
        rng.normal(0, 1, (10, N)),
        rng.choice([-1, 1], (K - 10, N)) * rng.uniform(1, 3, (K - 10, N)) * 1e-3,
    ]
    b = np.r_[rng.normal(0, 0.1, 10), rng.choice([-1, 1], K - 10) * rng.uniform(0.1, 0.2, K - 10)]
    return vrbm.GrandCanonicalRBM(W, b, np.zeros(N), potential=potential)


def single(model):
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), model)


def both(model, optimizer, negative, steps=120):
    config = Config.paper(batch_size=20, negative=negative, optimizer=optimizer)
    rows = np.random.default_rng(1).choice([-1, 1], (200, N)).astype(np.int8)
    carry = start(model, rows, config, jax.random.key(1)).carry
    rules = step.Rules(optimizer.update_rule(model.W.dtype), negative)
    order = jnp.asarray(np.random.default_rng(2).integers(0, 200, (steps, 20)))
    rates = jnp.asarray(optimizer.rates(np.arange(steps), steps), model.W.dtype)
    some = jnp.asarray(rows), order, rates, jax.random.key(3), WIDTH, rules, Observed()
    runs = {}
    for name, run in (("plain", step.run), ("resting", resting.run)):
        first, shown, _ = run(carry, *some)
        runs[name] = run(first, *some)[0], shown  # a second block begins with momentum
    return runs["plain"], runs["resting"]


@pytest.mark.parametrize(
    ("potential", "optimizer"),
    [
        (vrbm.Penalizing(), Optimizer.paper(learning_rate=0.1)),
        (vrbm.Penalizing(p=2, smooth=True), Optimizer.paper("sgd", learning_rate=0.002)),
        (vrbm.Constant(1.2), Optimizer.paper(learning_rate=0.1, decay_from=0.2)),
    ],
    ids=["momentum", "smooth-sgd", "constant-decay"],
)
def test_resting_equals_moving(potential, optimizer):
    model = settled(potential)
    (plain, shown), (rested, seen) = both(model, optimizer, MeanField(2, "probable"))
    assert 0 <= seen.misfit < resting.TOLERANCE
    idle = slice(WIDTH, None)
    moved = np.abs(plain.model.b - model.b)[idle].max()
    assert (moved > 1e-5) == (potential != vrbm.Constant(1.2))
    assert_allclose(rested.model.b[idle], plain.model.b[idle], atol=1e-9 + 1e-2 * moved)
    for name in "Wbc":
        assert_allclose(getattr(rested.model, name), getattr(plain.model, name), atol=2e-5)
    assert_allclose(seen.shown.norms, shown.shown.norms, rtol=1e-3)
    assert_allclose(seen.shown.price, shown.shown.price, rtol=1e-6)
    # The bound of a whole span is no lower than those of its steps.
    assert seen.log_missing >= shown.log_missing - 1e-6
    moments = zip(*(jax.tree.leaves(c.optimizer) for c in (plain, rested)), strict=True)
    for one, other in moments:
        assert_allclose(one, other, atol=2e-5)


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize("negative", [MeanField(2), Persistent(1, 7)])
@pytest.mark.parametrize("width", [12, WIDTH, K])
def test_the_bound_of_a_block_is_no_lower_than_that_of_its_data(width, negative, batch):
    model = settled(vrbm.Constant(0.8))
    optimizer = Optimizer.paper("sgd", learning_rate=0.0)
    rows = np.random.default_rng(1).choice([-1, 1], (40, N)).astype(np.int8)
    config = Config.paper(batch_size=batch, negative=negative, optimizer=optimizer)
    carry = start(model, rows, config, jax.random.key(1)).carry
    rules = step.Rules(optimizer.update_rule(model.W.dtype), negative)
    order = jnp.arange(40).reshape(-1, batch)
    rates = jnp.zeros(len(order), model.W.dtype)
    _, steps, largest = step.run(
        carry, jnp.asarray(rows), order, rates, jax.random.key(3), width, rules, Observed()
    )
    cut = window.narrow(model, model.prices(), width)
    at_the_edge = cut.size_log_probabilities(rows.astype(float))[:, -1].max()
    bound = at_the_edge + window.log_tail(model, model.prices(), width)
    assert steps.log_missing >= bound - 1e-9
    assert (steps.log_missing == -np.inf) == (width == K)
    assert_array_equal(steps.spoiled, False)
    assert_allclose(largest, window.largest_steps(model, model.prices()), rtol=1e-12)


def test_chains_are_carried_on():
    optimizer = Optimizer.paper(learning_rate=0.05)
    (plain, _), (rested, _) = both(settled(vrbm.Constant(1.0)), optimizer, Persistent(1, 10), 110)
    assert_array_equal(rested.negative, plain.negative)
    assert_allclose(rested.model.W, plain.model.W, atol=1e-9)


def test_where_units_may_not_rest():
    settled_model = single(settled(vrbm.Penalizing()))
    rows = np.ones((1, N), np.int8)

    def may(model=settled_model, width=WIDTH, optimizer=None, stiff=0, **settings):
        optimizer = optimizer or Optimizer.paper()
        negative = Persistent() if stiff else MeanField()
        config = Config.paper(negative=negative, optimizer=optimizer, stiff=stiff)
        carry = start(model, rows, config, jax.random.key(1)).carry
        rules = step.Rules(optimizer.update_rule(jnp.float32), negative, **settings)
        return resting.applies(carry, rules, width)

    assert may()
    assert not may(width=K)
    assert not may(centred=True)
    assert not may(penalty=jnp.asarray(0.1))
    assert not may(stiff=1)
    assert not may(optimizer=Optimizer.paper("adam"))
    assert not may(optimizer=Optimizer.paper(clip_norm=1.0))
    assert not may(single(settled(vrbm.Local(1.3))))
    assert not may(settled(vrbm.Penalizing()))


def test_units_that_pass_through_zero_are_noticed_and_the_block_is_done_again():
    """A layer of idle units whose quanta fall through zero within a span."""
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), N, K, weight_scale=0.05, bias_scale=1e-4, dtype=jnp.float32
    )
    rows = np.random.default_rng(1).choice([-1, 1], (2000, N))
    config = Config.paper(epochs=1, batch_size=10, optimizer=Optimizer.paper(learning_rate=1.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "RESTLESS", 0)
        (watched,) = train(model, rows, config, jax.random.key(2))
        patch.setattr(resting, "applies", lambda *_: False)
        (plain,) = train(model, rows, config, jax.random.key(2))
    assert watched.repeats > plain.repeats
    assert_array_equal(watched.state.model.W, plain.state.model.W)


def test_the_sums_are_those_of_the_potential():
    model = settled(vrbm.Penalizing())
    for potential in (vrbm.Penalizing(), vrbm.Penalizing(1.5, True), vrbm.Constant(0.7)):
        parts = [potential.sums(model.W[p], model.b[p]) for p in (slice(9), slice(9, None))]
        prices = potential.prices_beside(model.W[:9], model.b[:9], parts[1], model.hidden)
        assert_allclose(prices, potential.prices(model.W, model.b, model.hidden)[:9], rtol=1e-12)
