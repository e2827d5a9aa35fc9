r"""The active window: a step computes the first A units only, and is exact to float precision.

The paper skips units whose size is improbable. Here that is made exact. A layer cut at A loses the
probability of all larger sizes. The step of a unit beyond A is, for every v, at most

    s̄_a = max Γ(b_a ± Σ_i |w_ai| max|v|) − μ_a,

since Γ is convex, so that P(z > A|v) ≤ P(z = A|v) T_A with T_A = Σ_{z>A} e^{s̄_{A+1} + … + s̄_z}. It
is enough to see that P(z = A|v) T_A stays below a tolerance for all v that a step meets, where P is
that of the cut layer; an epoch in which it does not is done again with a wider window. Idle units
keep their own update, −∂μ Δz.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.model.potential import Priced
from vrbm.typing import HiddenBias

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


def largest_steps(model: GrandCanonicalRBM) -> np.ndarray:
    """s̄_a, the largest step that unit a can make for any v, (K,)."""
    reach = max(abs(state) for state in model.visible.states) * jnp.abs(model.W).sum(axis=1)
    largest = jnp.maximum(
        model.hidden.cumulant(model.b + reach), model.hidden.cumulant(model.b - reach)
    )
    return np.asarray(largest - model.prices(), np.float64)


def log_tails(model: GrandCanonicalRBM) -> np.ndarray:
    """log T_A for A = 1..K; −∞ for A = K, and +∞ below it where all units are always in use."""
    tails = np.full(model.max_hidden, -np.inf)
    if not model.potential.units_are_optional:
        tails[:-1] = np.inf
        return tails
    sums = np.cumsum(largest_steps(model))
    tails[:-1] = np.logaddexp.accumulate(sums[:0:-1])[::-1] - sums[:-1]
    return tails


def is_exact(edge: float, log_tail: float, dtype: np.dtype) -> bool:
    """Whether a window met no v for which larger sizes matter: `edge` is the largest P(z = A|v)."""
    if edge == 0 or log_tail == -np.inf:
        return True
    return bool(np.log(edge) + log_tail <= np.log(tolerance(dtype)))


def needed(survival: np.ndarray, log_tails: np.ndarray, dtype: np.dtype) -> int:
    """The smallest A that would have been exact, with a margin of 1000; K if none of them is.

    `survival` is the largest P(z ≥ a|v) met, for the units that were computed.
    """
    largest = np.maximum(np.asarray(survival, np.float64), 1e-300)
    mass = np.log(largest) + log_tails[: len(largest)]
    enough = np.flatnonzero(mass <= np.log(1e-3 * tolerance(dtype)))
    return int(enough[0]) + 1 if enough.size else len(log_tails)
