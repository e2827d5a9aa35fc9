import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from vrbm.data.arrays import from_array
from vrbm.data.dataset import Domain
from vrbm.data.digits import digits
from vrbm.training import (
    Config,
    Diverged,
    Gibbs,
    MeanField,
    Optimizer,
    Persistent,
    Tempered,
    loop,
    train,
    window,
)
from vrbm.training import step as steps
from vrbm.training.config import Plan
from vrbm.training.gradient import Parameters, gradient
from vrbm.training.monitor import measure
from vrbm.training.observed import Observed
from vrbm.training.source import OnDevice, Streamed

KEY = jax.random.key(0)


def known_model():
    """8 visible units with clear structure: a model of 4 hidden units, all sizes in play."""
    rng = np.random.default_rng(8)
    return vrbm.GrandCanonicalRBM(
        1.2 * rng.normal(size=(4, 8)) / 1.5,
        0.3 * rng.normal(size=4),
        0.2 * rng.normal(size=8),
        potential=vrbm.Constant(0.3),
    )


@pytest.mark.parametrize(
    "negative", [Persistent(5, 500), Tempered(2, 4, 200)], ids=["persistent", "tempered"]
)
def test_sampled_training_recovers_a_known_model(negative):
    """Mean log-likelihood within 0.01 nats of the entropy of the data's own distribution.

    The data are the 256 states, each in proportion to its probability: no sampling of data.
    """
    truth = known_model()
    p = np.asarray(vrbm.exact.visible_probabilities(truth))
    v = vrbm.exact.states(truth.visible, 8)
    counts = np.floor(p * 20_000 + np.random.default_rng(0).uniform(size=256)).astype(int)
    rows = np.repeat(v, counts, axis=0)
    q = counts / counts.sum()
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(1), 8, 12, data=rows, weight_scale=0.05, potential=vrbm.Constant(0.3)
    )
    config = Config.paper(
        epochs=40,
        batch_size=200,
        negative=negative,
        optimizer=Optimizer.paper("adam", learning_rate=0.02, decay_from=0.3),
    )
    *_, last = train(model, rows, config, KEY)
    entropy = -(q[q > 0] @ np.log(q[q > 0]))
    log_likelihood = q @ np.asarray(vrbm.exact.log_probability(last.state.model, v))
    assert -entropy - log_likelihood < 0.01
    assert len(last.swap_rates) == (3 if isinstance(negative, Tempered) else 0)


def small(**settings):
    settings = {"epochs": 3, "monitor_rows": 50, **settings}
    return Config.paper(**settings)


def model_of(data, **options):
    options = {"max_hidden": 40, **options}
    return vrbm.GrandCanonicalRBM.initialize(KEY, data.n_visible, **options)


def test_records_say_what_they_should():
    data = digits()
    records = list(train(model_of(data), data, small(), KEY))
    assert [record.epoch for record in records] == [1, 2, 3]
    last = records[-1]
    assert last.error_train > 0
    assert last.error_heldout > 0
    assert 1 <= last.mean_size <= 40
    assert last.mu >= 1
    assert last.learning_rate == small().optimizer.learning_rate
    assert set(last.gradient_norms) == set("Wbc")
    assert last.window <= 40
    assert last.phase in ("regular", "collapsed", "saturated")
    facts = last.facts()
    assert "state" not in facts
    assert facts["epoch"] == 3
    model = last.state.model
    rows = data.train[np.unique(np.linspace(0, len(data.train) - 1, 50).astype(int))]
    assert_allclose(last.mean_size, model.mean_size(rows).mean(), rtol=1e-9)
    _, info = MeanField()(model, None, jnp.asarray(rows, float), KEY)
    assert_allclose(last.error_train, ((rows - info.v) ** 2).sum(axis=1).mean(), rtol=1e-9)
    test = data.test[np.unique(np.linspace(0, len(data.test) - 1, 50).astype(int))]
    gap = model.free_energy(rows).mean() - model.free_energy(test).mean()
    assert_allclose(last.free_energy_gap, gap, rtol=1e-7)


