r"""Markov chains for lattices of any size: checkerboard Metropolis and Swendsen-Wang clusters.

Many chains run at once, from the ordered state that J favours. The run is doubled until it holds
many autocorrelation times of the energy and of the order parameter; that much is the burn-in. Then
every τ-th configuration of each chain is kept, with a random sign, since E(−s) = E(s).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isfinite, tanh

import numpy as np
from jaxtyping import Int8
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from vrbm.data.ising import checks
from vrbm.data.ising.autocorrelation import autocorrelation_time
from vrbm.data.ising.lattice import checkerboard, energy, magnetization
from vrbm.data.ising.transfer import Seed
from vrbm.typing import Spins

#: Burn-in in autocorrelation times; its second half measures them.
BURN_IN = 20
#: The first run, in sweeps; doubled until it is BURN_IN autocorrelation times long.
FIRST_RUN = 256
#: How often Metropolis offers a site its flip. If always, the diagonal stripes, where no flip
#: changes the energy, would turn into their negative for ever.
OFFER = 0.75

Lattices = Int8[np.ndarray, "L L chains"]
#: sweep(K, spins, rng) changes all chains in place.
Sweep = Callable[[float, Lattices, np.random.Generator], None]


@dataclass(frozen=True, eq=False)
class MarkovDraws:
    """Configurations of Markov chains, and how far they are from independent."""

    configurations: Spins
    """(n, N); one of each chain in turn"""
    autocorrelation_time: float
    """τ in sweeps, the longer one of energy and order parameter; infinite if no decay was seen"""
    burn_in: int
    """sweeps of each chain before its first draw"""
    thinning: int
    """sweeps of each chain from draw to draw"""
    effective_sample_size: float
    """n tanh(thinning/τ): what n draws are worth if correlations decay exponentially;
    the number of chains where τ is infinite"""
    converged: bool
    """whether the burn-in was 20 τ long"""


def metropolis_draws(
    L: int,
    temperature: float,
    n: int,
    *,
    J: float = 1.0,
    seed: Seed = 0,
    chains: int = 256,
    max_burn_in: int = 1 << 15,
) -> MarkovDraws:
    """n configurations by Metropolis flips on one sublattice after the other; L must be even."""
    if checks.side(L) % 2:
        raise ValueError(
            f"L is {L}, and a checkerboard on the torus needs an even L: "
            "use swendsen_wang_draws(), or exact_draws() on small lattices."
        )
    return _draws(metropolis_sweep, L, temperature, n, J, seed, chains, max_burn_in)


def swendsen_wang_draws(
    L: int,
    temperature: float,
    n: int,
    *,
    J: float = 1.0,
    seed: Seed = 0,
    chains: int = 256,
    max_burn_in: int = 1 << 15,
) -> MarkovDraws:
    """n configurations by Swendsen-Wang cluster flips, which stay fast at the critical point."""
    return _draws(swendsen_wang_sweep, L, temperature, n, J, seed, chains, max_burn_in)


def metropolis_sweep(K: float, s: Lattices, rng: np.random.Generator) -> None:
    """One offered flip for each site, in place, accepted by min(1, e^{−ΔE/T}).

    ΔE/T = 2K s_i Σ_j s_j over the four neighbours. The four sublattices (a, b) of even and odd rows
    and columns are updated one by one: the first two are the black sites, the others the white.
    """
    accept = OFFER * np.exp(np.minimum(0, -2 * K * np.arange(-4, 5)))
    for a, b in ((0, 0), (1, 1), (0, 1), (1, 0)):
        sites, above, beside = s[a::2, b::2], s[1 - a :: 2, b::2], s[a::2, 1 - b :: 2]
        neighbours = above + np.roll(above, 1 - 2 * a, axis=0)
        neighbours += beside + np.roll(beside, 1 - 2 * b, axis=1)
        flip = rng.random(sites.shape) < accept[sites * neighbours + 4]
        np.negative(sites, out=sites, where=flip)


def swendsen_wang_sweep(K: float, s: Lattices, rng: np.random.Generator) -> None:
    """Satisfied bonds are kept with probability 1 − e^{−2|K|}; each cluster gets a random sign.

    In place. Valid for couplings of either sign, frustrated lattices included.
    """
    site = np.arange(s.size, dtype=np.int32).reshape(s.shape)
    kept, neighbours = [], []
    for axis in (0, 1):
        satisfied = (s == np.roll(s, -1, axis)) == (K > 0)
        kept.append(satisfied & (rng.random(s.shape) < -np.expm1(-2 * abs(K))))
        neighbours.append(np.roll(site, -1, axis))
    n_clusters, cluster = _clusters(np.stack(kept, axis=-1), np.stack(neighbours, axis=-1))
    s *= _signs(n_clusters, rng)[cluster].reshape(s.shape)


def _signs(n: int, rng: np.random.Generator) -> Int8[np.ndarray, "n"]:
    return 2 * rng.integers(0, 2, n, dtype=np.int8) - 1


def _clusters(kept: np.ndarray, neighbours: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of clusters, and the cluster of each site, from two bonds of each, (…, 2)."""
    bonds = kept[..., 0].reshape(-1).astype(np.int32) + kept[..., 1].reshape(-1)
    ends = np.concatenate([[0], np.cumsum(bonds)])
    targets = neighbours[kept]
    graph = csr_array((np.ones(len(targets)), targets, ends), shape=(bonds.size, bonds.size))
    n_clusters, cluster = connected_components(graph, directed=False)
    return int(n_clusters), cluster


