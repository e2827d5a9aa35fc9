"""What scikit-learn expects of an estimator, and what its users do with one."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from vrbm import (
    RBM,
    VRBM,
    Binary,
    Constant,
    FixedSize,
    GrandCanonicalRBM,
    Penalizing,
    Reservoir,
    Unbounded,
    exact,
)
from vrbm.estimator import ImpossibleLikelihood
from vrbm.estimator.base import UNUSED
from vrbm.evaluation import baselines, likelihood
from vrbm.evaluation.likelihood import LikelihoodWarning
from vrbm.model.storage import describe_potential
from vrbm.training import beginning, growth

CHECKS = """
import sys, warnings
from sklearn.utils.estimator_checks import check_estimator
import vrbm
warnings.simplefilter("ignore")
reason = (
    "batches are drawn at random from the rows, so that repeated rows make other batches than "
    "weights do; the averages agree (test_weights_count_like_repeated_rows)"
)
expected = {
    f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")
}
results = check_estimator(
    getattr(vrbm, sys.argv[1])(), expected_failed_checks=expected, on_skip=None
)
found = {r["check_name"]: r["status"] for r in results if r["status"] != "passed"}
found.pop("check_array_api_input", None)  # skipped by scikit-learn itself without SCIPY_ARRAY_API
assert set(found.items()) <= {(name, "xfail") for name in expected}, found
assert len(results) > 40, len(results)
"""
# Compilation is most of the time; quick code is not needed for a few rows.
FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["VRBM", "RBM"])
def test_check_estimator(name):
    environment = {**os.environ, "XLA_FLAGS": FLAGS}
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, name],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def X():
    random = np.random.default_rng(0)
    hidden = random.integers(0, 2, size=(60, 2))
    return np.repeat(hidden, 3, axis=1).astype(np.float64)


def small(kind=VRBM, **settings):
    return kind(6, n_iter=3, random_state=0, **settings)


@pytest.fixture(scope="module")
def fitted(X):
    return small().fit(X)


def falls_short():
    """After three epochs a model knows the columns, and not yet that they are copies."""
    return pytest.warns(LikelihoodWarning, match=r"is BELOW that of a Chow-Liu tree, -1\.\d\d: ")


def test_the_constructor_only_stores():
    potential = Penalizing()
    machine = VRBM(7, potential=potential, n_iter=-1)
    assert machine.get_params()["potential"] is potential
    assert machine.n_iter == -1
    assert vars(machine).keys() == VRBM().get_params().keys()


def test_codings_give_the_same_model(X, fitted):
    spins = small().fit(2 * X - 1)
    assert_array_equal(spins.components_, fitted.components_)
    assert_allclose(spins.score_samples(2 * X - 1), fitted.score_samples(X))
    assert set(np.unique(spins.sample(5, n_steps=10))) <= {-1.0, 1.0}
    assert set(np.unique(fitted.gibbs(X))) <= {0.0, 1.0}
    means = small().fit(0.1 + 0.8 * X)
    assert means.coding_.kind == "[0, 1]"
    with pytest.warns(UserWarning, match="scaled to"):
        scaled = small().fit(10 * X + 5)
    assert set(np.unique(scaled.sample(5, n_steps=10))) <= {5.0, 15.0}


def test_scores_are_exact_where_the_model_is_small(X, fitted):
    assert fitted.log_partition_method_ == "enumeration"
    assert fitted.log_partition_error_ == 0
    states = exact.states(fitted.model_.visible, 6)
    assert_allclose(np.exp(fitted.score_samples(states)).sum(), 1)
    with falls_short():
        assert_allclose(fitted.score(X), fitted.score_samples(X).mean())
    weights = np.arange(60.0)
    assert_allclose(
        fitted.score(X, sample_weight=weights), np.average(fitted.score_samples(X), weights=weights)
    )


def test_fitted_names_and_shapes(X, fitted):
    n = fitted.n_hidden_
    assert fitted.components_.shape == (n, 6)
    assert fitted.intercept_hidden_.shape == (n,)
    assert fitted.intercept_visible_.shape == (6,)
    assert fitted.n_iter_ == len(fitted.history_) == 3
    assert 1 <= fitted.mean_size_ <= n <= 6
    priced = small(potential=0.3).fit(X)
    assert_allclose(priced.chemical_potential_, 0.3, rtol=1e-6)
    assert fitted.transform(X).shape == (60, n)
    assert_allclose(fitted.size_probabilities(X).sum(axis=1), 1)
    assert_allclose(fitted.reconstruct(X), fitted.inverse_transform(fitted.transform(X)))
    with pytest.raises(ValueError, match="pass hidden values of shape"):
        fitted.inverse_transform(X[:, :-1])
    with pytest.raises(ValueError, match="NaN"):
        fitted.inverse_transform(np.full((1, n), np.nan))
    assert small(RBM).fit(X).n_hidden_ == 6


def test_the_same_number_gives_the_same_model_and_a_second_fit_starts_anew(X, fitted):
    again = small().fit(X).fit(X)
    assert_array_equal(again.components_, fitted.components_)
    assert again.n_iter_ == 3
    assert_array_equal(clone(fitted).fit(X).transform(X), fitted.transform(X))


def test_warm_start_and_partial_fit_go_on(X, fitted):
    warm = small(warm_start=True).fit(X)
    first = warm.components_.copy()
    warm.fit(X)
    assert warm.n_iter_ == 6
    assert [facts["epoch"] for facts in warm.history_] == [1, 2, 3, 4, 5, 6]
    assert np.abs(warm.components_ - first).max() > 0
    warm.set_params(potential=1.5).fit(X)
    assert warm.chemical_potential_ == 1.5
    assert warm.history_[-1]["mu"] == 1.5
    with pytest.raises(ValueError, match="max_hidden is 3, but the model has 6: set warm_start=Fa"):
        warm.set_params(max_hidden=3).fit(X)
    parts = small()
    for chunk in (X, X[::-1], 0.5 * X):
        assert parts.partial_fit(chunk) is parts
    assert parts.n_iter_ == 3
    assert [facts["epoch"] for facts in parts.history_] == [1, 2, 3]
    with pytest.raises(ValueError, match="same coding"):
        parts.partial_fit(2 * X - 1)


def test_a_layer_without_an_end(X):
    model = VRBM(potential=Unbounded(0.3), n_iter=2, random_state=0).fit(X)
    stored = model._whole.max_hidden
    assert model.n_hidden_ <= stored
    assert model.mean_size_ == pytest.approx(float(model._whole.mean_size(X).mean()), rel=1e-5)
    assert_allclose(np.exp(model.score_samples(_all_rows(X.shape[1]))).sum(), 1, rtol=1e-5)
    model.partial_fit(X)
    assert model.n_iter_ == 3
    with pytest.raises(ValueError, match="max_hidden is 3, but the model has"):
        model.set_params(max_hidden=3).partial_fit(X)
    limited = VRBM(max_hidden=3, potential=Unbounded(0.3), n_iter=2, random_state=0).fit(X)
    assert limited._whole.max_hidden == 3


def test_probabilities_above_one_are_an_error(X, fitted):
    wrong = copy.copy(fitted)
    exact_value = fitted._log_partition()
    wrong._partition = replace(exact_value, log_partition=exact_value.log_partition - 50)
    for score in (wrong.score, wrong.score_samples):
        with pytest.raises(ImpossibleLikelihood, match="above 0, which is impossible"):
            score(X)


def test_scores_say_when_they_cannot_be_trusted(X, monkeypatch):
    """Few temperatures on a model far from independent columns, and the bracket is wide."""
    machine = RBM(30, n_iter=1, random_state=0).fit(np.tile(X, 4))
    W = 6 * np.random.default_rng(0).standard_normal(machine.model_.W.shape)
    machine.model_ = GrandCanonicalRBM(
        W, machine.model_.b, machine.model_.c, Binary(), Binary(), FixedSize()
    )
    monkeypatch.setattr(likelihood, "EFFORTS", ((20, 5), (30, 6)))
    with pytest.warns(LikelihoodWarning) as told:
        low, _ = machine.log_partition_bracket_
    words = " ".join(str(one.message) for one in told)
    assert "nats wide" in words or "chains count" in words
    assert machine._partition.temperatures == 6
    assert low < machine.log_partition_


def test_scores_stand_beside_those_of_simple_models(X, fitted):
    found = fitted.baselines(X)
    for name, fit in (
        ("independent columns", baselines.independent),
        ("a Chow-Liu tree", baselines.chow_liu),
    ):
        assert found[name] == pytest.approx(fit(X).log_probability(X).mean())
    spins = small().fit(2 * X - 1)
    assert spins.baselines(2 * X - 1) == pytest.approx(found)
    mean = fitted.score_samples(X).mean()
    assert fitted.score_bracket(X) == pytest.approx((mean, mean))
    wide = copy.copy(fitted)
    wide._partition = replace(fitted._log_partition(), lower=0.0, upper=20.0)
    low, high = wide.score_bracket(X)
    assert low == pytest.approx(mean + fitted.log_partition_ - 20)
    assert high == 0
    wide.score(X)  # with the upper end of its bracket it is above the tree
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="X has values in row 3 that are missing or between"):
        fitted.baselines(holes)
    with falls_short():
        fitted.score(holes)
    fitted.score(X[:1])  # the error of one row is not known
    assert small().fit(holes).baselines(X)["independent columns"] == pytest.approx(
        baselines.independent(np.delete(holes, 3, axis=0)).mean(X)
    )


def test_a_trained_model_is_not_below_its_baselines(X):
    machine = RBM(6, n_iter=300, learning_rate=0.1, random_state=0).fit(X)
    assert machine.score(X) > machine.baselines(X)["independent columns"]


def test_models_without_baselines(X):
    assert small().fit(X, sample_weight=np.ones(60)).baselines(X) == {}
    assert small().fit(X[:1]).baselines(X) == {}
    assert small().fit(0.5 * X).baselines(np.round(X)) == {}


def test_baselines_of_parts_are_those_of_the_first(X):
    parts = small().partial_fit(X[:1])
    assert parts.baselines(X) == {}
    parts.partial_fit(X)
    first = parts.baselines(X)
    assert first["independent columns"] == pytest.approx(baselines.independent(X).mean(X))
    assert parts.partial_fit(1 - X).baselines(X) == first
    warm = small(warm_start=True).fit(X).fit(X[:20])
    assert warm.baselines(X)["independent columns"] == pytest.approx(
        baselines.independent(X[:20]).mean(X)
    )


def is_priced(model, potential):
    """Whether a model has this potential; its price is an array there."""
    return describe_potential(model.potential) == describe_potential(potential)


def test_with_a_price_the_layer_has_no_end(X):
    machine = VRBM(potential=0.2, n_iter=2, random_state=0).fit(X)
    first = beginning.UNITS_PER_COLUMN * X.shape[1]
    assert is_priced(machine.model_, Unbounded(0.2, absorb_log2=False))
    stored = machine._whole.max_hidden
    assert stored >= first + growth.spare(0.2)
    assert machine.mean_size_ < machine.n_hidden_ <= stored
    assert machine._whole.size_survival(X).max(axis=0)[-1] <= growth.NEEDED
    idle = np.zeros((200, X.shape[1])), np.full(200, -40.0)
    model = machine.model_
    long = [np.concatenate(both) for both in zip((model.W, model.b), idle, strict=True)]
    kept = Constant(0.2, absorb_log2=False)
    long = GrandCanonicalRBM(*long, model.c, model.visible, model.hidden, kept)
    rows = _all_rows(X.shape[1])
    expected = -long.free_energy(rows) - exact.log_partition(long)
    assert_allclose(machine.score_samples(rows), expected, rtol=1e-4)
    machine.partial_fit(X)
    assert machine.n_iter_ == 3
    assert is_priced(
        VRBM(9, potential=0.2, n_iter=1).fit(X).model_, Constant(0.2, absorb_log2=False)
    )
    limited = VRBM(9, potential=Unbounded(0.2, absorb_log2=False), n_iter=1, random_state=0).fit(X)
    assert limited._whole.max_hidden == 9


def test_the_layer_grows_when_its_end_is_met(X, monkeypatch):
    monkeypatch.setattr(growth, "spare", lambda mu: 1)
    monkeypatch.setattr(beginning, "FEWEST_SPARE", 1)
    machine = VRBM(potential=0.2, n_iter=1, random_state=0).fit(X)
    monkeypatch.undo()
    enough = VRBM(potential=0.2, n_iter=1, random_state=0).fit(X)
    assert sum(facts["repeats"] for facts in machine.history_) > 0
    assert sum(facts["repeats"] for facts in enough.history_) == 0
    assert machine._whole.max_hidden > beginning.UNITS_PER_COLUMN * X.shape[1] + 16
    assert machine._whole.b[-1] < -2


def test_from_a_layer_with_an_end_to_one_without_and_back(X, tmp_path):
    machine = VRBM(300, potential=0.2, n_iter=1, warm_start=True, random_state=0).fit(X)
    machine.set_params(max_hidden=None).fit(X)
    stored = machine._whole.max_hidden
    assert stored >= 300 + growth.spare(0.2)
    assert_array_equal(machine._whole.b[-1] < -2, True)
    machine.set_params(potential=0.4).fit(X)
    assert machine._whole.max_hidden == stored
    machine.save(tmp_path / "machine")
    again = VRBM.load(tmp_path / "machine")
    assert is_priced(again.model_, Unbounded(0.4, absorb_log2=False))
    assert_array_equal(again.partial_fit(X).components_, machine.partial_fit(X).components_)
    machine.set_params(potential=Penalizing()).fit(X)
    with pytest.raises(ValueError, match="max_hidden is 10, but the model has"):
        machine.set_params(max_hidden=10).fit(X)


def test_by_default_units_are_exchanged_and_their_earnings_known(X, tmp_path):
    machine = VRBM(n_iter=3, random_state=0).fit(X)
    assert is_priced(machine.model_, Reservoir())
    assert (
        machine.unit_earnings_.shape == machine.unit_earnings_error_.shape == (machine.n_hidden_,)
    )
    machine.save(tmp_path / "machine")
    again = VRBM.load(tmp_path / "machine")
    assert again.potential is None
    assert_array_equal(again.unit_earnings_, machine.unit_earnings_)
    warm = machine.set_params(warm_start=True).fit(X)
    assert warm.n_hidden_ == again.n_hidden_


def test_the_size_by_halves_of_the_rows(X):
    machine = VRBM(n_iter=2, random_state=0)
    sizes = machine.size_spread(X, n_halves=3)
    assert sizes.shape == (3,)
    assert (sizes >= 1).all()
    assert not hasattr(machine, "model_")
    with pytest.raises(ValueError, match="X has 3 rows: pass at least 4"):
        machine.size_spread(X[:3])


@pytest.mark.parametrize("price", [0.0, -1.0, 0.009])
def test_no_price_too_low_for_a_layer_without_an_end(X, price):
    with pytest.raises(ValueError, match=f"potential is {price}, too low .* max_hidden"):
        VRBM(potential=price).fit(X)
    assert VRBM(5, potential=price, n_iter=1).fit(X).model_.max_hidden <= 5


def _all_rows(columns):
    return (np.arange(2**columns)[:, None] >> np.arange(columns)) & 1


def test_a_fit_that_fails_changes_nothing(X, monkeypatch):
    from vrbm.estimator import fitting

    def fails(*args, **kwargs):
        raise RuntimeError("diverged")

    fresh, machine = small(), small().fit(X)
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "train", fails)
        for one in (fresh, machine):
            before = dict(vars(one))
            for train in (one.fit, one.partial_fit):
                with pytest.raises(RuntimeError, match="diverged"):
                    train(X if one is machine else X[:, :4])
                assert vars(one) == before
    machine.set_params(potential="cheap")
    before = dict(vars(machine))
    with pytest.raises(ValueError, match="potential is 'cheap'"):
        machine.fit(2 * X[:, :4] - 1)
    assert vars(machine) == before


def test_gibbs_fills_in_and_steps_by_different_keys(X, fitted, monkeypatch):
    from vrbm.estimator import base

    keys = []

    def complete(model, v, key):
        keys.append(key)
        return base.completion.Completion(None, None, None, np.nan_to_num(v))

    def step(model, v, key):
        keys.append(key)
        return v

    monkeypatch.setattr(base.completion, "complete", complete)
    monkeypatch.setattr(base, "gibbs", step)
    fitted.gibbs(np.where(X == 0, np.nan, X))
    fill, step = keys
    assert fill != step


def test_pickle_and_files(X, tmp_path, fitted):
    for machine in (small(RBM).fit(X), small(potential=Penalizing()).fit(X), fitted):
        machine.score_samples(X)
        machine.save(tmp_path / "machine.safetensors")
        copy = type(machine).load(tmp_path / "machine.safetensors")
        assert_array_equal(copy.transform(X), machine.transform(X))
        assert_array_equal(copy.score_samples(X), machine.score_samples(X))
        assert copy.score_bracket(X) == machine.score_bracket(X)
        assert copy.baselines(X) == machine.baselines(X) != {}
        assert copy.history_ == machine.history_
    assert copy.partial_fit(X).n_iter_ == 4
    pickled = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(pickled.transform(X), fitted.transform(X))
    assert pickled.baselines(X) == fitted.baselines(X)
    with pytest.raises(ValueError, match=r"call vrbm\.VRBM\.load"):
        RBM.load(tmp_path / "machine.safetensors")


def test_files_hold_numbers_of_numpy_and_where_the_draws_stand(X, tmp_path):
    settings = {
        "max_hidden": np.int64(6),
        "potential": np.float32(0.25),
        "random_state": np.int64(0),
    }
    machine = small().set_params(**settings).fit(X)
    machine.random_state_.standard_normal()  # leaves a second number in the generator
    machine.gibbs(X)
    machine.save(tmp_path / "machine.safetensors")
    copy = VRBM.load(tmp_path / "machine.safetensors")
    assert copy.get_params() == machine.get_params()
    assert_array_equal(copy.gibbs(X), machine.gibbs(X))
    assert copy.random_state_.standard_normal() == machine.random_state_.standard_normal()


def test_sparse_rows_and_float32(X, fitted):
    rows = sparse.csr_matrix(X)
    assert_array_equal(small().fit(rows).transform(rows), fitted.transform(X))
    narrow = small().fit(X.astype(np.float32))
    assert narrow.model_.W.dtype == np.float32
    for name in ("transform", "score_samples", "gibbs", "reconstruct", "impute", "free_energy"):
        assert getattr(narrow, name)(X.astype(np.float32)).dtype == np.float32, name


def test_pandas_in_and_out(X):
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    machine = small().set_output(transform="pandas").fit(frame)
    out = machine.transform(frame)
    assert list(out.columns) == list(machine.get_feature_names_out())
    assert out.columns[0] == "vrbm0"
    assert machine.reconstruct(frame).shape == X.shape
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(small().fit_transform(frame), pandas.DataFrame)


def test_pipeline_search_and_cross_validation(X):
    y = X[:, 0].astype(int)
    pipeline = make_pipeline(small(), LogisticRegression())
    assert (cross_val_score(pipeline, X, y, cv=2) > 0).all()
    with falls_short():
        search = GridSearchCV(small(), {"potential": [0.2]}, cv=2).fit(X)
    assert np.isfinite(search.best_score_)


def test_weights_are_routed_and_count_in_sizes(X):
    weights = np.arange(60) % 4.0
    with sklearn.config_context(enable_metadata_routing=True):
        machine = small().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(machine).fit(X, sample_weight=weights)
    machine = small().fit(X, sample_weight=weights)
    assert_array_equal(pipeline[0].components_, machine.components_)
    survival = np.average(machine._whole.size_survival(X), axis=0, weights=weights)
    assert_allclose(machine.mean_size_, survival.sum())
    assert machine.n_hidden_ == (survival > UNUSED).sum()


def test_weights_count_like_repeated_rows(X):
    """In a batch of all rows, with weights of mean 1: 0 is absence, 2 twice as many copies as 1."""
    import jax
    import jax.numpy as jnp

    from vrbm.training import window
    from vrbm.training.gradient import gradient

    model = small().fit(X)._whole
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, 6)
    times = np.arange(60) % 4
    weights = jnp.asarray(times / times.mean())
    data, copies = (view.response(jnp.asarray(x)) for x in (X, np.repeat(X, times, axis=0)))
    zero = view.response(jnp.zeros((1, 6)))
    weighted, _ = gradient(model, pull, data, zero, weights=weights)
    repeated, _ = gradient(model, pull, copies, zero)
    for one, other in zip(weighted, repeated, strict=True):
        assert_allclose(one, other, atol=1e-12)
    half, half_copies = (view.response(one.v / 2) for one in (data, copies))
    weighted, _ = gradient(model, pull, data, half, data.v / 2, weights)
    repeated, _ = gradient(model, pull, copies, half_copies)
    for one, other in zip(weighted, repeated, strict=True):
        assert_allclose(one, other, atol=1e-12)
    some = times > 0
    assert_array_equal(
        small().fit(X, sample_weight=some).components_,
        small().fit(X[some], sample_weight=np.ones(45)).components_,
    )
    with pytest.raises(ValueError, match="zero"):
        small().fit(X, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="sample_weight holds -1"):
        small().fit(X, sample_weight=np.linspace(-1, 1, 60))


def test_a_progress_line(X, capsys):
    small(verbose=1).fit(X)
    assert "VRBM epoch 3/3" in capsys.readouterr().out


def test_an_interrupt_leaves_a_usable_model(X, monkeypatch):
    from vrbm.estimator import fitting

    def interrupted(*args, **kwargs):
        records = train(*args, **kwargs)
        yield next(records)
        raise KeyboardInterrupt

    train = fitting.train
    monkeypatch.setattr(fitting, "train", interrupted)
    with pytest.warns(
        UserWarning, match="in epoch 2 of 3: the model is that of the end of epoch 1"
    ):
        machine = small().fit(X)
    assert machine.n_iter_ == 1
    with falls_short():
        assert np.isfinite(machine.score(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.transform(X)
