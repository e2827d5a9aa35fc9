import numpy as np
import pytest

from vrbm.evaluation.mixing import effective_sample_size, estimate, mixing_diagnostics, split_r_hat


def autoregressive(decay, chains=50, steps=4000, seed=0):
    """x_t = decay x_{t−1} + noise, stationary with variance 1: τ = (1 + decay)/(1 − decay)."""
    rng = np.random.default_rng(seed)
    x = np.empty((chains, steps))
    x[:, 0] = rng.normal(size=chains)
    noise = rng.normal(size=(chains, steps)) * np.sqrt(1 - decay**2)
    for t in range(1, steps):
        x[:, t] = decay * x[:, t - 1] + noise[:, t]
    return x


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
def test_a_known_process(decay):
    x = autoregressive(decay)
    tau = (1 + decay) / (1 - decay)
    found = mixing_diagnostics(x)
    assert found.autocorrelation_time == pytest.approx(tau, rel=0.05)
    assert found.effective_sample_size == pytest.approx(x.size / tau, rel=0.05)
    assert abs(found.r_hat - 1) < 0.01


def test_errors_cover_the_truth():
    """Of 200 means with τ = 9, a fraction 0.683 lies within its error; 4 σ = 0.13."""
    x = autoregressive(0.8, chains=800, steps=500).reshape(200, 4, 500)
    found = [estimate(series) for series in x]
    inside = np.mean([abs(value) < error for value, error in found])
    assert abs(inside - 0.683) < 0.13


def test_independent_draws():
    x = np.random.default_rng(0).normal(size=(400, 1))
    assert effective_sample_size(x) == 400
    assert estimate(x).error == pytest.approx(x.std(ddof=1) / 20)
    assert np.isnan(split_r_hat(x))


def test_chains_that_stay_apart():
    x = autoregressive(0.5, chains=4) + 10 * np.arange(4)[:, None]
    assert split_r_hat(x) > 5
    assert effective_sample_size(x) == 4
    assert estimate(x).error > 2
    drift = autoregressive(0.5, chains=4) + np.linspace(0, 5, 4000)
    assert split_r_hat(drift) > 1.4
    assert split_r_hat(np.ones((3, 10))) == np.inf


def test_split_r_hat_by_hand():
    """Halves (0, 2), (2, 4), (1, 3), (1, 3): W = 2, variance of the means 2/3, n = 2."""
    x = np.array([[0.0, 2, 2, 4], [1, 3, 1, 3]])
    assert split_r_hat(x) == pytest.approx(np.sqrt(1 / 2 + (2 / 3) / 2))


def test_complaints():
    with pytest.raises(ValueError, match="one chain is"):
        mixing_diagnostics(np.ones(5))
    with pytest.raises(ValueError, match="not finite"):
        mixing_diagnostics(np.full((2, 5), np.nan))
