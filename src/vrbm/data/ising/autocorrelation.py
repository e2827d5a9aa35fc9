"""How many steps of a Markov chain are worth one independent draw."""

import numpy as np

from vrbm.typing import Numbers

#: The sum over lags stops at the first window of this many autocorrelation times.
WINDOW = 3


def autocorrelation_time(series: Numbers) -> float:
    """τ = 1 + 2 Σ_{t≤W} ρ(t) of an observable, (chains, steps): n steps are worth n/τ draws.

    W is the first with W ≥ 3τ (Sokal's window). Deviations are from the mean of all chains, so that
    chains which stay apart count as correlated. Infinite where the series is too short to hold the
    window, or nothing changes.
    """
    if np.ptp(series) == 0:
        return float("inf")
    steps = series.shape[1]
    deviation = series - series.mean()
    spectrum = np.fft.rfft(deviation, 2 * steps, axis=1)
    power = (np.abs(spectrum) ** 2).mean(axis=0)
    covariance = np.fft.irfft(power)[:steps] / np.arange(steps, 0, -1)
    times = 2 * np.cumsum(covariance / covariance[0]) - 1
    closed = np.flatnonzero(np.arange(steps) >= WINDOW * times)
    return max(1.0, float(times[closed[0]])) if closed.size else float("inf")