def test_the_same_key_gives_the_same_training():
    data = digits()
    one, two, other = (
        list(train(model_of(data), data, small(negative=Gibbs()), key))[-1].state.model
        for key in (KEY, KEY, jax.random.key(1))
    )
    assert_array_equal(one.W, two.W)
    assert (one.W != other.W).any()


def test_going_on_is_as_if_there_had_been_no_pause():
    data = digits()
    config = small(epochs=4, negative=Persistent(1, 20), centred=True)
    whole = list(train(model_of(data), data, config, KEY))
    again = list(train(None, data, config, state=whole[1].state))
    assert [record.epoch for record in again] == [3, 4]
    for mine, theirs in zip(
        jax.tree.leaves(again[-1].state.carry), jax.tree.leaves(whole[-1].state.carry), strict=True
    ):
        assert_array_equal(mine, theirs)


@pytest.mark.parametrize("visible", [vrbm.Spin(), vrbm.Binary()])
def test_codings_of_the_same_data_are_the_same_training(visible):
    data = digits()
    rows = data.train[:200]
    models = [
        list(train(model_of(data, visible=visible), other, small(epochs=1), KEY))[-1].state.model
        for other in (rows, (rows + 1) // 2, (rows > 0))
    ]
    assert_array_equal(models[0].W, models[1].W)
    assert_array_equal(models[0].W, models[2].W)


def test_grey_values_are_mean_values():
    rng = np.random.default_rng(0)
    grey = rng.uniform(size=(300, 6)).astype(np.float32)
    model = vrbm.GrandCanonicalRBM.initialize(KEY, 6, 10, visible=vrbm.Binary())
    *_, last = train(model, grey, small(), KEY)
    assert np.isfinite(last.error_train)


def test_data_larger_than_the_device_stream(tmp_path, monkeypatch):
    """A memory-mapped file in blocks: the model learns, and a pause does not matter."""
    data = digits()
    path = tmp_path / "rows.npy"
    np.save(path, np.tile(data.train, (3, 1)))
    mapped = from_array(np.load(path, mmap_mode="r"))
    monkeypatch.setattr(
        loop, "Streamed", partial(Streamed, chunk_rows=700)
    )  # several blocks, the last one shorter
    config = small(device_bytes=1000, batch_size=50, negative=Persistent(1, 20))
    records = list(train(model_of(data), mapped, config, KEY))
    assert records[-1].error_train < records[0].error_train
    again = list(train(None, mapped, config, state=records[0].state))
    assert_array_equal(again[-1].state.model.W, records[-1].state.model.W)


@pytest.mark.parametrize(
    ("potential", "cut", "again"),
    [(vrbm.Penalizing(), 40, 0), (vrbm.Penalizing(), None, 4), (vrbm.Unbounded(1.0), None, 0)],
    ids=["as-before", "cut-elsewhere", "without-an-end"],
)
def test_looks_taken_ahead_are_those_taken_when_due(potential, cut, again, monkeypatch):
    """A look is taken again where the layer is to be cut elsewhere: at a new width each time."""
    data, looks = digits(), []
    model = model_of(data, max_hidden=40, weight_scale=0.1, potential=potential)
    look, widths = loop.Monitor._look, iter(range(36, 41))
    monkeypatch.setattr(
        loop.Monitor, "_look", lambda *arguments: looks.append(1) or look(*arguments)
    )
    if not potential.is_unbounded:
        monkeypatch.setattr(window, "enough", lambda model, steps: cut or next(widths))
        monkeypatch.setattr(window, "fitting", min)
    ahead = [record.facts() for record in train(model, data, small(epochs=5), KEY)]
    assert len(looks) == 5 + again
    widths = iter(range(36, 41))
    monkeypatch.setattr(loop.Monitor, "begin", lambda *arguments: None)
    due = [record.facts() for record in train(model, data, small(epochs=5), KEY)]
    assert len(looks) == 10 + again
    for one, other in zip(ahead, due, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_an_order_prepared_is_the_one_found_when_due():
    rows = np.arange(30, dtype=np.int8).reshape(10, 3)
    source = OnDevice(rows, 4)
    source.prepare(1, KEY)
    source.prepare(1, KEY)
    ((_, order),) = source.blocks(1, KEY)
    ((_, expected),) = OnDevice(rows, 4).blocks(1, KEY)
    assert_array_equal(order, expected)
    assert not source.ready


def test_a_stream_gives_each_row_once_an_epoch():
    rows = np.unpackbits(np.arange(1003, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1)
    source = Streamed(rows, vrbm.Spin(), Domain.BINARY, 10, seed=3, chunk_rows=128)
    assert source.batches == 100
    orders = []
    for epoch in (0, 1, 0):
        blocks = [
            np.asarray(block)[np.asarray(order)] for block, order in source.blocks(epoch, KEY)
        ]
        assert all(block.shape[1:] == (10, 16) for block in blocks)
        seen = np.concatenate([block.reshape(-1, 16) for block in blocks])
        numbers = ((seen + 1) // 2) @ 2 ** np.arange(15, -1, -1)
        assert len(numbers) == 1000 == len(set(numbers.tolist()))
        orders.append(numbers)
    assert (orders[0] == orders[2]).all()
    assert (orders[0] != orders[1]).any()


def test_one_step_is_the_update_of_the_paper():
    """λ + γ (1 − β) ∂, with ∂ of the first batch, through the whole loop."""
    data = digits()
    rows = data.train[:40]
    model = model_of(data, weight_scale=0.1)
    config = small(
        epochs=1, batch_size=40, optimizer=Optimizer.paper(learning_rate=0.2, momentum=0.8)
    )
    (record,) = train(model, rows, config, KEY)
    v = jnp.asarray(rows, float)
    _, info = MeanField()(model, None, v, KEY)

    def contrast(m):
        return m.free_energy(info.v).mean() - m.free_energy(v).mean()

    expected = jax.grad(contrast)(model)
    for name in "Wbc":
        change = getattr(record.state.model, name) - getattr(model, name)
        assert_allclose(change, 0.2 * 0.2 * getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("limit", [0, 1000])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("length", [1, 3, 4, 9])
def test_rows_are_taken_whole(length, dtype, limit, monkeypatch):
    monkeypatch.setattr(steps, "AT_ONCE", limit)
    rows = np.random.default_rng(0).integers(-1, 2, (20, length)).astype(dtype)
    order = jnp.asarray([[3, 0, 19, 3], [1, 2, 3, 4]])
    found = steps.in_order(jnp.asarray(rows), order)
    if dtype == np.float32 or limit == 0:
        assert found is None
    else:
        assert found.dtype == dtype
        assert_array_equal(found, rows[np.asarray(order)])


def test_steps_on_rows_in_order_are_those_on_rows_looked_up(monkeypatch):
    model = vrbm.GrandCanonicalRBM.initialize(KEY, 5, 3)
    rows = np.random.default_rng(0).choice([-1, 1], (20, 5)).astype(np.int8)
    config = small()
    rules = steps.Rules(config.optimizer.update_rule(model.W.dtype), config.negative)
    rates = jnp.full(4, config.optimizer.learning_rate)
    order = jnp.asarray(np.random.default_rng(1).integers(0, 20, (4, 6)))
    found = []
    for limit in (0, 1000):
        monkeypatch.setattr(steps, "AT_ONCE", limit)
        carry = loop.start(model, rows, config, KEY).carry
        inputs = jnp.zeros(0), jnp.asarray(rows), order, rates, jax.random.split(KEY, 4), 3, rules
        new, *_ = steps.scan(carry, *inputs, steps.Alone(), Observed())
        found.append(new.model.W)
    assert np.abs(found[0] - model.W).max() > 1e-6
    assert_allclose(*found, rtol=1e-12)


def test_parameters_that_overflow_in_the_last_step_are_found():
    data = digits()
    model = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), model_of(data, weight_scale=1.0))
    config = small(epochs=1, batch_size=2000, optimizer=Optimizer.paper("sgd", learning_rate=3e38))
    with pytest.raises(Diverged, match="step 1 of epoch 1"):
        list(train(model, data, config, KEY))


def test_one_number_that_is_none_is_found():
    """A maximum over many numbers may pass over a NaN."""
    data = digits()

    def spoil(updates, state, params=None):
        return Parameters(updates.W.at[3, 3].set(jnp.nan), updates.b, updates.c), state

    optimizer = optax.GradientTransformation(lambda params: optax.EmptyState(), spoil)
    model = model_of(data, max_hidden=128)
    config = small(epochs=1, batch_size=2000)
    with pytest.raises(Diverged, match="W or its gradient is not finite, or far too"):
        list(train(model, data, config, KEY, optimizer=optimizer))


def test_clipping_limits_the_step():
    data = digits()
    config = small(epochs=1, batch_size=2000, optimizer=Optimizer.paper("sgd", 1.0, clip_norm=1e-3))
    model = model_of(data)
    (record,) = train(model, data, config, KEY)
    change = jax.tree.map(jnp.subtract, record.state.model, model)
    total = sum(float((getattr(change, name) ** 2).sum()) for name in "Wbc")
    assert_allclose(np.sqrt(total), 1e-3, rtol=1e-6)


def test_any_optax_optimizer():
    data = digits()
    *_, last = train(model_of(data), data, small(), KEY, optimizer=optax.lion(1e-3))
    assert np.isfinite(last.error_train)


def test_callbacks_end_the_training():
    data = digits()
    seen = []

    def stop(record):
        seen.append(record.epoch)
        return record.epoch == 2

    records = list(train(model_of(data), data, small(epochs=9), KEY, callbacks=[stop]))
    assert seen == [1, 2] == [record.epoch for record in records]


def test_learning_rate_schedule():
    data = digits()
    config = small(epochs=4, optimizer=Optimizer.paper(learning_rate=0.2, decay_from=0.5))
    rates = [record.learning_rate for record in train(model_of(data), data, config, KEY)]
    assert rates[0] == rates[1] == pytest.approx(0.2)
    assert rates[1] > rates[2] > rates[3]


def test_the_rate_is_a_product_of_the_schedules_of_optax():
    optimizer = Optimizer.paper(learning_rate=0.2, decay_from=0.25, warm_up=0.2, growth=30.0)
    risen = optax.linear_schedule(1 / 8, 1.0, 7)
    grown = optax.exponential_decay(0.2, 40, 30.0)
    left = optax.linear_schedule(1.0, 0.0, 30, 10)
    steps = [0, 1, 7, 8, 9, 10, 11, 25, 39, 40]
    expected = [float(risen(step) * grown(step) * left(step)) for step in steps]
    assert_allclose(optimizer.rates(steps, 40), expected, rtol=1e-6, atol=1e-12)


def test_a_search_has_its_own_rate_and_a_slow_rise():
    optimizer = Optimizer(learning_rate=0.5).resolved(2.0, finds_size=True)
    ordinary = Optimizer(learning_rate=0.5, warm_up=0.1).resolved(2.0, finds_size=False)
    assert ordinary.search_rate is None
    assert Optimizer().resolved(2.0, finds_size=False).warm_up == 0.02
    steps = np.arange(100)
    assert_allclose(optimizer.rates(steps, 100, is_search=True), 4 * ordinary.rates(steps, 100))
    assert_allclose(optimizer.rates(steps, 100), ordinary.rates(steps, 100))


def test_a_run_is_divided_into_layers_that_are_tried_and_the_training_of_one():
    model = vrbm.GrandCanonicalRBM.initialize(
        KEY, 4, 4, visible=vrbm.Binary(), hidden=vrbm.Binary(), potential=vrbm.Reservoir()
    )
    config = Config(batch_size=50).resolved(model, 1000)
    assert config.plan == Plan(12, 80, (160, 320), 400)
    assert config.n_epochs == 12 * 80 + 160 + 320 + 400
    assert Config(epochs=5, batch_size=50).resolved(model, 1000).plan == Plan(3, 1, (), 2)
    for epochs in range(1, 90):
        plan = Config(epochs=epochs, batch_size=50).resolved(model, 1000).plan
        assert plan.levels * plan.level + sum(plan.trials) + plan.training == epochs
        assert plan.training >= 1
    assert Config(epochs=1, batch_size=50).resolved(model, 1000).plan == Plan(training=1)
    assert Config(epochs=8, sizing=False).resolved(model, 1000).plan == Plan(training=8)


def test_the_rate_of_a_search_is_that_of_adam():
    assert (
        Optimizer(rule="adam", learning_rate=0.5).resolved(2.0, finds_size=True).search_rate == 0.5
    )


@pytest.mark.parametrize("rate", [1e3, 1e10, 1e37])
def test_weights_that_no_model_has_are_a_divergence(rate):
    """Finite, and no model all the same."""
    data = digits()
    config = small(epochs=1, optimizer=Optimizer.paper("sgd", learning_rate=rate))
    with pytest.raises(Diverged, match="far too large"):
        list(train(model_of(data), data, config, KEY))


def test_divergence_is_explained():
    data = digits()
    config = small(optimizer=Optimizer.paper("sgd", learning_rate=1e38))
    model = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), model_of(data, weight_scale=1.0))
    with pytest.raises(Diverged, match=r"[Wbc] or its gradient .* in step \d+ of epoch 1.*Likely"):
        list(train(model, data, config, KEY))


def test_phases():
    data = digits()
    cheap = model_of(data, potential=vrbm.Constant(-1.0))
    (record,) = train(cheap, data, small(epochs=1), KEY)
    assert record.phase == "saturated"
    (record,) = train(model_of(data, potential=vrbm.FixedSize()), data, small(epochs=1), KEY)
    assert record.phase == "fixed"
    assert record.window == 40
    dear = model_of(data, potential=vrbm.Constant(8.0))
    (record,) = train(dear, data, small(epochs=1), KEY)
    assert record.phase == "collapsed"


@pytest.mark.parametrize("rows", [np.ones((1, 5)), np.ones((30, 5)), np.eye(5)[:, :1]])
def test_odd_data(rows):
    """One row, constant columns, one column: trained without a word."""
    model = vrbm.GrandCanonicalRBM.initialize(KEY, rows.shape[1], 7, data=rows)
    *_, last = train(model, rows, small(), KEY)
    assert np.isfinite(last.error_train)
    assert last.error_heldout is None
    assert last.free_energy_gap is None


def test_bad_input():
    data = digits()
    with pytest.raises(ValueError, match="has 64 values in a row, but the model has 5 visible"):
        train(vrbm.GrandCanonicalRBM.initialize(KEY, 5, 3), data, small(), KEY)
    with pytest.raises(ValueError, match="model is None"):
        train(None, data, small(), KEY)
    (record,) = train(model_of(data), data, small(epochs=1), KEY)
    with pytest.raises(ValueError, match="state is given, and holds model and key"):
        train(model_of(data), data, small(), state=record.state)
    with pytest.raises(ValueError, match="holds nan in row 0, column 1"):
        train(model_of(data), np.array([[1, np.nan]]), small(), KEY)
    for wrong, message in (
        ({"epochs": 0}, "epochs is 0"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"penalty": -1.0}, "penalty is -1.0"),
        ({"penalty_power": 0.5}, "penalty_power is 0.5"),
        ({"stiff": -1}, "stiff is -1: pass a whole number of at least 0"),
        ({"stiff": 2, "negative": MeanField()}, "stiff is 2, with MeanField and"),
        ({"stiff": 2, "optimizer": Optimizer.paper("adam")}, "and adam: take persistent"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(small(), **wrong)
    for wrong, message in (
        ({"learning_rate": -0.1}, "learning_rate is -0.1"),
        ({"momentum": 1.0}, "momentum is 1.0"),
        ({"decay_from": 2.0}, "decay_from is 2.0"),
        ({"warm_up": -0.1}, "warm_up is -0.1"),
        ({"search_rate": -0.2}, "search_rate is -0.2"),
        ({"clip_norm": -1.0}, "clip_norm is -1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            Optimizer.paper(**wrong)


def test_an_optimizer_that_knows_the_tree_of_parameters():
    """Different rules for W, b and c, by optax.partition."""
    kinds = Parameters("moved", "still", "still")
    rules = {"moved": optax.sgd(0.1), "still": optax.set_to_zero()}
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 6, 8, weight_scale=0.1)
    rows = np.random.default_rng(0).choice([-1, 1], (40, 6))
    config = Config.paper(epochs=1, batch_size=20)
    (record,) = train(model, rows, config, optimizer=optax.partition(rules, kinds))
    assert (record.state.model.b == model.b).all()
    assert (record.state.model.W != model.W).any()


@pytest.mark.parametrize(
    ("observed", "match"),
    [
        (Observed(weights=jnp.ones(5)), r"observed.weights has shape \(5,\), but there are 40"),
        (Observed(weights=jnp.zeros(40)), "not positive and finite"),
        (Observed(missing=jnp.zeros((40, 5), bool)), r"observed.missing has shape \(40, 5\)"),
    ],
)
def test_what_is_known_of_the_rows_must_fit_them(observed, match):
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 6, 8)
    rows = np.random.default_rng(0).choice([-1, 1], (40, 6))
    with pytest.raises(ValueError, match=match):
        train(model, rows, Config.paper(), observed=observed)


@pytest.mark.parametrize("negative", [MeanField(), Persistent(chains=4)])
def test_weights_count_on_average_over_batches(negative):
    """The mean of weighted gradients over all batches of one row is that of repeated rows."""
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), 5, 4, weight_scale=0.5, dtype=jnp.float64
    )
    v = jnp.asarray(np.random.default_rng(1).choice([-1.0, 1.0], (6, 5)))
    w = jnp.asarray([1.0, 1, 1, 1, 4, 4])
    w = w / w.mean()
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, 4)
    state = negative.start(view, v, jax.random.key(2))

    def at(rows, weights):
        _, info = negative(view, state, rows, jax.random.key(3))
        return gradient(model, pull, info.data, view.response(info.v), info.residual, weights)[0]

    singles = [at(v[n : n + 1], w[n : n + 1]) for n in range(6)]
    copies = at(jnp.repeat(v, np.array([1, 1, 1, 1, 4, 4]), axis=0), None)
    for *parts, whole in zip(*singles, copies, strict=True):
        np.testing.assert_allclose(np.mean(parts, axis=0), whole, atol=1e-12)


