"""The concave curve through noisy likelihoods, and the size at which it reaches a value."""

import numpy as np
import pytest
from scipy.optimize import minimize

from vrbm.training.size_curve import SizeCurve, concave


def test_a_concave_curve_stays_as_it_is() -> None:
    x = np.array([1.0, 3.0, 4.0, 9.0, 20.0])
    np.testing.assert_allclose(concave(x, np.log(x)), np.log(x), atol=1e-8)


def test_the_concave_curve_is_the_nearest() -> None:
    """Against a general optimizer, with the constraint that slopes fall."""
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(0, 50, 7))
    y = np.sqrt(x) + 0.5 * random.standard_normal(7)

    def falls(f):
        return -np.diff(np.diff(f) / np.diff(x))

    best = minimize(
        lambda f: ((f - y) ** 2).sum(), y, constraints={"type": "ineq", "fun": falls}, tol=1e-12
    )
    found = concave(x, y)
    assert (falls(found) > -1e-8).all()
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_a_layer_that_learns_rows_by_heart_counts_as_good_as_a_smaller_one() -> None:
    curve = SizeCurve([400, 200, 100, 50], [-12.0, -11.0, -10.0, -10.5])
    assert curve.highest() == pytest.approx(-10.0)
    assert list(curve.fitted()) == [50, 100, 200, 400]


def test_noise_is_taken_off() -> None:
    """What K = 60 has too much, and 70 too little, does not decide."""
    sizes = np.array([20, 30, 40, 50, 60, 70, 80])
    true = -1 / sizes
    noise = np.array([0, 0, 0, 0, 1, -1, 0]) * 2e-4
    fitted = SizeCurve(sizes.tolist(), (true + noise).tolist()).fitted()
    rms = np.sqrt(np.mean((np.array([*fitted.values()]) - true) ** 2))
    assert rms < np.sqrt(np.mean(noise**2))


def test_the_crossing_lies_between_sizes() -> None:
    curve = SizeCurve([40, 30, 20, 10], [0.0, -0.1, -0.3, -0.7])
    assert curve.crossing(-0.2) == 23  # at most 0.04 a unit, the slope below 20
    assert curve.crossing(-0.1) == 30
    assert curve.crossing(-1.0) == 10
    assert curve.measured(10, -0.05).crossing(-0.08) == 10


@pytest.mark.parametrize(
    ("sizes", "values"), [([1, 2], [0.0]), ([3, 3], [0.0, 1.0]), ([1], [np.nan])]
)
def test_bad_curves_are_refused(sizes: list, values: list) -> None:
    with pytest.raises(ValueError, match="one finite value for each"):
        SizeCurve(sizes, values)
