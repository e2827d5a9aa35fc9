"""Looks at the likelihood while training, and what a run does about them."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from vrbm import RBM, FixedSize, GrandCanonicalRBM, exact
from vrbm.data.dataset import Dataset, Domain
from vrbm.model import Binary, Spin
from vrbm.training import Config, Optimizer, Persistent, control, looks, train
from vrbm.training.control import Control, TrainingWarning
from vrbm.training.guards import Diverged
from vrbm.training.looks import Look
from vrbm.training.run import Run

COPIES = np.repeat(np.random.RandomState(0).randint(0, 2, (400, 1)), 6, axis=1).astype(np.int8)


def random_model(unit, seed=0, n_visible=12, n_hidden=14, scale=0.6):
    key = jax.random.key(seed)
    return GrandCanonicalRBM.initialize(
        key,
        n_visible,
        n_hidden,
        visible=unit,
        hidden=unit,
        potential=FixedSize(),
        weight_scale=scale,
        bias_scale=0.3,
    )


def looker(rows, **settings):
    data = Dataset("rows", Domain.BINARY, rows)
    config = Config(negative=Persistent(chains=50), **settings)
    model = random_model(Binary(), n_visible=rows.shape[1])
    config = config.resolved(model, len(rows))
    monitor = looks.Monitor(model, data, config)
    return looks.Looker(data, rows, monitor, config, are_whole=True)


@pytest.mark.parametrize("unit", [Binary(), Spin()])
def test_a_look_has_the_exact_log_partition_within_its_error(unit):
    rows = np.random.RandomState(1).randint(0, 2, (2000, 12)).astype(np.int8)
    find = looker(rows)
    for seed in range(4):
        model = random_model(unit, seed)
        states = np.array([unit.states[0], unit.states[-1]])
        starts = jax.random.choice(
            jax.random.key(seed),
            np.array(np.meshgrid(*[states] * 12)).reshape(12, -1).T.astype(np.float32),
            (50,),
            p=np.exp(_log_probabilities(model, states)),
        )
        look = find(model, starts, model.max_hidden, jax.random.key(9 + seed))
        assert look.doubt is None
        assert abs(look.log_partition - float(exact.log_partition(model))) < 4 * look.error


def _log_probabilities(model, states):
    v = np.array(np.meshgrid(*[states] * 12)).reshape(12, -1).T.astype(np.float32)
    return np.asarray(exact.log_probability(model, v), np.float64)


def test_small_models_are_enumerated():
    rows = COPIES
    model = random_model(Binary(), n_visible=6)
    starts = jnp.asarray(rows[:50], model.W.dtype)
    look = looker(rows)(model, starts, model.max_hidden, jax.random.key(0))
    assert look.error == 0
    assert_allclose(look.log_partition, float(exact.log_partition(model)), rtol=1e-5)


def test_chains_that_cross_are_told_from_chains_that_stay():
    find = looker(COPIES)
    free = random_model(Binary(), n_visible=6, scale=0.01)
    starts = jnp.asarray(COPIES[:50], free.W.dtype)
    assert find(free, starts, free.max_hidden, jax.random.key(0)).correlation < 0.6
    W, b, c = jnp.full((1, 6), 40.0), jnp.full(1, -120.0), jnp.full(6, -20.0)
    stuck = GrandCanonicalRBM(W, b, c, Binary(), Binary(), FixedSize())
    assert find(stuck, starts, 1, jax.random.key(0)).correlation > 0.9


def test_looks_that_disagree_are_not_trusted():
    agree = np.zeros(32)
    assert looks.judged(1.0, agree, agree, 0.0) == Look(1.0, 0.0, None, 0.0, upper=1.0)
    assert "not typical" in looks.judged(0.0, agree + 1, agree, 0.0).doubt
    assert "uncertain" in looks.judged(0.0, agree, agree + 2, 0.0).doubt
    assert "count" in looks.judged(0.0, 20.0 * np.eye(1, 32)[0], agree, 0.0).doubt
    assert "finite" in looks.judged(0.0, agree * np.nan, agree, 0.0).doubt


def test_looks_are_spaced_by_their_cost_and_include_the_last_epoch():
    cheap = Config(epochs=50, batch_size=100, negative=Persistent(k=1, chains=500))
    assert looks.spacing(cheap, 100_000) == 3  # 50 epochs, 20 looks
    assert looks.spacing(cheap, 100) == 0
    assert looks.spacing(replace(cheap, looks=0), 100_000) == 0
    assert looks.spacing(replace(cheap, early_stopping=True), 100) == 5
    assert looks.spacing(Config.paper(), 100_000) == 0


def test_records_hold_the_likelihood_of_training_and_held_out_rows():
    rows = np.repeat(COPIES, 10, axis=0)
    data = Dataset("copies", Domain.BINARY, rows, validation=COPIES)
    model = random_model(Binary(), n_visible=6, scale=0.01)
    slow = Optimizer(learning_rate=0.02)
    config = Config(epochs=6, looks=3, negative=Persistent(k=5), optimizer=slow, batch_size=10)
    records = list(train(model, data, config, jax.random.key(0)))
    seen = [record.epoch for record in records if record.log_likelihood_train is not None]
    assert seen == [2, 4, 6]
    last = records[-1]
    exactly = float(exact.log_probability(last.state.model, rows[:1000].astype(np.float32)).mean())
    assert_allclose(last.log_likelihood_train, exactly, atol=0.05)  # other rows
    assert last.log_likelihood_heldout is not None
    assert last.log_likelihood_error == 0


def test_a_run_that_diverges_goes_back_and_halves_its_rate():
    data = Dataset("copies", Domain.BINARY, np.repeat(COPIES, 100, axis=0))
    model = random_model(Binary(), n_visible=6, scale=0.01)
    config = Config(epochs=3, optimizer=Optimizer(learning_rate=1e4, warm_up=0), penalty=0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(Diverged):
            list(train(model, data, config, jax.random.key(0)))
    assert len([one for one in caught if one.category is TrainingWarning]) == control.MOST_TURNS


def test_what_counts_as_lost_and_what_is_kept():
    sure = Look(0.0, 0.1, None, 0.0)
    began = Control(best_train=-5.0)
    assert control.has_lost(began, sure, -8.0, -10.0)
    assert not control.has_lost(began, sure, -6.0, -10.0)
    assert not control.has_lost(began, replace(sure, doubt="wide"), -80.0, -10.0)
    assert control.has_lost(Control(), sure, -12.0, -10.0)
    one = jnp.ones(1)
    models = [control.Kept(one[None] * n, one, one, one, one[None]) for n in range(4)]
    first = control.after(Control(), sure, -5.0, -7.0, models[0], 1)
    assert (first.kept_epoch, first.best_heldout, first.best_epoch) == (1, -7.0, 1)
    near = control.after(first, sure, -5.0, -7.05, models[1], 2)
    assert (near.kept_epoch, near.best_epoch) == (2, 1)
    worse = control.after(near, sure, -4.0, -7.5, models[2], 3)
    assert (worse.kept_epoch, worse.best_heldout) == (2, -7.0)
    assert control.after(worse, replace(sure, doubt="wide"), -4.0, -1.0, models[3], 4) is worse


def test_early_stopping_keeps_a_model_that_has_not_overfitted():
    random = np.random.RandomState(3)
    rows, others = (random.randint(0, 2, (40, 20)).astype(float) for _ in range(2))
    settings = {"batch_size": 10, "n_iter": 200, "random_state": 0, "learning_rate": 0.5}
    plain = RBM(64, **settings).fit(rows)
    stopped = RBM(64, early_stopping=True, n_iter_no_change=10, **settings)
    stopped.fit(rows, X_val=others)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert stopped.score(others) > plain.score(others)
    assert stopped.n_iter_ < 200


def test_validation_rows_are_set_apart_at_random():
    rows = np.eye(50)
    machine = RBM(3, n_iter=1, early_stopping=True, validation_fraction=0.2, random_state=0)
    assert machine.fit(rows).n_samples_seen_ == 40
    with pytest.raises(ValueError, match="validation_fraction is 1"):
        RBM(3, early_stopping=True, validation_fraction=1.0).fit(rows)
    with pytest.raises(ValueError, match="values between 0 and 1"):
        RBM(3, early_stopping=True).fit(rows / 2)
    with pytest.raises(ValueError, match="lacks an entry"):
        RBM(3, early_stopping=True).fit(rows, X_val=np.where(rows == 1, np.nan, rows))


def test_a_run_with_looks_resumes_bit_for_bit(tmp_path):
    data = Dataset("copies", Domain.BINARY, np.repeat(COPIES, 5, axis=0), validation=COPIES[:100])
    model = random_model(Binary(), n_visible=6, scale=0.01)
    slow = Optimizer(learning_rate=0.05)
    config = Config(epochs=10, early_stopping=True, n_iter_no_change=2, optimizer=slow)
    key = jax.random.key(1)
    whole = list(Run(tmp_path / "whole").begin(model, data, config, key))[-1]
    parts = Run(tmp_path / "parts")
    records = parts.begin(model, data, config, key, every_seconds=0)
    for _ in range(4):
        next(records)
    records.close()
    resumed = list(Run(tmp_path / "parts").resume(data))[-1]
    assert resumed.facts() | {"seconds": 0} == whole.facts() | {"seconds": 0}
    assert_array_equal(resumed.state.model.W, whole.state.model.W)


def test_a_run_that_stops_early_says_so_and_writes_its_model(tmp_path, monkeypatch):
    monkeypatch.setattr(control, "TURNS", 1)
    data = Dataset("copies", Domain.BINARY, np.repeat(COPIES, 5, axis=0), validation=COPIES[:100])
    model = random_model(Binary(), n_visible=6, scale=0.01)
    still = Optimizer(learning_rate=0.0)  # no look is better than the first
    config = Config(epochs=10, early_stopping=True, n_iter_no_change=1, optimizer=still)
    run = Run(tmp_path)
    records = list(run.begin(model, data, config, jax.random.key(0)))
    assert len(records) < 10
    assert [record.is_last for record in records] == [False] * (len(records) - 1) + [True]
    assert run.model.exists()
    assert list(Run(tmp_path).resume(data)) == []


def test_epochs_that_are_not_given_make_enough_steps(tmp_path):
    data = Dataset("copies", Domain.BINARY, np.repeat(COPIES, 5, axis=0))
    model = random_model(Binary(), n_visible=6, scale=0.01)
    config = Config().resolved(model, 2000)
    assert (config.batch, config.n_epochs) == (100, 400)
    assert Config().resolved(model, 100_000).n_epochs == 50
    assert Config(batch_size=100).resolved(model, 100).n_epochs == 1000
    assert config.resolved(model, 2000) == config
    records = Run(tmp_path).begin(model, data, replace(Config(), looks=0), jax.random.key(0))
    next(records)
    records.close()
    resumed = Run(tmp_path).resume(data)
    assert next(resumed).epoch == 1
    resumed.close()


def test_bounds_of_looks_hold_both_estimates_or_are_infinite():
    agree = np.zeros(32)
    assert looks.judged(0.0, agree, agree + 0.3, 0.0).upper == 0.3
    assert looks.judged(0.0, agree + 1, agree, 0.0).upper == np.inf
    assert looks.judged(0.0, 20.0 * np.eye(1, 32)[0], agree, 0.0).upper == np.inf
