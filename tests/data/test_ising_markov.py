import numpy as np
import pytest
from scipy.stats import ks_2samp

from tests.data.ising_reference import EXACT, TEMPERATURES, deviations, energy_p_value, estimates
from vrbm.data import ising
from vrbm.data.ising.autocorrelation import autocorrelation_time
from vrbm.data.ising.markov import metropolis_sweep, swendsen_wang_sweep

SAMPLERS = {"metropolis": ising.metropolis_draws, "swendsen-wang": ising.swendsen_wang_draws}
samplers = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS.keys())


@pytest.mark.parametrize(("decay", "tau"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_autocorrelation_time_of_a_known_process(decay, tau):
    """x_{t+1} = a x_t + noise has ρ(t) = a^t, hence τ = (1 + a)/(1 − a)."""
    rng = np.random.default_rng(0)
    x = np.empty((64, 4_000))
    x[:, 0] = rng.normal(size=64)
    for t in range(1, 4_000):
        x[:, t] = decay * x[:, t - 1] + np.sqrt(1 - decay**2) * rng.normal(size=64)
    assert autocorrelation_time(x) == pytest.approx(tau, rel=0.05)


def test_autocorrelation_time_of_what_does_not_move():
    assert autocorrelation_time(np.ones((4, 100))) == np.inf
    assert autocorrelation_time(np.repeat(np.arange(4.0)[:, None], 100, axis=1)) == np.inf


@pytest.mark.parametrize(
    ("sweep", "L", "K"),
    [
        (metropolis_sweep, 2, 0.4),
        (metropolis_sweep, 4, -0.44),
        (metropolis_sweep, 8, 0.44),
        (metropolis_sweep, 8, 0.1),
        (swendsen_wang_sweep, 2, 0.4),
        (swendsen_wang_sweep, 3, -0.6),
        (swendsen_wang_sweep, 4, -0.44),
        (swendsen_wang_sweep, 8, 0.44),
    ],
)
def test_a_sweep_keeps_the_exact_distribution(sweep, L, K):
    """Exact draws, three sweeps, energies compared with the density of states: needs no mixing.

    False-failure rate 1e-4 for each of eight cases; the seed is fixed.
    """
    n, T, J = 20_000, 1 / abs(K), float(np.sign(K))
    s = np.ascontiguousarray(ising.exact_draws(L, T, n, J=J, seed=1).T).reshape(L, L, n)
    before, rng = s.copy(), np.random.default_rng(2)
    for _ in range(3):
        sweep(K, s, rng)
    assert (s != before).any(axis=(0, 1)).mean() > 0.3
    assert energy_p_value(s.reshape(L * L, n).T, T, J) > 1e-4


def test_metropolis_leaves_the_diagonal_stripes():
    a, b = np.indices((4, 4))
    stripes = np.where((a + b) % 4 < 2, 1, -1).astype(np.int8)
    s = np.repeat(stripes[:, :, None], 8, axis=2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        metropolis_sweep(0.4, s, rng)
    assert (np.abs(s * stripes[:, :, None]).sum(axis=(0, 1)) == 16).all()
    assert not (s == stripes[:, :, None] * s[:1, :1]).all(axis=(0, 1)).any()


@samplers
@pytest.mark.parametrize("J", [1.0, -1.0])
def test_record(sampler, J):
    draws = sampler(8, 2.5, 1_000, J=J, chains=128, seed=1)
    assert draws.configurations.shape == (1_000, 64)
    assert draws.configurations.dtype == np.int8
    assert draws.converged
    assert draws.burn_in >= 20 * draws.autocorrelation_time
    assert draws.thinning == np.ceil(draws.autocorrelation_time)
    assert 0.7 * 1_000 < draws.effective_sample_size < 1_000
    again = sampler(8, 2.5, 1_000, J=J, chains=128, seed=1)
    assert (draws.configurations == again.configurations).all()


@samplers
def test_effective_sample_size(sampler):
    """The mean of a chain scatters as the reported size says, within a factor of 1.5."""
    draws = sampler(8, 2.269185, 256 * 40, seed=2)
    E = ising.energy(draws.configurations).reshape(40, 256)
    independent = E.var() / E.mean(axis=0).var()  # draws of one chain that are worth 40
    assert draws.effective_sample_size / 256 == pytest.approx(independent, rel=0.5)


@samplers
def test_draws_of_one_chain_have_independent_signs(sampler):
    """Where flips alone would keep the sign for ever; false-failure rate 6e-5."""
    m = ising.magnetization(sampler(8, 1.0, 256 * 9, seed=2).configurations).reshape(9, 256)
    assert abs((np.sign(m[1:]) * np.sign(m[:-1])).mean()) < 4 / (8 * 256) ** 0.5


@samplers
def test_frozen_chains_are_reported(sampler):
    with pytest.warns(UserWarning, match="temperature 0.1 show no decay .* Raise"):
        draws = sampler(8, 0.1, 1_000)
    assert not draws.converged
    assert draws.autocorrelation_time == np.inf
    assert draws.effective_sample_size == 256
    assert (ising.energy(draws.configurations) == -128).all()


def test_slow_chains_are_reported():
    with pytest.warns(UserWarning, match="max_burn_in stopped them after 256: raise max_burn_in"):
        draws = ising.metropolis_draws(16, 2.3, 100, max_burn_in=256, seed=3)
    assert not draws.converged


def test_frustrated_lattice():
    """Swendsen-Wang against exact draws; false-failure rate 1e-4, with a fixed seed."""
    draws = ising.swendsen_wang_draws(5, 1.5, 10_000, J=-1.0, chains=1_000, seed=4)
    exact = ising.thermodynamics(5, 1.5, -1.0)
    E = ising.energy(draws.configurations, -1.0)
    assert abs(E.mean() - exact.energy) < 4 * E.std() / draws.effective_sample_size**0.5
    free = ising.exact_draws(5, 1.5, 5_000, J=-1.0, seed=5)
    few = draws.configurations[:: draws.thinning][:1_000]
    m = [np.abs(ising.magnetization(v)) for v in (free, few)]
    assert ks_2samp(*m).pvalue > 1e-4


def check_against_reference(name: str, L: int, temperatures: list[float], n: int) -> None:
    for T in temperatures:
        draws = SAMPLERS[name](L, T, n, seed=8, chains=1_000)
        exact = ising.thermodynamics(L, T)
        known = {"e": exact.energy / L**2, "c": exact.heat_capacity / L**2}
        known |= EXACT["L8"][str(T)] if L == 8 else {}
        found = deviations(draws.configurations, T, draws.effective_sample_size, known)
        print(
            f"{name}, L = {L}, T = {T}: τ = {draws.autocorrelation_time:.1f},",
            f"burn-in {draws.burn_in}, thinning {draws.thinning},",
            f"worth {draws.effective_sample_size:.0f} of {n}:",
            {k: f"{d:+.2f}" for k, d in found.items()},
        )
        assert draws.converged
        assert max(map(abs, found.values())) < 4, (T, found)


@samplers
def test_energy_of_a_large_lattice(sampler):
    """Two numbers within 4 standard errors: false-failure rate 1e-4, with a fixed seed."""
    draws = sampler(24, 2.6, 512, seed=6)
    exact = ising.thermodynamics(24, 2.6)
    known = {"e": exact.energy / 24**2, "c": exact.heat_capacity / 24**2}
    found = deviations(draws.configurations, 2.6, draws.effective_sample_size, known)
    assert max(map(abs, found.values())) < 4, found


@pytest.mark.parametrize("name", SAMPLERS)
def test_reference(name):
    """12 numbers within 4 standard errors: false-failure rate 0.1 %, with a fixed seed."""
    check_against_reference(name, 8, [1.5, 2.269185, 3.5], 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("L", [8, 16])
@pytest.mark.parametrize("name", SAMPLERS)
def test_reference_at_nine_temperatures(name, L):
    """36 numbers (L = 8) or 18 within 4 standard errors: false-failure rate 0.2 % each time."""
    check_against_reference(name, L, TEMPERATURES, 20_000)


@pytest.mark.slow
def test_samplers_agree_on_the_magnetization():
    """|m| and m² at L = 16: 18 numbers within 4 standard errors, false-failure rate 0.1 %."""
    for T in TEMPERATURES:
        one, other = (
            estimates(draws.configurations, T, draws.effective_sample_size)
            for draws in (s(16, T, 20_000, seed=9, chains=1_000) for s in SAMPLERS.values())
        )
        for k in ("absm", "m2"):
            apart = (one[k][0] - other[k][0]) / np.hypot(one[k][1], other[k][1])
            print(f"L = 16, T = {T}, {k}: {one[k][0]:.5f}, {other[k][0]:.5f}, {apart:+.2f}")
            assert abs(apart) < 4, (T, k)
