r"""Storage of a layer without an end: units are added when they are needed, and dropped when not.

Unit a of such a layer begins as a seed, w_ai ~ N(0, `seed_scale`²), that depends on the key of the
training and on a alone, with the bias that its potential says. Seeds that hardly ever exist hardly
move, and are taken as exactly idle. So it does not matter how many are stored, as long as
P(z ≥ K|v) is small for every v that a block meets. A block in which it was not is done again with
more units.
"""

import math
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.model.potential import SEED_EARNS
from vrbm.training import stiffness, window
from vrbm.training.gradient import Parameters, parameters
from vrbm.training.optimizer import UpdateRule
from vrbm.training.step import Carry
from vrbm.typing import RandomKey

# Units to begin with.
FIRST = 4
# The largest P(z ≥ K|v) at which the last unit stored is not needed.
NEEDED = 0.05
# Units in use for each visible one, or in narrow data, and units in all, beyond which no layer goes
# without a limit of its own.
PER_VISIBLE, NARROW, MOST = 16, 64, 1 << 14
# Units that exist less often than this may be dropped again.
UNUSED = 1e-6
# Number of the key of the seeds: no epoch has it.
SEEDS = 2**32 - 3


def is_needed(survival: np.ndarray, most: int | None) -> bool:
    """Whether more units should be stored, given the largest P(z ≥ a|v) met, (K,)."""
    return bool(survival[-1] > NEEDED) and (most is None or len(survival) < most)


def grown(
    carry: Carry,
    rule: UpdateRule,
    key: RandomKey,
    seed_scale: float,
    most: int | None,
) -> Carry:
    """The state with seeds added: at least half as many units again, or up to `most`."""
    old = carry.model.max_hidden
    if most is None and old >= _bound(carry.model):
        raise ValueError(
            f"the hidden layer has grown to {old} units for {carry.model.n_visible} visible ones, "
            "and needs more. Likely cause: the training diverges, or the price is too low; lower "
            "the learning rate, take a larger price, or set a limit (max_units, or max_hidden of "
            "an estimator)."
        )
    new = next(width for width in window.widths(4 * old) if width >= 1.5 * old)
    new = new if most is None else min(new, most)
    units = np.arange(old, new, dtype=np.uint32)
    seeds = seed_scale * _seeds(jax.random.fold_in(key, SEEDS), units, carry.model.W[0])
    none = jnp.zeros(len(units), seeds.dtype)
    model = _with_units(
        carry.model,
        jnp.concatenate([carry.model.W, seeds]),
        jnp.concatenate([carry.model.b, none + carry.model.potential.seed_bias]),
    )
    return resized(carry, model, rule, jnp.concatenate([carry.h_offset, none]), np.arange(old))


def spare(mu: float) -> int:
    """Seeds beyond the units in use until P(z ≥ K|v) is a quarter of what is needed.

    It falls by e^{−μ} with each idle unit, and with a seed that is off by what that does not earn.
    """
    return math.ceil(min(math.log(4 / NEEDED) / ((1 - SEED_EARNS) * max(mu, 1e-9)), MOST))


def _bound(model: GrandCanonicalRBM) -> int:
    """The most units in use, and those to spare."""
    used = max(PER_VISIBLE * model.n_visible, NARROW)
    return min(used + spare(float(model.chemical_potential())), MOST)


def shrunk(carry: Carry, rule: UpdateRule, survival: np.ndarray) -> Carry:
    """The state without the units that were hardly met, where a quarter or more are such."""
    old = carry.model.max_hidden
    used = int((survival > UNUSED).sum())
    new = next(width for width in window.widths(2 * old) if width > used)
    if new > 0.75 * old:
        return carry
    model = _with_units(carry.model, carry.model.W[:new], carry.model.b[:new])
    return resized(carry, model, rule, carry.h_offset[:new], np.arange(new))


@eqx.filter_jit
def _seeds(key: RandomKey, units: Any, like: Any) -> Any:
    """Standard normal numbers for the weights of these units, (units, N)."""

    def one(unit: Any) -> Any:
        return jax.random.normal(jax.random.fold_in(key, unit), like.shape, like.dtype)

    return jax.vmap(one)(units)


def _with_units(model: GrandCanonicalRBM, W: Any, b: Any) -> GrandCanonicalRBM:
    return eqx.tree_at(lambda m: (m.W, m.b), model, (W, b))


def resized(
    carry: Carry,
    model: GrandCanonicalRBM,
    rule: UpdateRule,
    h_offset: Any,
    kept: np.ndarray,
) -> Carry:
    """The state with other units, of which the first are those `kept` of before, in this order.

    What the optimizer keeps of a unit is kept, or begins anew.
    """
    blank = rule.init(parameters(model))
    after = model.max_hidden

    def moved(old: Any, new: Any) -> Any:
        if isinstance(old, Parameters):
            W, b = (y.at[: len(kept)].set(x[kept]) for x, y in ((old.W, new.W), (old.b, new.b)))
            return Parameters(W, b, old.c)
        if jnp.shape(old) == jnp.shape(new):
            return old
        raise ValueError(
            f"the optimizer keeps an array of shape {jnp.shape(old)}, which cannot follow a layer "
            "without an end: use one that keeps arrays of the shapes of W, b and c."
        )

    optimizer = jax.tree.map(
        moved, carry.optimizer, blank, is_leaf=lambda x: isinstance(x, Parameters)
    )
    stiff = stiffness.resized(carry.stiff, after, kept)
    return replace(carry, model=model, optimizer=optimizer, h_offset=h_offset, stiff=stiff)
