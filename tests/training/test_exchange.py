"""Units exchanged with a reservoir: what they earn and cost, and the sizes that are found."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vrbm import VRBM, GrandCanonicalRBM, Reservoir
from vrbm.model import Binary, Spin, exact
from vrbm.training import Config, checkpoint, exchange, train


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


def states_of(whole: GrandCanonicalRBM, rows: int) -> np.ndarray:
    """Rows in which each state is as frequent as it is likely, nearly."""
    n = whole.n_visible
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    states = states.astype(np.float32)
    log_p = -np.asarray(whole.free_energy(states)) - float(exact.log_partition(whole))
    return np.repeat(states, np.round(rows * np.exp(log_p)).astype(int), axis=0)


def test_a_weak_unit_earns_what_the_model_loses_without_it() -> None:
    """e_a against log p of the model without the unit, with the biases that take over, exactly."""
    whole = model([[1.2, -1.0, 0.8, 0.9]], [-0.9])
    rows = states_of(whole, 200_000)
    found = exchange.worth(whole, jnp.asarray(rows), jnp.zeros(1), len(rows))
    less = GrandCanonicalRBM(
        np.zeros_like(whole.W),
        np.zeros_like(whole.b),
        whole.c + found.biases[0],
        Binary(),
        Binary(),
        Reservoir(),
    )
    with_it, without = (
        -float(m.free_energy(rows).mean()) - float(exact.log_partition(m)) for m in (whole, less)
    )
    assert float(found.earnings[0]) == pytest.approx(with_it - without, rel=0.2)
    assert 0 < float(found.errors[0]) < 0.05 * float(found.earnings[0])


def test_two_halves_of_a_unit_become_one() -> None:
    rows = jnp.asarray(factors(1, 2000))
    unit, half = np.full(6, 4.0), np.full(6, 2.0)
    split = model([half, half], [-6.0, -6.0])
    whole = model([unit, -unit], [-12.0, 12.0])
    assert float(exchange.mergers(split, rows).loss[0]) < 0.01
    # A unit and its mirror image have the sum of two such units.
    assert np.isfinite(np.asarray(exchange.mergers(whole, rows).loss)).all()


def test_constant_columns_have_no_births() -> None:
    rows = factors(2, 200).astype(float)
    rows[:, 3] = 1
    W = exchange.births(rows, 20, np.random.RandomState(0))
    assert np.isfinite(W).all()
    assert not W[:, 3].any()
    spread = (rows @ W.T).std(axis=0)
    assert (spread < 1).all()


@pytest.mark.parametrize("unit", [Binary, Spin])
def test_units_that_are_off_change_nothing(unit: type) -> None:
    small = model([[0.5, -1.0, 2.0]], [0.3], unit)
    config = Config(epochs=1, batch_size=2, looks=0, exchanges=0)
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


@pytest.mark.filterwarnings("ignore::vrbm.training.control.TrainingWarning")
def test_planted_factors_are_counted() -> None:
    rows = factors(5, 2000)
    found = VRBM(128, potential=Reservoir(), random_state=0).fit(rows)
    assert 4 <= found.n_hidden_ <= 6
    assert found.score(rows) > -13.5


def test_noise_has_no_units() -> None:
    rows = (np.random.RandomState(0).rand(1000, 20) < 0.3).astype(np.float32)
    assert VRBM(64, potential=Reservoir(), random_state=0).fit(rows).n_hidden_ <= 1


def test_a_run_resumes_bit_for_bit(tmp_path) -> None:
    rows = factors(2, 400).astype(np.int8)
    begun = model(np.full((4, 12), 0.01).tolist(), [0.0] * 4)
    config = Config(epochs=20, max_units=32, looks=4)
    records = list(train(begun, rows, config, jax.random.key(1)))
    middle = records[11]
    path = tmp_path / "state.safetensors"
    checkpoint.save(path, middle.state, config, "rows")
    state, config = checkpoint.load(path, rows, "rows")
    *_, last = train(None, rows, config, state=state)
    for a, b in zip(
        jax.tree.leaves(records[-1].state.carry), jax.tree.leaves(last.state.carry), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_a_full_pool_is_said() -> None:
    with pytest.warns(exchange.SizeWarning, match="of the 2 hidden units"):
        VRBM(2, potential=Reservoir(), n_iter=40, random_state=0).fit(factors(5, 1000))
