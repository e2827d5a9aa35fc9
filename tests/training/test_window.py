"""A training with a window equals the full one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from vrbm.data import ising
from vrbm.training import (
    Config,
    Gibbs,
    MeanField,
    Optimizer,
    Persistent,
    Tempered,
    train,
    window,
)
from vrbm.training.tempered import tempered


@pytest.fixture(scope="module")
def rows():
    """2,000 configurations of the 4 × 4 Ising torus at several temperatures."""
    parts = [ising.exact_draws(4, t, 400, seed=1) for t in (0.5, 1.5, 2.3, 3.0, 4.5)]
    return np.random.default_rng(0).permutation(np.concatenate(parts))


def trained(rows, config, potential, dtype, max_hidden=500, **options):
    options = {"potential": potential, "dtype": dtype, "weight_scale": 1e-2, **options}
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(1), 16, max_hidden, **options)
    return list(train(model, rows, config, jax.random.key(2)))


@pytest.mark.parametrize("absorb_log2", [True, False])
@pytest.mark.parametrize(
    ("dtype", "steps", "tolerance"), [(jnp.float64, 200, 1e-9), (jnp.float32, 20, 1e-5)]
)
def test_windowed_training_equals_full_training(rows, absorb_log2, dtype, steps, tolerance):
    potential = vrbm.Penalizing(absorb_log2=absorb_log2)
    records = {}
    for use in (True, False):
        config = Config.paper(
            epochs=steps // 20, window=use, optimizer=Optimizer.paper(learning_rate=0.3)
        )
        records[use] = trained(rows, config, potential, dtype)
    assert max(record.window for record in records[True]) < 400
    assert all(record.window == 500 for record in records[False])
    narrow, full = (records[use][-1].state.model for use in (True, False))
    for name in "Wbc":
        assert_allclose(getattr(narrow, name), getattr(full, name), atol=tolerance, err_msg=name)


@pytest.mark.parametrize(
    "negative",
    [
        Gibbs(2),
        Persistent(2, 50),
        MeanField(1, "sample"),
        MeanField(2, "probable"),
        Tempered(1, 3, 30),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize(
    ("potential", "hidden"),
    [
        (vrbm.Constant(0.8), vrbm.Spin()),
        pytest.param(vrbm.Local(1.3, absorb_log2=True), vrbm.Binary(), marks=pytest.mark.slow),
    ],
    ids=["constant-spin", "local-binary"],
)
def test_with_every_kind_of_negative_phase(rows, negative, potential, hidden):
    models = []
    for use in (True, False):
        config = Config.paper(epochs=2, window=use, negative=negative, centred=True, penalty=1e-3)
        records = trained(rows, config, potential, jnp.float64, 300, hidden=hidden)
        assert (max(record.window for record in records) < 300) == use
        models.append(records[-1].state.model)
    for name in "Wbc":
        assert_allclose(getattr(models[0], name), getattr(models[1], name), atol=1e-9)


def test_idle_units_follow_the_price(rows):
    """Units beyond the window are moved by −∂μ Δz alone, and they are moved."""
    before = vrbm.GrandCanonicalRBM.initialize(jax.random.key(1), 16, 500, weight_scale=1e-2)
    (record,) = train(before, rows, Config.paper(epochs=1), jax.random.key(2))
    idle = slice(record.window, None)
    change = np.asarray(record.state.model.b - before.b)[idle]
    assert (change != 0).all()
    assert abs(change).max() < 1e-2


def test_a_window_that_is_too_narrow_is_found_and_widened(rows):
    from dataclasses import replace

    from vrbm.training import start

    config = Config.paper(epochs=2, optimizer=Optimizer.paper(learning_rate=0.3))
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(1), 16, 60, potential=vrbm.Constant(0.3), weight_scale=1e-2
    )
    state = start(model, rows, config, jax.random.key(2))
    squeezed = replace(state, width=window.widths(60)[0])
    narrow = list(train(None, rows, config, state=squeezed))
    full = list(train(None, rows, replace(config, window=False), state=state))
    assert narrow[0].repeats > 0
    assert_allclose(narrow[-1].state.model.W, full[-1].state.model.W, atol=1e-9)


UNIT_PAIRS = [(v, h) for v in (vrbm.Spin(), vrbm.Binary()) for h in (vrbm.Spin(), vrbm.Binary())]


@pytest.mark.parametrize(("visible", "hidden"), UNIT_PAIRS)
def test_the_bounds_hold_for_every_v(visible, hidden):
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), 6, 9, weight_scale=0.5, visible=visible, hidden=hidden
    )
    v = vrbm.exact.states(visible, 6)
    log_weights = np.c_[np.zeros(64), -model.free_energy_by_size(v) - (v @ model.c)[:, None]]
    prices = model.prices()
    largest = np.asarray(window.largest_steps(model, prices))
    assert (np.diff(log_weights, axis=1) <= largest + 1e-12).all()
    for beta in (0.0, 0.4, 1.0):
        replica = tempered(window.narrow(model, prices, 9), jnp.asarray(beta), model.c)
        p = np.asarray(replica.size_probabilities(v))
        for A, log_tail in enumerate(window.log_tails(model)[:-1], start=1):
            cut = tempered(window.narrow(model, prices, A), jnp.asarray(beta), model.c)
            log_edge = np.asarray(cut.size_log_probabilities(v))[:, -1]
            missing = p[:, A:] @ np.arange(1, 10 - A)
            assert (missing <= np.exp(log_edge + log_tail) * (1 + 1e-9)).all()


def test_tails_are_the_sums_that_they_should_be():
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 3, 6, weight_scale=0.3)
    prices = model.prices()
    steps = np.asarray(window.largest_steps(model, prices))
    for A in range(1, 6):
        expected = sum((z - A) * np.exp(steps[A:z].sum()) for z in range(A + 1, 7))
        assert_allclose(np.exp(window.log_tails(model)[A - 1]), expected, rtol=1e-12)
        assert_allclose(np.exp(window.log_tail(model, prices, A)), expected, rtol=1e-12)
    assert window.log_tails(model)[-1] == -np.inf == window.log_tail(model, prices, 6)


def test_an_ordinary_rbm_has_no_window():
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 4, 40, potential=vrbm.FixedSize())
    tails = window.log_tails(model)
    assert window.needed(np.zeros(40), tails, np.dtype(float)) == 40
    assert window.log_tail(model, model.prices(), 39) == np.inf


def test_strong_units_behind_many_idle_ones_are_not_lost():
    """P(z = 16) underflows in float32 while later units matter on some rows: no short cut."""
    W = np.zeros((30, 8), np.float32)
    W[24:] = 12.0
    model = vrbm.GrandCanonicalRBM(
        W, np.zeros(30, np.float32), np.zeros(8, np.float32), potential=vrbm.Constant(10.0)
    )
    rng = np.random.default_rng(0)
    rows = rng.choice([-1, 1], (400, 8))
    rows[300:] = 1
    models = []
    for use in (True, False):
        config = Config.paper(
            epochs=1, window=use, optimizer=Optimizer.paper("sgd", learning_rate=0.1)
        )
        (record,) = train(model, rows, config, jax.random.key(2))
        models.append(record.state.model)
    for name in "Wbc":
        assert_allclose(getattr(models[0], name), getattr(models[1], name), atol=1e-5)


@pytest.mark.parametrize("size", [1, 5, 16, 17, 100, 2000])
def test_widths_are_few_and_end_at_k(size):
    ladder = window.widths(size)
    assert ladder[-1] == size
    assert ladder == sorted(set(ladder))
    assert len(ladder) < 20
    assert window.fitting(size, size + 5) == size
    assert window.fitting(size, 1) == ladder[0]
