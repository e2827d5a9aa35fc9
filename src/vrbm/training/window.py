r"""The active window: a step computes the first A units only, and is exact to float precision.

The paper skips units whose size is improbable. Here that is made exact. A layer cut at A loses the
probability of all larger sizes. The step of a unit beyond A is, for every v, at most

    s̄_a = max {Γ(b_a ± Σ_i |w_ai| max|v|), Γ(0)} − μ_a,

since Γ is convex; with Γ(0) it also holds for every tempered replica, whose fields are smaller. So

    Σ_{z>A} (z − A) p(z|v) ≤ P(z = A|v) T_A,  T_A = Σ_{z>A} (z − A) e^{s̄_{A+1} + … + s̄_z},

which bounds what is missing both in probability and in ⟨z⟩. Each step looks at log P(z = A|v) T_A
for all v that it meets, where P is that of the cut layer; an epoch in which it exceeds the
tolerance is done again with a wider window. Idle units keep their own update, −∂μ Δz.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from vrbm.model import GrandCanonicalRBM
from vrbm.model.potential import Priced
from vrbm.typing import HiddenBias, Scalar

NARROWEST = 16


def narrow(model: GrandCanonicalRBM, prices: HiddenBias, width: int) -> GrandCanonicalRBM:
    """The first `width` units of the model, with the prices that all K units gave."""
    return eqx.tree_at(
        lambda m: (m.W, m.b, m.potential),
        model,
        (model.W[:width], model.b[:width], Priced(prices[:width], model.potential)),
    )


def widths(max_hidden: int) -> list[int]:
    """The few widths in use: 16, 24, 32, 48, 64, 96, …, K."""
    ladder = []
    width = NARROWEST
    while width < max_hidden:
        ladder += [width, width * 3 // 2]
        width *= 2
    return [width for width in ladder if width < max_hidden] + [max_hidden]


def fitting(max_hidden: int, needed: int) -> int:
    """The smallest of the widths that holds `needed` units."""
    return next(width for width in widths(max_hidden) if width >= min(needed, max_hidden))


def tolerance(dtype: np.dtype) -> float:
    """The probability of larger sizes that is nothing in this type."""
    return float(np.finfo(dtype).eps) / 8


def largest_steps(model: GrandCanonicalRBM, prices: HiddenBias) -> HiddenBias:
    """s̄_a, the largest step that unit a can make for any v and any replica, (K,)."""
    reach = max(abs(state) for state in model.visible.states) * jnp.abs(model.W).sum(axis=1)
    gains = [model.b + reach, model.b - reach, jnp.zeros_like(model.b)]
    return jnp.stack([model.hidden.cumulant(gain) for gain in gains]).max(axis=0) - prices


def log_tails(model: GrandCanonicalRBM, prices: HiddenBias) -> HiddenBias:
    """log T_A for A = 1..K, from the last unit down; −∞ for A = K.

    With S_A = Σ_{z>A} e^{…}: S_{A−1} = e^{s̄_A}(1 + S_A) and T_{A−1} = e^{s̄_A}(1 + S_A + T_A).
    +∞ below K where all units are always in use.
    """
    never = jnp.asarray(-jnp.inf, prices.dtype)
    if not model.potential.units_are_optional:
        return jnp.full_like(prices, jnp.inf).at[-1].set(never)

    def down(carry: tuple[Scalar, Scalar], step: Scalar) -> Any:
        log_s, log_t = carry
        log_s = jnp.logaddexp(0, log_s)
        new = (step + log_s, step + jnp.logaddexp(log_s, log_t))
        return new, new[1]

    steps = largest_steps(model, prices)
    _, tails = jax.lax.scan(down, (never, never), steps[1:], reverse=True)
    return jnp.append(tails, never)


def log_odds_bound(model: GrandCanonicalRBM) -> np.ndarray:
    """log of a bound on P(z > A|v) / P(z ≤ A|v) for every v and replica, A = 1..K; (K,).

    With C_z = Σ_{a≤z} s̄_a it is Σ_{z>A} e^{C_z − C_B} for each B ≤ A, and the least of them; −∞ at
    A = K, and +∞ below where all units are always in use.
    """
    bound = np.full(model.max_hidden, -np.inf)
    if model.potential.units_are_optional:
        steps = np.asarray(largest_steps(model, model.prices()), np.float64)
        sums = np.cumsum(steps)
        tails = np.logaddexp.accumulate(sums[::-1])[::-1][1:]  # log Σ_{z>A} e^{C_z}
        bound[:-1] = tails - np.maximum.accumulate(sums)[:-1]
    else:
        bound[:-1] = np.inf
    return bound


def log_tail(model: GrandCanonicalRBM, prices: HiddenBias, width: int) -> Scalar:
    """log T_A for A = `width` alone, in one pass."""
    beyond = model.max_hidden - width
    if beyond == 0:
        return jnp.asarray(-jnp.inf, prices.dtype)
    if not model.potential.units_are_optional:
        return jnp.asarray(jnp.inf, prices.dtype)
    sums = jnp.cumsum(largest_steps(model, prices)[width:])
    return logsumexp(sums + jnp.log(jnp.arange(1, beyond + 1, dtype=sums.dtype)))


def is_exact(log_missing: float, dtype: np.dtype) -> bool:
    """Whether larger sizes are nothing, given the largest log P(z = A|v) T_A met."""
    return log_missing <= float(np.log(tolerance(dtype)))


def needed(survival: np.ndarray, log_tails: np.ndarray, dtype: np.dtype) -> int:
    """The smallest A that would do, with a margin of 1000; K if none of them does.

    A guess, which `is_exact` judges afterwards. `survival` is the largest P(z ≥ a|v) met, for the
    units that were computed.
    """
    smallest = float(np.finfo(dtype).tiny)
    mass = np.log(np.maximum(survival, smallest)) + np.asarray(log_tails)[: len(survival)]
    enough = np.flatnonzero(mass <= np.log(1e-3 * tolerance(dtype)))
    return int(enough[0]) + 1 if enough.size else len(log_tails)
