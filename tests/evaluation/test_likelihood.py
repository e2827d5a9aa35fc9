"""Annealed importance sampling against enumeration."""

import warnings
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

import vrbm
from tests.evaluation.small import PAIRS, exact_draws, random_model
from tests.model.oracle import POTENTIALS
from vrbm.evaluation import annealing, likelihood
from vrbm.evaluation.baselines import BaselineScore
from vrbm.evaluation.chain_blocks import Settings, chain_weights
from vrbm.evaluation.likelihood import (
    LogLikelihood,
    LogPartition,
    free_energies,
    log_likelihood,
    log_partition,
)
from vrbm.evaluation.path import path
from vrbm.training import train

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "mnist_rbm500.npz"
KEY = jax.random.key(0)


def test_figures_that_cannot_be_are_told_from_those_that_are_bad():
    """Above 0 is impossible; below a baseline, by more than the error, a failure."""
    partition = LogPartition(3.0, 0.1, 2.8, 3.2, 50.0, "annealing", 100, 1000)
    found = LogLikelihood(-5.0, 0.1, 0.1, -5.2, -4.8, 10, partition)
    assert not found.is_impossible
    tree = BaselineScore(-4.0, paired_error=0.1, optimism=0.2)
    assert found.shortfalls({"a tree": replace(tree, mean=-4.4), "coins": tree})
    assert found.shortfalls({"a tree": replace(tree, mean=-4.45)}) == []  # −4.8 + 0.2 + 0.2 + …
    assert found.shortfalls({"a tree": replace(tree, paired_error=np.inf)}) == []  # one row
    words, other = found.shortfalls({"coins": replace(tree, mean=-4.2), "a tree": tree})
    assert "-5.00 nats is BELOW that of a tree, -4.00" in words
    assert "coins, -4.20" in other
    rounded = replace(found, mean=1.5e-5, upper=1e-4)
    assert not rounded.is_impossible
    above = replace(found, mean=47.7, upper=48.0)
    assert above.is_impossible
    (words,) = above.shortfalls({"a tree": tree})
    assert "47.70 nats is impossible" in words


GOOD = LogPartition(3.0, 0.01, 2.98, 3.02, 90.0, "annealing", 100, 1000, 3.0, 0.01, 90.0)


def narrowed_by(monkeypatch, outcome, **settings):
    """What `narrowed` gives where `log_partition` gives an outcome, and the calls of the latter."""
    calls = []

    def fake(model, key, starts=None, *, temperatures, **others):
        calls.append((temperatures, starts is not None, others.get("file")))
        return outcome(temperatures, starts)

    monkeypatch.setattr(likelihood, "log_partition", fake)
    model = vrbm.GrandCanonicalRBM.initialize(KEY, 30, 30)
    found, doubts = likelihood.narrowed(model, KEY, np.ones((3, 30)), **settings)
    return found, doubts, calls


def test_effort_grows_until_the_bracket_is_narrow(monkeypatch, tmp_path):
    wide = replace(GOOD, upper=4.5)
    file = tmp_path / "chains"
    found, doubts, calls = narrowed_by(
        monkeypatch, lambda temperatures, _: GOOD if temperatures > 1000 else wide, file=file
    )
    assert found is GOOD
    assert doubts == []
    files = [tmp_path / "chains-1000", tmp_path / "chains-4000"]
    assert calls == [(1000, True, files[0]), (4000, True, files[1])]
    found, doubts, calls = narrowed_by(monkeypatch, lambda *_: wide)
    assert [temperatures for temperatures, *_ in calls] == [1000, 4000, 16_000]
    assert doubts == wide.doubts() != []


def test_starts_that_are_not_typical_cost_no_more_effort_than_needed(monkeypatch):
    """Once the bracket from the model's own ends is narrow; they are tried once."""
    foreign = replace(GOOD, backward=2.0, upper=2.02)
    found, doubts, calls = narrowed_by(
        monkeypatch, lambda _, starts: GOOD if starts is None else foreign
    )
    assert found is GOOD
    assert doubts == [likelihood.FOREIGN]
    assert calls == [(1000, True, None), (1000, False, None)]
    wide = replace(GOOD, upper=4.5)
    _, doubts, calls = narrowed_by(
        monkeypatch, lambda _, starts: wide if starts is None else foreign
    )
    assert doubts == [likelihood.FOREIGN, *wide.doubts()]
    assert [(t, given) for t, given, _ in calls] == [
        (1000, True),
        (1000, False),
        (4000, False),
        (16_000, False),
    ]


def test_hopeless_efforts_are_not_repeated(monkeypatch):
    far = replace(GOOD, lower=-20.0, effective_sample_size=1.2)
    found, doubts, calls = narrowed_by(monkeypatch, lambda *_: far)
    assert found is far
    assert len(calls) == 1
    assert doubts[-1].startswith("more than 100 chains and 1000 temperatures were not tried")


