r"""Annealed runs along the path, forward and backward, and the ladder of their temperatures.

Forward, from v_0 ~ p_0, for k = 1 … M: log w grows by F_{k−1}(v_{k−1}) − F_k(v_{k−1}), then v_k is
drawn by T_k from v_{k−1}. Then E[w] = Z_1/Z_0.
Backward, from v_{M−1} ~ p_1, for k = M … 1: log w grows by the same term, then v_{k−2} is drawn by
T_{k−1} from v_{k−1}. Then E[1/w] = Z_0/Z_1, since each kernel T_k is reversible.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vrbm.evaluation.path import Path, fields_of_mean
from vrbm.model.random import Keys
from vrbm.typing import Chains, Field, RandomKey

#: Temperatures between two calls of `progress`.
SEGMENT = 250
#: Values of v and h in a block of chains, over all replicas, where memory is all that bounds it.
VALUES = 1 << 24
PILOT_CHAINS = 100
PILOT_TEMPERATURES = 200
#: Number of the key of the pilot runs; no block of chains has it.
PILOT = 2**32 - 1

ChainWeights = Float[Array, "chains"]
Progress = Callable[[int], None]


class Annealed(eqx.Module):
    """Chains after a run."""

    v: Chains
    """(chains, N)"""
    log_weights: ChainWeights
    """log w, (chains,)"""
    friction: np.ndarray
    """how fast log w spreads at each step, as a standard deviation by unit of β, (steps,)"""


def run(
    path: Path,
    v: Chains,
    betas: np.ndarray,
    key: RandomKey,
    *,
    backward: bool = False,
    progress: Progress = lambda steps: None,
) -> Annealed:
    """Take chains v from the first to the last of the betas, which rise; or, backward, down them.

    `progress` is called with the number of steps done since the last call.
    """
    low, high = betas[:-1], betas[1:]
    steps = np.stack([low, high, low if backward else high], axis=1)
    steps = steps[::-1] if backward else steps
    segments = -(-len(steps) // SEGMENT)
    length = -(-len(steps) // segments)
    # Segments of one length are compiled once. Steps at the last β add nothing to a weight.
    spare = np.full((segments * length - len(steps), 3), steps[-1, 2])
    parts = np.concatenate([steps, spare]).astype(v.dtype).reshape(segments, length, 3)
    keys = Keys(key)
    log_weights = jnp.zeros(len(v), v.dtype)
    slopes = jnp.zeros_like(log_weights)
    friction = []
    for number, part in enumerate(parts):
        v, log_weights, slopes, spread = _segment(path, v, log_weights, slopes, part, keys(number))
        friction.append(np.asarray(spread))
        progress(min(length, len(steps) - number * length))
    return Annealed(v, log_weights, np.concatenate(friction)[: len(steps)])


@jax.jit
def _segment(
    path: Path,
    v: Chains,
    log_weights: ChainWeights,
    slopes: ChainWeights,
    steps: Array,
    key: RandomKey,
) -> tuple[Chains, ChainWeights, ChainWeights, Array]:
    """Steps (low, high, β): the rise between the first two adds to log w, then v is drawn at β."""

    def step(carry: tuple[Array, ...], inputs: tuple[Array, Array]) -> tuple[tuple, Array]:
        (v, x, log_weights, before), ((low, high, beta), key) = carry, inputs
        rises = high > low
        gain = jnp.where(rises, path.gain(v, x, low, high), 0)
        slopes = gain / jnp.where(rises, high - low, 1)
        v = path.step(x, beta, key)
        return (v, path.fields(v), log_weights + gain, slopes), _friction(before, slopes)

    start = (v, path.fields(v), log_weights, slopes)
    keys = jax.random.split(key, len(steps))
    (v, _, log_weights, slopes), friction = jax.lax.scan(step, start, (steps, keys))
    return v, log_weights, slopes, friction


@partial(jax.jit, static_argnames="steps")
def settle(path: Path, v: Chains, key: RandomKey, steps: int) -> Chains:
    """Gibbs steps at β = 1."""

    def step(v: Chains, key: RandomKey) -> tuple[Chains, None]:
        return path.step(path.fields(v), jnp.ones((), v.dtype), key), None

    return jax.lax.scan(step, v, jax.random.split(key, steps))[0]


def _friction(before: ChainWeights, now: ChainWeights) -> Field:
    """√(Var(s) (1 + ρ)/(1 − ρ)) of the slopes s = ∂_β log w, with ρ their correlation in a step."""
    a, b = before - before.mean(), now - now.mean()
    rho = (a * b).mean() / jnp.maximum(jnp.sqrt((a**2).mean() * (b**2).mean()), 1e-30)
    rho = jnp.clip(rho, 0, 0.95)
    return jnp.sqrt((b**2).mean() * (1 + rho) / (1 - rho))


def adapt(
    path: Path, key: RandomKey, temperatures: int, adapt_base: bool
) -> tuple[Path, np.ndarray]:
    r"""The ladder 0 = β_0 < … < β_M = 1, M + 1 = `temperatures`, from two short pilot runs.

    The spacing is proportional to 1/√(Var(s) τ), with s = ∂_β log w and its correlation time τ:
    points at equal distance in the length that makes the spread of log w least for slow changes
    (Sivak and Crooks 2012). With `adapt_base`, c₀ becomes the field of the mean at the end of the
    first pilot. Both change the variance of the weights and never their mean.
    """
    betas = np.linspace(0, 1, min(temperatures, PILOT_TEMPERATURES))
    keys = Keys(key)
    for turn in range(2):
        pilot = run(path, path.start(keys(turn, 0), PILOT_CHAINS), betas, keys(turn, 1))
        count = temperatures if turn else len(betas)
        betas = equal_lengths(betas, pilot.friction, count)
        if turn == 0 and adapt_base:
            path = Path(path.model, fields_of_mean(path.model, pilot.v))
    return path, betas


def equal_lengths(betas: np.ndarray, friction: np.ndarray, count: int) -> np.ndarray:
    """`count` points from 0 to 1 at equal steps of ∫ friction dβ, given it between the betas.

    A tenth of the points is spread evenly, whatever the friction.
    """
    smooth = np.convolve(np.pad(friction.astype(float), 2, mode="edge"), np.full(5, 0.2), "valid")
    lengths = smooth * np.diff(betas)
    total = lengths.sum()
    share = lengths / total if total > 0 else np.diff(betas)
    length = np.concatenate([[0.0], np.cumsum(0.9 * share + 0.1 * np.diff(betas))])
    points = np.interp(np.linspace(0, length[-1], count), length, betas)
    points[0], points[-1] = 0, 1
    return points
