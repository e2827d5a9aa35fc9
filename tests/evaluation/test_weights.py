import numpy as np
import pytest
from numpy.testing import assert_allclose

from vrbm.model.weights import log_mean_exp


def test_the_mean_is_of_weights_and_not_of_their_logarithms():
    found = log_mean_exp(np.log([1.0, 2.0, 6.0]) + 5000)
    assert_allclose(found.value, 5000 + np.log(3))
    assert_allclose(found.effective_sample_size, 81 / 41)


def test_the_error_is_that_of_the_mean_for_small_spread():
    logs = 0.01 * np.random.default_rng(0).normal(size=1000) - 300
    w = np.exp(logs - logs.mean())
    expected = w.std(ddof=1) / w.mean() / np.sqrt(1000)
    assert_allclose(log_mean_exp(logs).standard_error, expected, rtol=1e-3)


def test_groups_are_left_out_together():
    """Copies of a weight bring no more knowledge: the error stays, where it would shrink."""
    logs = np.random.default_rng(1).normal(size=50)
    once = log_mean_exp(logs)
    copies = log_mean_exp(np.repeat(logs, 4), np.repeat(np.arange(50), 4))
    assert_allclose(copies.value, once.value)
    assert_allclose(copies.standard_error, once.standard_error)
    assert log_mean_exp(np.repeat(logs, 4)).standard_error < 0.6 * once.standard_error


def test_one_weight_has_no_error_and_a_dominant_one_a_large_one():
    assert log_mean_exp([3.0]).standard_error == np.inf
    assert log_mean_exp([3.0, 3.0], np.array([7, 7])).standard_error == np.inf
    found = log_mean_exp([0.0, -100.0, -100.0, -100.0])
    assert found.standard_error > 50
    assert_allclose(found.effective_sample_size, 1)


@pytest.mark.parametrize("bad", [[], [np.nan, 1.0], [[1.0]]])
def test_bad_weights(bad):
    with pytest.raises(ValueError, match="no list of finite numbers"):
        log_mean_exp(bad)
