"""The concave curve through noisy likelihoods, and the sizes that it asks for and finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from vrbm.training.size_curve import NEGLIGIBLE, TOLERANCE, SizeCurve, concave


def test_a_concave_curve_stays_as_it_is() -> None:
    x = np.array([1.0, 3.0, 4.0, 9.0, 20.0])
    np.testing.assert_allclose(concave(x, np.log(x), 0.02), np.log(x), atol=1e-8)


def test_the_concave_curve_is_the_nearest() -> None:
    """Against a general optimizer, with the constraints that slopes fall."""
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(0, 50, 7))
    y = np.sqrt(x) + 0.5 * random.standard_normal(7)

    def bounds(f):
        return -np.diff(np.diff(f) / np.diff(x))

    best = minimize(
        lambda f: np.sqrt(1 + ((f - y) / 0.3) ** 2).sum(),
        y,
        constraints={"type": "ineq", "fun": bounds},
        tol=1e-12,
    )
    found = concave(x, y, 0.3)
    assert (bounds(found) > -1e-8).all()
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_a_layer_that_learns_rows_by_heart_counts_as_good_as_a_smaller_one() -> None:
    curve = SizeCurve([400, 200, 100, 50], [-13.0, -11.0, -10.0, -10.5])
    K, L = curve.fitted
    assert K.tolist() == [50, 100, 200, 400]
    np.testing.assert_allclose(L, [-10.5, -10, -10, -10], atol=1e-6)
    assert not curve.is_rising(-20.0)
    assert curve.at(75) == pytest.approx(-10.25)
    # Not concave: what is not is within the scale.
    bent = SizeCurve([400, 200, 100, 50], [-12.0, -11.0, -10.0, -10.5])
    np.testing.assert_allclose(bent.fitted[1], [-10.5, -10, -10, -10], atol=NEGLIGIBLE)
    assert not bent.is_rising(-20.0)


def test_noise_is_taken_off() -> None:
    """What K = 60 has too much, and 70 too little, does not decide."""
    sizes = np.array([20, 30, 40, 50, 60, 70, 80])
    true = -1 / sizes
    noise = np.array([0, 0, 0, 0, 1, -1, 0]) * 2e-4
    _, fitted = SizeCurve(sizes.tolist(), (true + noise).tolist()).fitted
    assert np.sqrt(np.mean((fitted - true) ** 2)) < np.sqrt(np.mean(noise**2))


def test_one_layer_that_came_out_better_does_not_decide() -> None:
    sizes = [20, 40, 80, 80, 80, 160, 160, 160]
    values = [-4.0, -2.0, -1.0, -1.01, -0.99, -0.9, -0.2, -0.9]
    K, fitted = SizeCurve(sizes, values).fitted
    np.testing.assert_allclose(fitted[K >= 80], [-1.0, -0.9], atol=0.02)


def test_repeated_measurements_are_averaged() -> None:
    curve = SizeCurve([10, 20, 10], [-2.0, -1.0, -1.8])
    np.testing.assert_allclose(curve.fitted[1], [-1.9, -1.0])


def exponential(size: float, scale: float) -> float:
    """A likelihood that saturates: 10 nats are to be gained."""
    return float(-10 * np.exp(-size / scale))


@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0, 60.0])
@pytest.mark.parametrize("first", [4, 32, 256])
def test_the_search_finds_the_size_from_any_start(scale: float, first: int) -> None:
    curve, size = SizeCurve(), first
    for _ in range(12):
        curve = curve.measured(size, exponential(size, scale))
        size = curve.next_size(-10.0, 512)
    wanted = -scale * np.log(TOLERANCE + NEGLIGIBLE / 10)
    assert curve.smallest(-10.0) == pytest.approx(wanted, rel=0.1, abs=1)


def test_the_most_units_are_not_exceeded() -> None:
    curve = SizeCurve([32], [-5.0])
    assert curve.next_size(-10.0, 100) == 64
    curve = curve.measured(64, -4.0)
    assert curve.next_size(-10.0, 100) == 100
    curve = curve.measured(100, -3.0)
    assert curve.is_rising(-10.0)
    assert curve.next_size(-10.0, 100) <= 100


def test_planted_units_are_between_sizes_that_were_measured() -> None:
    """Each of 40 units is worth a nat: 32 and 64 tell where the curve bends."""
    curve = SizeCurve([32, 64, 128], [-8.0, 0.0, 0.0])
    assert curve.smallest(-40.0) == 40


@pytest.mark.parametrize(("sizes", "values"), [([1, 2], [0.0]), ([1], [np.nan])])
def test_bad_curves_are_refused(sizes: list, values: list) -> None:
    with pytest.raises(ValueError, match="one finite value for each"):
        SizeCurve(sizes, values)
