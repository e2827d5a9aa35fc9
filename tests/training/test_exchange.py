"""Units exchanged with a reservoir: how layers begin, and the sizes that are found."""

import warnings
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vrbm import VRBM, GrandCanonicalRBM, Reservoir
from vrbm.model import Binary, Spin
from vrbm.training import (
    Config,
    Gibbs,
    MeanField,
    Optimizer,
    Persistent,
    checkpoint,
    exchange,
    train,
)
from vrbm.training.observed import Observed
from vrbm.training.source import as_dataset


def factors(count: int, rows: int, columns: int = 6, seed: int = 0) -> np.ndarray:
    """Rows of so many binary factors, each with some noisy columns of its own."""
    random = np.random.RandomState(seed)
    of_columns = np.repeat(random.randint(0, 2, (rows, count)), columns, axis=1)
    return (random.rand(*of_columns.shape) < np.where(of_columns, 0.9, 0.1)).astype(np.float32)


def model(W: list, b: list, unit: type = Binary) -> GrandCanonicalRBM:
    """A model without visible biases."""
    return GrandCanonicalRBM(
        np.array(W, np.float32),
        np.array(b, np.float32),
        np.zeros(len(W[0]), np.float32),
        unit(),
        unit(),
        Reservoir(),
    )


def test_constant_columns_have_no_births() -> None:
    rows = factors(2, 200).astype(float)
    rows[:, 3] = 1
    W = exchange.births(rows, 20, np.random.RandomState(0))
    W = exchange.weakened(W, rows.std(axis=0))
    assert np.isfinite(W).all()
    assert not W[:, 3].any()
    assert W.any(axis=1).all()


def test_weak_units_do_not_order_by_themselves() -> None:
    """A unit alone has the amplitude allowed, many that are alike share it."""
    sd = np.full(6, 0.5)
    one = exchange.weakened(np.full((1, 6), 3.0), sd) * sd
    assert np.linalg.norm(one) == pytest.approx(exchange.BIRTH_SCALE)
    alike = exchange.weakened(np.full((500, 6), 3.0), sd) * sd
    assert np.linalg.eigvalsh(alike.T @ alike / 4)[-1] == pytest.approx(exchange.COUPLING)
    tiny = np.full((2, 6), 1e-3)
    np.testing.assert_allclose(exchange.weakened(tiny, sd), tiny)


@pytest.mark.parametrize("unit", [Binary, Spin])
def test_units_that_are_off_change_nothing(unit: type) -> None:
    small = model([[0.5, -1.0, 2.0]], [0.3], unit)
    config = Config(epochs=1, batch_size=2, looks=0, sizing=False)
    rows = np.array([[1, 0, 1], [0, 1, 0]], np.int8)
    rows = 2 * rows - 1 if unit is Spin else rows
    (record,) = train(small, rows, config, jax.random.key(0))
    carry = replace(record.state.carry, model=small)
    rule = config.optimizer.update_rule(np.float32)
    more = exchange.rearranged(carry, rule, np.array([0])).model
    assert more.max_hidden == exchange.FEWEST
    v = rows.astype(np.float32)
    difference = np.asarray(more.free_energy(v) - small.free_energy(v))
    np.testing.assert_allclose(difference, difference[0], atol=1e-5)
    assert exchange.in_use(more).sum() == 1


def test_planted_factors_are_counted() -> None:
    rows = factors(5, 2000)
    found = VRBM(64, random_state=0).fit(rows)
    assert found.n_hidden_ == 5
    assert found.score(rows) > -13.5
    assert found.unit_earnings_.shape == (5,)
    assert (np.diff(found.unit_earnings_) < 3 * found.unit_earnings_error_[1:]).all()
    assert (found.unit_earnings_ > 10 * found.unit_earnings_error_).all()


def test_noise_has_no_units() -> None:
    rows = (np.random.RandomState(0).rand(1000, 20) < 0.3).astype(np.float32)
    found = VRBM(64, random_state=0).fit(rows)
    assert found.n_hidden_ == 1
    searched = sum(one["is_search"] for one in found.history_)
    # Layers of 32, 8, 2 and 1 units are tried; the one that is kept takes as long as each.
    assert searched == 4 * (found.n_iter_ - searched)
    # The best direction of noise gains about N/n = 0.02 nats on the rows that it was found on.
    assert found.unit_earnings_[0] < 0.06


@pytest.mark.slow
# The first looks at rows that lie in two modes far apart find a model that has lost one.
@pytest.mark.filterwarnings("ignore:in epoch:UserWarning")
def test_copies_of_one_bit_are_one_unit() -> None:
    bits = np.random.RandomState(0).randint(0, 2, (600, 1))
    found = VRBM(64, random_state=0).fit(np.repeat(bits, 10, axis=1))
    assert found.n_hidden_ <= 2
    assert found.score(np.repeat(bits, 10, axis=1)) == pytest.approx(-np.log(2), abs=0.05)


