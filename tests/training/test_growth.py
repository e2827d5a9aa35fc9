"""Layers without an end: their storage grows, shrinks, and does not matter."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_array_equal

import vrbm
from vrbm.data import ising
from vrbm.training import (
    Config,
    Optimizer,
    Persistent,
    Tempered,
    checkpoint,
    growth,
    start,
    train,
)

KEY = jax.random.key(2)


@pytest.fixture(scope="module")
def rows():
    """1,000 configurations of the 4 × 4 Ising torus at several temperatures."""
    parts = [ising.exact_draws(4, t, 200, seed=1) for t in (0.5, 1.5, 2.3, 3.0, 4.5)]
    return np.random.default_rng(0).permutation(np.concatenate(parts))


def layer(units=4, mu=1.0, **options):
    return vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(1), 16, units, potential=vrbm.Unbounded(mu), bias_scale=0.0, **options
    )


def config(**options):
    rule = Optimizer.paper(learning_rate=0.3)
    return Config.paper(epochs=10, batch_size=50, optimizer=rule, seed_scale=1e-4, **options)


@pytest.fixture(scope="module")
def records(rows):
    return list(train(layer(), rows, config(), KEY))


def test_units_are_added_when_they_are_needed(records):
    last = records[-1]
    assert last.state.model.max_hidden == last.window > 4
    assert last.mean_size > 4
    assert sum(record.repeats for record in records) >= 1
    assert last.phase == "regular"
    edge = last.state.model.size_survival(jnp.ones((1, 16)))[0, -1]
    assert edge <= growth.NEEDED


def test_what_is_stored_hardly_matters(records, rows):
    """Seeds that are stored from the beginning, or when they are needed: the same size."""
    small = layer()
    state = start(small, rows, config(), KEY)
    rule = config().optimizer.update_rule(jnp.float64)
    more = growth.grown(state.carry, rule, KEY, config().seed_scale, None)
    more = growth.grown(more, rule, KEY, config().seed_scale, None)
    assert more.model.max_hidden > records[-1].window
    [*_, last] = train(None, rows, config(), state=replace(state, carry=more))
    assert last.mean_size == pytest.approx(records[-1].mean_size, rel=0.02)


@pytest.mark.parametrize("negative", [Persistent(), Tempered(betas=4, chains=20)])
def test_units_that_are_off_are_added_off(rows, negative):
    """With replica exchange too, although units that are off are on in hot replicas."""
    potential = vrbm.Unbounded(0.3, absorb_log2=False)
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(1), 16, 20, hidden=vrbm.Binary(), potential=potential, bias_scale=0.0
    )
    slow = replace(config(), optimizer=Optimizer.paper(learning_rate=0.03), negative=negative)
    record = next(train(model, rows, slow, KEY))
    assert record.repeats == 1
    grown = record.state.model
    assert grown.b[-1] == pytest.approx(potential.seed_bias, abs=0.1)
    assert grown.size_survival(rows)[:, -1].max() <= growth.NEEDED
    enough = growth.spare(0.3)
    left = np.exp(-0.3 * 3 / 4 * np.array([enough - 1, enough]))
    assert left[1] <= growth.NEEDED / 4 < left[0]
    assert growth.spare(1e-30) == growth.MOST


def test_no_more_units_than_allowed(rows):
    *_, last = train(layer(), rows, config(max_units=6), KEY)
    assert last.state.model.max_hidden == 6
    assert last.phase == "saturated"


def test_a_run_goes_on_bit_by_bit_across_growth(records, rows, tmp_path):
    before = next(r for r in records if r.window < records[-1].window)
    path = tmp_path / "checkpoint"
    checkpoint.save(path, before.state, config(), "hash")
    state, settings = checkpoint.load(path, rows, "hash")
    *_, last = train(None, rows, settings, state=state)
    for name in "Wbc":
        assert_array_equal(getattr(last.state.model, name), getattr(records[-1].state.model, name))


@pytest.mark.parametrize(("rule", "stiff"), [("momentum", 2), ("adam", 0)])
def test_everything_that_belongs_to_a_unit_is_resized(rows, rule, stiff):
    settings = config(negative=Persistent(1, 20))
    settings = replace(settings, optimizer=Optimizer.paper(rule, 0.01), centred=True, stiff=stiff)
    *_, last = train(layer(20, mu=0.3), rows, replace(settings, epochs=1, max_units=20), KEY)
    carry = last.state.carry
    rule_of_steps = settings.optimizer.update_rule(jnp.float64)
    more = growth.grown(carry, rule_of_steps, KEY, 1e-3, None)
    assert more.model.max_hidden == len(more.h_offset) == 32
    back = growth.shrunk(more, rule_of_steps, np.where(np.arange(32) < 19, 1.0, 0.0))
    assert back.model.max_hidden == 24
    for old, new in zip(jax.tree.leaves(carry), jax.tree.leaves(back), strict=True):
        if new.shape[:1] == (24,):
            assert_array_equal(new[:20], old)
        else:
            assert_array_equal(new, old)
    assert growth.shrunk(carry, rule_of_steps, np.ones(20)) is carry


def test_seeds_depend_on_the_unit_alone(rows):
    carry = start(layer(), rows, config(), KEY).carry
    rule = config().optimizer.update_rule(jnp.float64)
    once = growth.grown(growth.grown(carry, rule, KEY, 1e-3, 7), rule, KEY, 1e-3, 9)
    assert_array_equal(once.model.W, growth.grown(carry, rule, KEY, 1e-3, 9).model.W)
    assert 0.5e-3 < np.std(once.model.W[4:]) < 2e-3


def test_a_price_that_is_too_low(rows, monkeypatch):
    monkeypatch.setattr(growth, "MOST", 8)
    with pytest.raises(ValueError, match="take a larger price, or set a limit"):
        list(train(layer(mu=0.01), rows, config(), KEY))


def test_a_rate_that_is_too_large(rows, monkeypatch):
    """Nothing overflows: each new unit is put to use."""
    monkeypatch.setattr(growth, "PER_VISIBLE", 1)
    monkeypatch.setattr(growth, "NARROW", 1)
    fast = replace(config(), optimizer=Optimizer.paper(learning_rate=30.0))
    with pytest.raises(ValueError, match="lower the learning rate"):
        list(train(layer(), rows, fast, KEY))


def test_limits_that_make_no_sense(rows):
    with pytest.raises(ValueError, match="begins with 4 hidden units"):
        train(layer(), rows, config(max_units=3), KEY)
    state = start(layer(), rows, config(), KEY)
    with pytest.raises(ValueError, match="begins with 4 hidden units"):
        train(None, rows, config(max_units=3), state=state)
    bounded = vrbm.GrandCanonicalRBM.initialize(KEY, 16, 4)
    with pytest.raises(ValueError, match="ends at max_hidden = 4"):
        train(bounded, rows, config(max_units=8), KEY)
    with pytest.raises(ValueError, match="seed_scale is 0"):
        Config.paper(seed_scale=0.0)


def test_an_optimizer_that_cannot_follow(rows):
    flat = optax.flatten(optax.adam(1e-3))
    with pytest.raises(ValueError, match="cannot follow a layer without an end"):
        list(train(layer(), rows, config(), KEY, optimizer=flat))