def _draws(
    sweep: Sweep,
    L: int,
    temperature: float,
    n: int,
    J: float,
    seed: Seed,
    chains: int,
    max_burn_in: int,
) -> MarkovDraws:
    L, n, J = checks.side(L), checks.count("n", n), checks.coupling(J)
    chains = min(n, checks.count("chains", chains))
    checks.memory_for(n, L)
    K = J / checks.temperature(temperature, J)
    order = checkerboard(L) if J < 0 else np.ones(L * L, np.int8)
    rng = np.random.default_rng(seed)
    s = np.repeat(order, chains).reshape(L, L, chains)
    tau, burn_in = _burn_in(sweep, K, s, order, rng, checks.count("max_burn_in", max_burn_in))
    converged = burn_in >= BURN_IN * tau
    if not converged:
        warnings.warn(_complaint(L, temperature, tau, burn_in), stacklevel=3)
    thinning = ceil(tau) if isfinite(tau) else 1
    kept = np.empty((-(-n // chains), chains, L * L), np.int8)
    for draw in kept:
        for _ in range(thinning):
            sweep(K, s, rng)
        draw[:] = _configurations(s * _signs(chains, rng))
    return MarkovDraws(
        configurations=kept.reshape(-1, L * L)[:n],
        autocorrelation_time=tau,
        burn_in=burn_in,
        thinning=thinning,
        effective_sample_size=n * tanh(thinning / tau) if isfinite(tau) else float(chains),
        converged=converged,
    )


def _burn_in(
    sweep: Sweep, K: float, s: Lattices, order: Spins, rng: np.random.Generator, most: int
) -> tuple[float, int]:
    """Run, in place, until the run is BURN_IN τ long; τ and the length of the run."""
    history: list[np.ndarray] = []  # energy and order parameter, (2, chains) for each sweep
    length = min(FIRST_RUN, most)
    while True:
        while len(history) < length:
            sweep(K, s, rng)
            v = _configurations(s)
            row = [energy(v), np.abs(magnetization(v * order))]
            history.append(np.stack(row).astype(np.float32))
        recent = np.stack(history[length // 2 :], axis=-1).astype(np.float64)
        tau = max(autocorrelation_time(series) for series in recent)
        if length >= BURN_IN * tau or length == most or np.ptp(recent[0]) == 0:
            return tau, length
        length = min(2 * length, most)


def _configurations(s: Lattices) -> Spins:
    """(chains, N), a view."""
    return s.reshape(-1, s.shape[-1]).T


def _complaint(L: int, temperature: float, tau: float, burn_in: int) -> str:
    where = f"the chains for L = {L}, temperature {temperature:g}"
    if isfinite(tau):
        return (
            f"{where} have an autocorrelation time of about {tau:.0f} sweeps, and max_burn_in "
            f"stopped them after {burn_in}: raise max_burn_in, or use swendsen_wang_draws()."
        )
    return (
        f"{where} show no decay of correlations in {burn_in} sweeps, because they are frozen or "
        "slow: the draws are near the ordered start. Raise max_burn_in or the temperature, or use "
        "exact_draws() on small lattices."
    )
