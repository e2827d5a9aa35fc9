r"""The active window: a step computes the first A units only, and is exact to float precision.

The paper skips units whose size is improbable. Here that is made exact. A layer cut at A loses the
probability of all larger sizes. The step of a unit beyond A is, for every v, at most

    s̄_a = max {Γ(b_a ± Σ_i |w_ai| max|v|), Γ(0)} − μ_a,

since Γ is convex; with Γ(0) it also holds for every tempered replica, whose fields are smaller. So

    Σ_{z>A} (z − A) p(z|v) ≤ P(z = A|v) T_A,  T_A = Σ_{z>A} (z − A) e^{s̄_{A+1} + … + s̄_z},

which bounds what is missing both in probability and in ⟨z⟩. The largest P(z = A|v) of the cut layer
for all v met in a block of steps, and the largest T_A, are kept. Where their product exceeds the
tolerance, the block is done again with a wider window. Idle units keep their own update, −∂μ Δz.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from vrbm.model import GrandCanonicalRBM, layer_size
from vrbm.model.potential import Priced
from vrbm.typing import HiddenBias, Price, Scalar

NARROWEST = 16


def narrow(model: GrandCanonicalRBM, prices: HiddenBias, width: int) -> GrandCanonicalRBM:
    """The first `width` units of the model, with the prices that all K units gave."""
    return eqx.tree_at(
        lambda m: (m.W, m.b, m.potential),
        model,
        (model.W[:width], model.b[:width], Priced(prices[:width], model.potential)),
    )


def may_be_cut(model: GrandCanonicalRBM) -> bool:
    """Whether the last units can be nothing; a layer without an end stores what it needs."""
    return model.potential.units_are_optional and not model.potential.is_unbounded


def widths(max_hidden: int) -> list[int]:
    """The few widths in use: 16, 24, 32, 48, …, in finer steps from 64 to 256, and K."""
    ladder = []
    width = NARROWEST
    while width < max_hidden:
        parts = (4, 5, 6, 7) if 64 <= width < 256 else (4, 6)
        ladder += [width * part // 4 for part in parts]
        width *= 2
    return [width for width in ladder if width < max_hidden] + [max_hidden]


def fitting(max_hidden: int, needed: int) -> int:
    """The smallest of the widths that holds `needed` units."""
    return next(width for width in widths(max_hidden) if width >= min(needed, max_hidden))


def tolerance(dtype: np.dtype) -> float:
    """The probability of larger sizes that is nothing in this type."""
    return float(np.finfo(dtype).eps) / 8


def smallest(dtype: np.dtype) -> float:
    """What probabilities too small for this type count as where their log is taken."""
    return float(np.finfo(dtype).tiny)


def largest_steps(
    model: GrandCanonicalRBM, prices: Price, slack: Price | float = 0.0
) -> HiddenBias:
    """s̄_a, the largest step that unit a can make for any v and any replica, (K,).

    With `slack`, also after its weights and its bias have moved by that much in sum.
    """
    largest = max(1.0, *(abs(state) for state in model.visible.states))
    reach = largest * (jnp.abs(model.W).sum(axis=1) + slack)
    gains = [model.b + reach, model.b - reach, jnp.zeros_like(model.b)]
    return jnp.stack([model.hidden.cumulant(gain) for gain in gains]).max(axis=0) - prices


_largest_steps = eqx.filter_jit(lambda model: largest_steps(model, model.prices()))


def _log_sums(model: GrandCanonicalRBM, steps: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """C_z = Σ_{a≤z} s̄_a for z = 1..K, and log Σ_{z>A} e^{C_z} for A = 1..K−1, in float64."""
    sums = np.cumsum(np.asarray(_largest_steps(model) if steps is None else steps, np.float64))
    return sums, np.logaddexp.accumulate(sums[::-1])[::-1][1:]


def log_tails(model: GrandCanonicalRBM, steps: np.ndarray | None = None) -> np.ndarray:
    """log T_A for A = 1..K; −∞ for A = K, and +∞ below where all units are always in use.

    Σ_{z>A} (z − A) e^{C_z} = Σ_{B≥A} Σ_{z>B} e^{C_z}. `steps` are the s̄_a, where known.
    """
    tails = np.full(model.max_hidden, -np.inf)
    if may_be_cut(model):
        sums, beyond = _log_sums(model, steps)
        tails[:-1] = np.logaddexp.accumulate(beyond[::-1])[::-1] - sums[:-1]
    else:
        tails[:-1] = np.inf
    return tails


def log_odds_bound(model: GrandCanonicalRBM, steps: np.ndarray | None = None) -> np.ndarray:
    """log of a bound on P(z > A|v) / P(z ≤ A|v) for every v and replica, A = 1..K; (K,).

    With C_z = Σ_{a≤z} s̄_a it is Σ_{z>A} e^{C_z − C_B} for each B ≤ A, and the least of them; −∞ at
    A = K, and +∞ below where all units are always in use. `steps` are the s̄_a, where known.
    """
    bound = np.full(model.max_hidden, -np.inf)
    if may_be_cut(model):
        sums, beyond = _log_sums(model, steps)
        bound[:-1] = beyond - np.maximum.accumulate(sums)[:-1]
    else:
        bound[:-1] = np.inf
    return bound


def log_tail(model: GrandCanonicalRBM, prices: HiddenBias, width: int) -> Scalar:
    """log T_A for A = `width` alone, in one pass."""
    beyond = model.max_hidden - width
    if beyond == 0:
        return jnp.asarray(-jnp.inf, prices.dtype)
    if not may_be_cut(model):
        return jnp.asarray(jnp.inf, prices.dtype)
    idle = eqx.tree_at(lambda m: (m.W, m.b), model, (model.W[width:], model.b[width:]))
    return log_tail_of(largest_steps(idle, prices[width:]))


def log_tail_of(steps: HiddenBias) -> Scalar:
    """log T_A, given the largest steps of all units beyond A."""
    sums = layer_size.running_sum(steps)
    return logsumexp(sums + jnp.log(jnp.arange(1, len(steps) + 1, dtype=sums.dtype)))


def enough(model: GrandCanonicalRBM, steps: np.ndarray | None = None) -> int:
    """The smallest A such that layers cut at A have the same F(v) for all v and replicas, or K.

    `steps` are the s̄_a, where known.
    """
    small = np.log(tolerance(np.dtype(model.W.dtype)))
    return int(np.argmax(log_odds_bound(model, steps) <= small)) + 1


def is_exact(log_missing: float, dtype: np.dtype) -> bool:
    """Whether larger sizes are nothing, given a bound on the log P(z = A|v) T_A met."""
    return log_missing <= float(np.log(tolerance(dtype)))


def needed(survival: np.ndarray, log_tails: np.ndarray, dtype: np.dtype) -> int:
    """The smallest A that would do, with a margin of 1000; one more if none of them does.

    A guess, which `is_exact` judges afterwards. `survival` is the largest P(z ≥ a|v) met, for the
    units that were computed.
    """
    mass = np.log(np.maximum(survival, smallest(dtype))) + np.asarray(log_tails)[: len(survival)]
    enough = np.flatnonzero(mass <= np.log(1e-3 * tolerance(dtype)))
    return int(enough[0]) + 1 if enough.size else min(len(survival) + 1, len(log_tails))
