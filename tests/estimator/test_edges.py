"""Data at the edges: each a clear error or the right answer."""

import logging

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError

from vrbm import RBM, VRBM
from vrbm.estimator import coding
from vrbm.training import config

X = np.random.default_rng(0).integers(0, 2, size=(30, 4)).astype(float)


def small(kind=VRBM):
    return kind(5, n_iter=30, random_state=0)  # one compiled step for all


@pytest.mark.parametrize(
    ("kind", "shape"), [(VRBM, (1, 4)), (VRBM, (30, 1)), (RBM, (1, 1))], ids=str
)
def test_one_row_or_one_column(kind, shape):
    rows = X[: shape[0], : shape[1]]
    machine = small(kind).fit(rows)
    assert machine.transform(rows).shape == (shape[0], machine.n_hidden_)
    assert np.isfinite(machine.score(rows))


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0])
def test_constant_columns_are_learned_as_such(value):
    rows = 2 * X - 1 if value < 0 else X.copy()
    rows[:, 2] = value
    machine = small().fit(rows)
    assert np.isfinite(machine.components_).all()
    holes = rows.copy()
    holes[:, 2] = np.nan
    assert_allclose(machine.impute(holes)[:, 2], value, atol=0.1)


def test_a_table_of_one_value():
    machine = small().fit(np.ones((30, 4)))
    assert machine.coding_.kind == "0/1"
    assert machine.score(np.ones((1, 4))) > np.log(0.5)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.empty((0, 4)), "0 sample"),
        (np.empty((4, 0)), "0 feature"),
        (np.array([["a", "b"]]), "could not convert string to float|Unable to convert"),
        (np.array([[0, np.inf]]), "infinity"),
        (np.array([[0, np.nan], [1, np.nan]]), "no value in column 1, only NaN"),
        (np.zeros(3), "1D array|Expected 2D"),
    ],
)
def test_what_cannot_be_fitted(rows, message):
    with pytest.raises(ValueError, match=message):
        small().fit(rows)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_hidden": 0}, "max_hidden is 0"),
        ({"n_iter": 0}, "n_iter is 0"),
        ({"batch_size": 1.5}, "batch_size is 1.5"),
        ({"learning_rate": -1}, "learning_rate is -1"),
        ({"n_chains": None}, "n_chains is None"),
        ({"n_gibbs": 0}, "n_gibbs is 0"),
        ({"potential": "cheap"}, "potential is 'cheap'"),
    ],
)
def test_parameters_are_checked_by_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        VRBM().set_params(**settings).fit(X)


def test_later_data_in_another_coding():
    machine = small().fit(X)
    with pytest.raises(ValueError, match="holds -1 in row 0, column 0, but the model was fitted"):
        machine.transform(-np.ones((1, 4)))
    with pytest.raises(ValueError, match="choose 'mean' or 'sample'"):
        machine.impute(X, "median")


def test_further_data_of_a_begun_model():
    first = coding.find(X)
    chunk = X[:5].copy()
    chunk[:, 1] = np.nan
    assert first.accepts(chunk) is first
    assert first.accepts(0.5 * chunk).kind == "[0, 1]"
    assert first.accepts(3 * chunk) is first  # to be refused by encode
    spins = coding.find(2 * X - 1)
    assert spins.accepts(chunk) is spins


def test_nearly_all_rows_fill_a_batch():
    assert config.equal_batch(19, 10) == 9
    assert config.equal_batch(1437, 10) == 10
    for n in range(1, 200):
        for most in range(1, 40):
            size = config.equal_batch(n, most)
            assert 1 <= size <= most
            assert n % size < n // size


def test_rows_without_any_value():
    machine = small().fit(np.vstack([X, np.full((1, 4), np.nan)]))
    filled = machine.impute(np.full((1, 4), np.nan), "mean")
    assert ((filled > 0) & (filled < 1)).all()
    assert np.isin(machine.impute(np.full((1, 4), np.nan), "sample"), (0, 1)).all()
    assert_allclose(machine.score_samples(np.full((1, 4), np.nan)), 0, atol=1e-9)


def test_real_numbers_are_scaled_with_a_warning():
    rows = np.random.default_rng(1).normal(size=(30, 4))
    with pytest.warns(UserWarning, match="scaled to"):
        machine = small().fit(rows)
    back = machine.reconstruct(rows)
    assert (back >= rows.min(axis=0)).all()
    assert (back <= rows.max(axis=0)).all()
    assert np.isfinite(machine.transform(10 * rows)).all()


def test_the_first_fit_compiles_few_programs(caplog):
    """Of a shape that no other test has; each small operation would be a program of its own.

    Four of them find the size.
    """
    rows = np.random.default_rng(1).integers(0, 2, size=(37, 11)).astype(np.float32)
    with jax.log_compiles(), caplog.at_level(logging.WARNING, logger="jax"):
        VRBM(13, n_iter=2, random_state=0).fit(rows).transform(rows)
    done = [m for m in caplog.messages if m.startswith("Finished XLA compilation")]
    assert 4 <= len(done) <= 14


@pytest.mark.parametrize("name", ["components_", "intercept_hidden_", "intercept_visible_"])
def test_what_is_fitted_is_not_there_before(name):
    with pytest.raises(NotFittedError):
        getattr(VRBM(), name)


@pytest.mark.parametrize("X", [{"a": [1, 2]}, {1, 2}, iter([[0, 1], [1, 0]])])
def test_what_is_no_table_is_refused_in_a_sentence(X):
    with pytest.raises(ValueError, match=r"X is a .*: pass an array, a data frame"):
        VRBM().fit(X)


def test_ranges_beyond_the_largest_float_are_refused():
    """Their width is infinite, and ∞/∞ would pass for a missing entry."""
    rows = X.copy()
    rows[0, 2], rows[1, 2] = -1.5e308, 1.5e308
    with (
        pytest.warns(UserWarning, match="scaled to"),
        pytest.raises(ValueError, match=r"-1\.5e\+308 to 1\.5e\+308 in column 2, a range beyond"),
    ):
        coding.find(rows)


@pytest.mark.parametrize("value", [2.0**53, -1e300])
def test_large_constant_columns_are_not_missing(value):
    """Where value + 1 is the value itself."""
    rows = X.copy()
    rows[:, 2] = value
    with pytest.warns(UserWarning, match="scaled to"):
        found = coding.find(rows)
    encoded = found.encode(rows)
    assert_allclose(encoded[:, 2], 0)
    assert np.isfinite(encoded).all()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_broken_sparse_matrices_do_not_reach_compiled_code(kind):
    rows = sparse.csr_array(X).asformat(kind)
    (rows.coords[1] if kind == "coo" else rows.indices)[2] = 10**8
    with pytest.raises(ValueError, match="X is no valid sparse matrix: indices run from"):
        small().fit(rows)


def test_sparse_rows_that_memory_cannot_hold():
    with pytest.raises(ValueError, match=r"made dense, needs [\d,.]* GiB"):
        small().fit(sparse.csr_array((10**6, 10**7)))