def test_an_error_in_the_thread_that_orders_rows_is_raised(monkeypatch):
    def broken(key, n):
        raise MemoryError("no room for the order")

    monkeypatch.setattr("vrbm.training.source.random.permutation", broken)
    rows = vrbm.exact.states(vrbm.Spin(), 8)[:40]
    with pytest.raises(MemoryError, match="no room"):
        next(train(known_model(), rows, Config.paper(epochs=2, batch_size=10), KEY))


def test_one_look_at_all_rows_is_a_look_at_each_part():
    model = known_model()
    rows = vrbm.exact.states(vrbm.Spin(), 8)
    parts = [rows[:30], rows[40:97]]
    whole = measure(model, parts, KEY, MeanField(), model.max_hidden)
    for part, found in zip(parts, whole, strict=True):
        (alone,) = measure(model, [part], KEY, MeanField(), model.max_hidden)
        assert found.keys() == alone.keys()
        for name, value in found.items():
            assert_allclose(value, alone[name], rtol=1e-12)


def test_a_window_doubles_until_the_layer_is_settled(monkeypatch):
    model = vrbm.GrandCanonicalRBM.initialize(KEY, 8, 500)
    for needed, width, is_settled, expected in (
        (50, 64, False, 64),
        (10, 64, False, 16),
        (70, 64, False, 128),
        (70, 64, True, 80),
        (150, 64, False, 160),
    ):
        monkeypatch.setattr(window, "needed", lambda *_, needed=needed: needed)
        assert loop._next_width(model, np.ones(1), width, np.ones(500), is_settled) == expected