def annealed(model, key=KEY, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return log_partition(model, key, enumerate_small=False, **settings)


def deviations(units, potential, count, **settings):
    """(log Z − exact) / error, forward and backward, of random models, each with its own seed."""
    first = 1000 * PAIRS.index(units) + 20 * list(POTENTIALS).index(potential)
    found = []
    for seed in range(first, first + count):
        model = random_model(*units, potential, seed=seed)
        truth = float(vrbm.exact.log_partition(model))
        starts = exact_draws(model, 200, seed)
        one = annealed(model, jax.random.key(seed), starts=starts, chains=200, **settings)
        forward = (one.log_partition - truth) / one.standard_error
        found.append((forward, (one.backward - truth) / one.backward_error))
    return np.array(found)


CASES = [
    (("spin", "spin"), "absorbed"),
    (("binary", "binary"), "fixed"),
    (("spin", "binary"), "local"),
    (("binary", "spin"), "function by unit"),
]


@pytest.mark.parametrize(("units", "potential"), CASES)
def test_both_sides_equal_enumeration(units, potential):
    """Within 4.5 errors: one of these 40 numbers is outside by chance once in 3,600 times.

    400 temperatures: with 50, few chains count for some of these models, and the stated error is
    too small.
    """
    assert abs(deviations(units, potential, 5, temperatures=400)).max() < 4.5


def trained_models(count):
    """RBMs after a few epochs on rows near four random ones, and the rows."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        flips = rng.random((200, 8)) < 0.1
        rows = (rng.integers(0, 2, (4, 8))[rng.integers(0, 4, 200)] ^ flips).astype(float)
        machine = vrbm.RBM(6, n_iter=10, learning_rate=0.1, random_state=seed).fit(rows)
        yield machine.model_, rows


def test_truth_lies_where_it_is_said_to_be():
    """40 random and 5 trained models, with starts as `vrbm evaluate` and a plain call have them.

    The number of misses is binomial. The limits are quantiles of 1e-3 of the nominal shares, 31.7%,
    4.6%, and for the bracket 2.3% at each end. See benchmarks/calibration.py for many more.
    """
    random = [
        (random_model(units, units, potential, seed=seed, scale=scale), None)
        for units, potential in (("binary", "fixed"), ("spin", "constant"))
        for seed, scale in enumerate([0.3, 1.0] * 10)
    ]
    misses = np.zeros(3, int)
    cases = [*random, *trained_models(5)]
    for number, (model, starts) in enumerate(cases):
        settings = {"starts": starts, "chains": 100, "temperatures": 60}
        found = annealed(model, jax.random.key(number), **settings)
        truth = float(vrbm.exact.log_partition(model))
        off = abs(found.log_partition - truth) / found.standard_error
        misses += [off > 1, off > 2, not found.lower <= truth <= found.upper]
    few, many = binom.ppf([[1e-3], [1 - 1e-3]], len(cases), [0.317, 0.0455, 0.0455])
    assert (misses <= many).all(), misses
    assert (misses >= few).all(), misses


@pytest.mark.slow
def test_calibration():
    """20 models of each potential and pair of unit types: errors cover as often as they should.

    1,440 deviations of each side. The number within one, two and three errors is binomial if the
    deviations are normal. The limits are quantiles of 1e-4, with 1% allowed for tails that are
    not normal; a right program fails about once in 1,000 times.
    """
    t = np.concatenate([deviations(u, p, 20, temperatures=50) for u in PAIRS for p in POTENTIALS])
    within = {n: (abs(t) < n).mean(axis=0) for n in (1, 2, 3)}
    print(f"{len(t)} models, within 1, 2, 3 errors, forward and backward: {within}")
    for n, expected in ((1, 0.6827), (2, 0.9545), (3, 0.9973)):
        least, most = binom.ppf([1e-4, 1 - 1e-4], len(t), expected) / len(t)
        assert (within[n] > least - 0.01).all()
        assert (within[n] < most + 0.01).all()
    assert abs(t).max() < 5


def test_the_two_sides_bound_from_below_and_above():
    """With three temperatures the averages of log-weights are far on either side of log Z."""
    model = random_model(n=8, k=6, seed=2)
    settings = Settings(
        chains=2000, temperatures=3, block=1000, backward=True, burn_in=0, adapt_base=False
    )
    found = chain_weights(path(model), KEY, settings, exact_draws(model, 4000))
    truth = float(vrbm.exact.log_partition(model)) - found.log_partition_at_0
    error = np.array([found.forward.std(), found.backward.std()]) / np.sqrt(2000)
    assert found.forward.mean() + 10 * error[0] < truth < found.backward.mean() - 10 * error[1]


def test_starts_that_are_not_from_the_model_are_noticed():
    """All starts in the lighter of two wells, that chains leave at small β only.

    There it is less light, so that the backward estimate is too low.
    """
    model = vrbm.GrandCanonicalRBM(
        np.full((1, 30), 0.6), [0.4], np.full(30, 0.1), potential=vrbm.FixedSize()
    )
    with pytest.warns(UserWarning, match="its starts are not from the model"):
        found = log_partition(
            model,
            KEY,
            base=np.zeros(30),
            starts=-np.ones((500, 30)),
            temperatures=100,
            enumerate_small=False,
        )
    assert found.backward < found.lower
    assert abs(found.log_partition - float(vrbm.exact.log_partition(model))) < 1


def test_a_hopeless_run_says_so():
    model = random_model("spin", "spin", "fixed", n=30, k=30, scale=3.0)
    with (
        pytest.warns(UserWarning, match="of 100 chains count"),
        pytest.warns(UserWarning, match="nats wide"),
    ):
        found = log_partition(model, KEY, temperatures=2, chains=100)
    assert len(found.doubts()) == 2


def test_small_models_are_enumerated():
    model = random_model("binary", "spin", "local")
    found = log_partition(model)
    assert_allclose(found.log_partition, vrbm.exact.log_partition(model), rtol=1e-12)
    assert (found.method, found.chains, found.standard_error) == ("enumeration", 0, 0)
    assert found.lower == found.upper == found.log_partition
    assert found.doubts() == []


def test_enumeration_after_cutting_idle_units():
    """40 visible and 300 hidden units, of which 2 are not idle."""
    rng = np.random.default_rng(0)
    W = np.zeros((300, 40))
    W[:2] = 0.1 * rng.normal(size=(2, 40))
    model = vrbm.GrandCanonicalRBM(W, np.zeros(300), np.zeros(40), potential=vrbm.Constant(3.0))
    found = log_partition(model)
    assert found.method == "enumeration"
    small = vrbm.GrandCanonicalRBM(W[:16], np.zeros(16), np.zeros(40), potential=vrbm.Constant(3.0))
    assert_allclose(found.log_partition, vrbm.exact.log_partition(small), rtol=1e-12)


def test_likelihood_of_rows():
    model = random_model(seed=5)
    rows = exact_draws(model, 500)
    log_p = np.asarray(vrbm.exact.log_probability(model, rows))
    for coded in (rows, rows.astype(np.int8), rows == 1):
        found = log_likelihood(model, coded)
        assert_allclose(found.mean, log_p.mean(), rtol=1e-12)
        assert_allclose(found.rows_error, log_p.std(ddof=1) / np.sqrt(500), rtol=1e-9)
        assert found.partition_error == 0
        assert found.rows == 500
    sampled = annealed(model, chains=100, **SMALL)
    found = log_likelihood(model, rows, sampled)
    assert found.partition_error == sampled.standard_error
    assert_allclose(found.lower - found.mean, sampled.log_partition - sampled.upper, atol=1e-12)
    assert_allclose(found.upper - found.mean, sampled.log_partition - sampled.lower, atol=1e-12)
    assert log_likelihood(model, rows[:1]).rows_error == np.inf


def test_free_energies_come_block_by_block():
    model = random_model()
    rows = exact_draws(model, 50)
    assert_allclose(free_energies(model, rows), model.free_energy(rows), rtol=1e-13)
    with pytest.raises(ValueError, match="no probability for: threshold"):
        free_energies(model, np.full((2, 8), 0.5))


SMALL = {"temperatures": 50, "block": 100}  # one shape, so that it is compiled once


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tmp_path):
    model = random_model(seed=3)
    file = tmp_path / "weights.safetensors"
    whole = annealed(model, chains=400, **SMALL)
    told = []

    def stop(done, total):
        told.append((done, total))
        if done >= total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annealed(model, chains=400, **SMALL, file=file, progress=stop)
    assert file.exists()
    done = []
    assert (
        annealed(model, chains=400, **SMALL, file=file, progress=lambda *a: done.append(a)) == whole
    )
    assert done[0][0] > 0
    assert done[-1] == (2 * 49 * 4, 2 * 49 * 4)
    assert annealed(model, chains=400, **SMALL, file=file) == whole  # nothing left to do
    more = annealed(model, chains=600, **SMALL, file=file)
    assert more == annealed(model, chains=600, **SMALL)
    assert more != whole


def test_a_file_of_another_run_is_refused(tmp_path):
    model = random_model(seed=3)
    file = tmp_path / "weights.safetensors"
    annealed(model, chains=100, **SMALL, file=file)
    with pytest.raises(ValueError, match="differs in model: pass another"):
        annealed(random_model(seed=4), chains=100, **SMALL, file=file)
    with pytest.raises(ValueError, match="differs in key and settings"):
        annealed(model, jax.random.key(1), chains=100, block=100, temperatures=51, file=file)


def test_a_file_of_chains_knows_the_tail_of_the_layer(tmp_path):
    """Equal prices, once with log 2 absorbed: the idle units beyond differ."""
    absorbed = vrbm.Unbounded(0.3)
    kept = vrbm.Unbounded(0.3 + np.log(2), absorb_log2=False)
    arrays = np.ones((2, 3)), np.zeros(2), np.zeros(3)
    units = vrbm.Spin(), vrbm.Binary()
    few = {"chains": 10, "block": 10, "temperatures": 5, "file": tmp_path / "chains"}
    annealed(vrbm.GrandCanonicalRBM(*arrays, *units, absorbed), **few)
    with pytest.raises(ValueError, match="differs in model"):
        annealed(vrbm.GrandCanonicalRBM(*arrays, *units, kept), **few)


def test_blocks_are_those_of_the_file(tmp_path, monkeypatch):
    """A run is taken up with more chains wherever it was begun."""
    model = random_model(seed=3)
    file = tmp_path / "weights.safetensors"
    few = annealed(model, chains=60, temperatures=20, file=file)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert annealed(model, chains=60, temperatures=20, file=file) == few
    assert annealed(model, chains=100, temperatures=20, file=file).chains == 120
    assert annealed(model, chains=150, temperatures=20).chains == 150
    monkeypatch.undo()
    assert annealed(model, chains=150, temperatures=20).chains == 200
    with pytest.raises(ValueError, match="block is 50, but the file has blocks of 60 chains"):
        annealed(model, chains=100, block=50, temperatures=20, file=file)


def test_steps_that_fill_a_segment_change_no_weight(monkeypatch):
    model_path = path(random_model(seed=3))
    betas = np.linspace(0, 1, 8)
    v, key = model_path.start(KEY, 5), jax.random.key(1)
    low, high = betas[:-1], betas[1:]
    steps = np.stack([low, high, high], axis=1)
    none = jnp.zeros(5)
    _, weights, *_ = annealing._segment(model_path, v, none, none, steps, key)
    filled = np.concatenate([steps, np.ones((3, 3))])
    _, same, _, friction = annealing._segment(model_path, v, none, none, filled, key)
    assert_array_equal(weights, same)
    assert np.isfinite(friction).all()
    monkeypatch.setattr(annealing, "SEGMENT", 3)
    for backward in (False, True):
        done = []
        found = annealing.run(model_path, v, betas, key, backward=backward, progress=done.append)
        assert done == [3, 3, 1]
        assert found.friction.shape == (7,)


def test_prices_that_are_not_finite_are_refused():
    model = random_model(seed=3)
    spoiled = vrbm.GrandCanonicalRBM(model.W, model.b, model.c, potential=lambda W, b: jnp.inf)
    with pytest.raises(ValueError, match="prices are finite"):
        log_partition(spoiled)
    with pytest.raises(ValueError, match="prices are finite"):
        train(spoiled, np.ones((4, 8)))


def test_memory_does_not_depend_on_the_number_of_chains():
    """Blocks have the asked size, and the chains of a block do not depend on their number."""
    model = random_model(seed=3)
    both, one = (
        chain_weights(path(model), KEY, Settings(chains, 50, 100, False, 0, True))
        for chains in (200, 100)
    )
    assert both.forward.shape == (200,)
    assert_array_equal(both.forward[:100], one.forward)
    assert both.backward.shape == (0,)
    alone = annealed(model, chains=100, backward=False, **SMALL)
    assert (alone.backward, alone.upper) == (None, np.inf)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperatures": 1}, "temperatures is 1: a ladder"),
        ({"chains": 0}, "chains is 0: pass a whole number"),
        ({"burn_in": -1}, "burn_in is -1"),
        ({"starts": np.ones((3, 7))}, r"starts has shape \(3, 7\): pass at least one row of 8"),
        ({"starts": np.full((3, 8), 0.5)}, "starts holds the value 0.5"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        annealed(random_model(), **settings)


@pytest.mark.slow
@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference model is not here")
def test_the_published_model():
    """784 by 500 units trained by CD-25 on MNIST: log Z = 451.28, published."""
    arrays = np.load(REFERENCE)
    names = ("W", "hidden_bias", "visible_bias")
    model = vrbm.GrandCanonicalRBM(
        *[arrays[name].astype(np.float32) for name in names],
        vrbm.Binary(),
        vrbm.Binary(),
        vrbm.FixedSize(),
    )
    found = annealed(model, chains=100, temperatures=15_000, backward=False)
    assert abs(found.log_partition - 451.3) < 0.5
    assert found.standard_error < 0.4
