r"""The active window: a step computes the first A units only, and is exact to float precision.

The paper skips units whose size is improbable. Here that is made exact. A layer cut at A loses the
probability of all larger sizes. For a unit beyond A the step is at most

    s̄_a = max Γ(b_a ± Σ_i |w_ai| max|v|) − μ_a,

since Γ is convex. If s̄_a ≤ s̄ < 0 for all of them, P(z > A|v) ≤ P(z = A|v) e^s̄ / (1 − e^s̄) for
every v. So it is enough to see that P(z = A|v) stays below a tolerance for all v that a step meets;
an epoch in which it does not is done again with a wider window. Idle units keep their own update,
−∂μ Δz.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.model.potential import Priced
from vrbm.typing import HiddenBias

#: A unit counts as idle only if its step is below this for every v.
IDLE_STEP = -0.05
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


def idle_steps(model: GrandCanonicalRBM) -> np.ndarray:
    """s̄_a, the largest step that unit a can make for any v, (K,)."""
    if not model.potential.units_are_optional:
        return np.full(model.max_hidden, np.inf)
    reach = max(abs(state) for state in model.visible.states) * jnp.abs(model.W).sum(axis=1)
    largest = jnp.maximum(
        model.hidden.cumulant(model.b + reach), model.hidden.cumulant(model.b - reach)
    )
    return np.asarray(largest - model.prices())


def least_width(steps: np.ndarray) -> int:
    """The smallest A such that all units beyond are idle, given s̄."""
    busy = np.flatnonzero(~(steps < IDLE_STEP))
    return int(busy[-1]) + 1 if busy.size else 1


def is_exact(edge: float, steps: np.ndarray, width: int, dtype: np.dtype) -> bool:
    """Whether a window met no v for which larger sizes matter: `edge` is the largest P(z = A|v)."""
    if width == len(steps):
        return True
    if least_width(steps) > width:
        return False
    rest = float(np.exp(steps[width:].max()))
    return edge * rest / (1 - rest) <= tolerance(dtype)
