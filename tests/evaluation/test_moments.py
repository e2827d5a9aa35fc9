from itertools import combinations

import numpy as np
import pytest

from vrbm.data import ising
from vrbm.evaluation.moments import compare_moments, moments, pair_correlations, random_triples


def test_moments_by_plain_sums():
    v = np.random.default_rng(0).integers(0, 2, (40, 5)).astype(float)
    d = v - v.mean(axis=0)
    triples = random_triples(5, 100)
    assert triples.tolist() == [list(t) for t in combinations(range(5), 3)]
    values, errors = moments(v, triples)
    for (i, j, k), value, error in zip(triples, values, errors, strict=True):
        product = d[:, i] * d[:, j] * d[:, k]
        assert value == pytest.approx(product.mean())
        assert error == pytest.approx(product.std() / 40**0.5)
    np.testing.assert_allclose(moments(v, np.arange(5)[:, None])[0], v.mean(axis=0))
    np.testing.assert_allclose(pair_correlations(v), np.cov(v.T, ddof=0))


def test_samples_of_the_same_distribution_differ_by_the_noise():
    """The mean square of 120 and more deviations, which are correlated: within 25 %."""
    a, b = (ising.exact_draws(4, 3.0, 5000, seed=seed) for seed in (1, 2))
    found = compare_moments(a, b)
    assert [found[order].number for order in (1, 2, 3)] == [16, 120, 560]
    for order in (2, 3):
        assert found[order].difference == pytest.approx(found[order].noise, rel=0.25)
    assert found[2].correlation > 0.95
    other = compare_moments(a, ising.exact_draws(4, 2.0, 5000, seed=3))
    assert other[2].difference > 10 * other[2].noise


def test_third_order_sees_what_pairs_do_not():
    """v_3 = v_1 v_2: no means, no pairs, but a triple."""
    rng = np.random.default_rng(0)
    free = 2.0 * rng.integers(0, 2, (4000, 3)) - 1
    bound = free.copy()
    bound[:, 2] = bound[:, 0] * bound[:, 1]
    found = compare_moments(free, bound)
    assert found[2].difference < 4 * found[2].noise
    assert found[3].difference > 0.9


def test_random_triples():
    found = random_triples(30, 500, seed=1)
    assert found.shape == np.unique(found, axis=0).shape == (500, 3)
    assert (np.diff(found, axis=1) > 0).all()
    assert (np.bincount(found.ravel(), minlength=30) > 20).all()
    np.testing.assert_array_equal(found, random_triples(30, 500, seed=1))


def test_few_units_and_complaints():
    assert list(compare_moments(np.ones((3, 2)), np.ones((4, 2)))) == [1, 2]
    assert np.isnan(compare_moments(np.ones((3, 2)), np.ones((4, 2)))[1].correlation)
    with pytest.raises(ValueError, match="3 values in a row, and data 2"):
        compare_moments(np.ones((3, 2)), np.ones((4, 3)))
    with pytest.raises(ValueError, match="at least one row"):
        pair_correlations(np.ones(4))
