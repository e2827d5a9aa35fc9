"""Steps in which idle units rest against steps in which all units are moved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from vrbm.training import Config, MeanField, Optimizer, Persistent, resting, start, step, train
from vrbm.training.observed import Observed

N, K, WIDTH = 12, 300, 48


def settled(potential, hidden=None):
    """Some strong units, then many idle ones; idle weights keep away from zero."""
    rng = np.random.default_rng(0)
    W = np.r_[
        rng.normal(0, 1, (10, N)),
        rng.choice([-1, 1], (K - 10, N)) * rng.uniform(1, 3, (K - 10, N)) * 1e-3,
    ]
    b = np.r_[rng.normal(0, 0.1, 10), rng.choice([-1, 1], K - 10) * rng.uniform(0.1, 0.2, K - 10)]
    return vrbm.GrandCanonicalRBM(
        W.astype(np.float32),
        b.astype(np.float32),
        np.zeros(N, np.float32),
        hidden=hidden or vrbm.Spin(),
        potential=potential,
    )


def both(model, optimizer, negative, steps=120):
    config = Config(batch_size=20, negative=negative, optimizer=optimizer)
    rows = np.random.default_rng(1).choice([-1, 1], (200, N)).astype(np.int8)
    carry = start(model, rows, config, jax.random.key(1)).carry
    rules = step.Rules(optimizer.build(steps), negative, False, 0.0, 1.0, optimizer.is_linear)
    assert resting.applies(model, rules, WIDTH)
    order = jnp.asarray(np.random.default_rng(2).integers(0, 200, (steps, 20)))
    some = [(carry, jnp.asarray(rows), order, jax.random.key(3), WIDTH, rules, Observed())]
    # A second block begins with momentum, and with a count of steps.
    runs = {}
    for name, run in (("plain", step.run), ("resting", resting.run)):
        first, shown = run(*some[0])
        runs[name] = run(first, *some[0][1:])[0], shown
    return runs["plain"], runs["resting"]


@pytest.mark.parametrize(
    ("potential", "optimizer"),
    [
        (vrbm.Penalizing(), Optimizer(learning_rate=0.1)),
        (vrbm.Penalizing(p=2, smooth=True), Optimizer("sgd", learning_rate=0.02)),
        (vrbm.Constant(1.2), Optimizer(learning_rate=0.1, decay_from=0.2)),
    ],
    ids=["momentum", "smooth-sgd", "constant-decay"],
)
def test_resting_equals_moving(potential, optimizer):
    model = settled(potential)
    (plain, shown), (rested, seen) = both(model, optimizer, MeanField(2, "probable"))
    assert seen.misfit < resting.TOLERANCE
    idle = slice(WIDTH, None)
    moved = np.abs(plain.model.b - model.b)[idle].max()
    assert_allclose(rested.model.b[idle], plain.model.b[idle], atol=2e-7 + 2e-3 * moved)
    for name in "Wbc":
        assert_allclose(getattr(rested.model, name), getattr(plain.model, name), atol=2e-5)
    assert_allclose(seen.shown.norms, shown.shown.norms, rtol=2e-3, atol=1e-6)
    assert_allclose(seen.shown.price, shown.shown.price, rtol=2e-6)
    # The bound of a whole span is no lower than those of its steps.
    assert seen.log_missing >= shown.log_missing - 1e-3
    for one, other in zip(
        jax.tree.leaves(plain.optimizer), jax.tree.leaves(rested.optimizer), strict=True
    ):
        assert_allclose(one, other, atol=2e-5)


def test_chains_are_carried_on():
    optimizer = Optimizer(learning_rate=0.05)
    (plain, _), (rested, _) = both(settled(vrbm.Constant(1.0)), optimizer, Persistent(1, 10), 110)
    assert rested.negative.shape == plain.negative.shape == (10, N)
    assert_allclose(rested.model.W, plain.model.W, atol=1e-4)


def test_where_units_may_not_rest():
    model = settled(vrbm.Penalizing())

    def may(model=model, width=WIDTH, optimizer=None, **settings):
        optimizer = optimizer or Optimizer()
        rules = step.Rules(
            optimizer.build(1),
            MeanField(),
            settings.get("centred", False),
            settings.get("penalty", 0.0),
            1.0,
            optimizer.is_linear,
        )
        return resting.applies(model, rules, width)

    assert may()
    assert not may(width=K)
    assert not may(centred=True)
    assert not may(penalty=0.1)
    assert not may(optimizer=Optimizer("adam"))
    assert not may(optimizer=Optimizer(clip_norm=1.0))
    assert not may(settled(vrbm.Local(1.3)))
    assert not may(jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), model))


def test_units_that_pass_through_zero_are_noticed_and_the_block_is_done_again():
    """A layer of idle units whose quanta fall through zero within a span."""
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), N, K, weight_scale=0.05, bias_scale=1e-4, dtype=jnp.float32
    )
    rows = np.random.default_rng(1).choice([-1, 1], (2000, N))
    models = {}
    for use in (True, False):
        config = Config(epochs=1, batch_size=10, window=use, optimizer=Optimizer(learning_rate=1.0))
        (record,) = train(model, rows, config, jax.random.key(2))
        models[use] = record
    assert models[True].repeats > 0
    assert_allclose(models[True].mu, models[False].mu, rtol=1e-3)


def test_the_sums_are_those_of_the_potential():
    model = settled(vrbm.Penalizing())
    for potential in (vrbm.Penalizing(), vrbm.Penalizing(1.5, True), vrbm.Constant(0.7)):
        parts = [potential.sums(model.W[p], model.b[p]) for p in (slice(9), slice(9, None))]
        prices = potential.prices_beside(model.W[:9], model.b[:9], parts[1], model.hidden)
        assert_allclose(prices, potential.prices(model.W, model.b, model.hidden)[:9], rtol=1e-6)