def test_each_block_of_columns_has_a_birth_before_any_has_two() -> None:
    rows = factors(4, 2000)
    correlations = np.corrcoef(rows.T)
    chosen = exchange.representatives(correlations, 24)
    assert sorted(chosen[:4] // 6) == [0, 1, 2, 3]
    assert sorted(chosen) == list(range(24))


def test_rows_are_held_out_once_and_the_same_in_each_run() -> None:
    numbers, apart, trained = exchange._split(100, Observed(), is_streamed=False)
    assert trained is not None
    assert len(apart) == 20
    assert sorted([*apart, *trained]) == sorted(numbers) == list(range(100))
    again = exchange._split(100, Observed(), is_streamed=False)
    np.testing.assert_array_equal(apart, again[1])


def test_rows_that_miss_entries_are_trained_on() -> None:
    missing = np.zeros((100, 3), bool)
    missing[:70, 1] = True
    observed = Observed(missing=jnp.asarray(missing))
    _, apart, trained = exchange._split(100, observed, is_streamed=False)
    assert trained is not None
    assert apart.min() >= 70
    assert len(trained) == 80


@pytest.mark.parametrize(("count", "is_streamed"), [(20, False), (30_000, True)])
def test_few_rows_and_streams_are_judged_by_training_rows(count: int, is_streamed: bool) -> None:
    _, apart, trained = exchange._split(count, Observed(), is_streamed)
    assert trained is None
    assert 1 <= len(apart) <= exchange.MOST_HELD_OUT


def test_a_run_resumes_bit_for_bit(tmp_path) -> None:
    rows = factors(2, 400).astype(np.int8)
    begun = model(np.full((4, 12), 0.01).tolist(), [0.0] * 4)
    config = Config(epochs=40, max_units=32, looks=4)
    records = list(train(begun, rows, config, jax.random.key(1)))
    for middle in (records[0], records[6], records[17], records[-2]):
        path = tmp_path / "state.safetensors"
        checkpoint.save(path, middle.state, config, "rows")
        state, config = checkpoint.load(path, rows, "rows")
        *_, last = train(None, rows, config, state=state)
        for a, b in zip(
            jax.tree.leaves(records[-1].state.carry), jax.tree.leaves(last.state.carry), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize(
    ("values", "lengths"),
    [
        ([-9.99], [20]),
        ([-9.9, -9.89], [40, 20]),
        ([-9.9, -9.8], [40, 50]),
        ([-9.9, np.nan], [40, 20]),
    ],
)
def test_a_layer_is_trained_for_as_long_as_rows_held_out_gain(values: list, lengths: list) -> None:
    rows = factors(2, 400).astype(np.int8)
    begun = model(np.full((4, 12), 0.01).tolist(), [0.0] * 4)
    config = Config(epochs=230, optimizer=Optimizer(learning_rate=0.1, search_rate=0.1))
    found = exchange.Exchange.of(begun, as_dataset(rows), config, Observed(), is_streamed=False)
    assert found.plan.trials == (20, 40)
    search = exchange.Search(4, 120, 20, best=-10.0, trial=1)
    for value, length in zip(values, lengths, strict=True):
        search = found._after_trial(search, value)
        assert search.length == length
    assert search.is_over


@pytest.mark.parametrize("negative", [MeanField(), Gibbs(), Persistent(1, 20)])
def test_sizes_are_found_by_all_trainers(negative: Any) -> None:
    rows = factors(2, 400).astype(np.int8)
    begun = model(np.full((4, 12), 0.01).tolist(), [0.0] * 4)
    config = Config(epochs=120, max_units=16, looks=0, negative=negative)
    *_, last = train(begun, rows, config, jax.random.key(1))
    assert last.state.search is not None
    assert last.state.search.is_over
    assert last.state.model.max_hidden < 16


@pytest.mark.parametrize("epochs", [1, 2, 4])
def test_more_epochs_are_asked_for(epochs: int) -> None:
    with pytest.warns(exchange.SizeWarning, match="too short"):
        VRBM(64, n_iter=epochs, random_state=0).fit(factors(2, 1000))


def test_a_search_of_noise_that_ends_early_is_not_too_short() -> None:
    rows = np.random.RandomState(0).randint(0, 2, (400, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("error", exchange.SizeWarning)
        assert VRBM(4, n_iter=46, random_state=0).fit(rows).n_hidden_ == 1


def test_a_full_layer_is_said() -> None:
    with pytest.warns(exchange.SizeWarning, match="2 of at most 2 hidden units"):
        VRBM(2, n_iter=60, random_state=0).fit(factors(5, 1000))
