r"""Storage of a layer without an end: units are added when they are needed, and dropped when not.

Unit a of such a layer begins as a seed, w_ai ~ N(0, `seed_scale`²), that depends on the key of the
training and on a alone. Seeds that hardly ever exist do not move, and are taken as exactly idle. So
it does not matter how many are stored, as long as P(z ≥ K|v) is small for every v that a block
meets. A block in which it was not is done again with more units.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.training import window
from vrbm.training.gradient import Parameters, each_moment, parameters
from vrbm.training.step import Carry
from vrbm.typing import RandomKey

# The largest P(z ≥ K|v) at which the last unit stored is not needed.
NEEDED = 0.05
# Units beyond which no layer goes: its price is too low for the data.
MOST = 1 << 14
# Units that exist less often than this may be dropped again.
UNUSED = 1e-6
# Number of the key of the seeds: no epoch has it.
SEEDS = 2**32 - 3


def is_needed(survival: np.ndarray, most: int | None) -> bool:
    """Whether more units should be stored, given the largest P(z ≥ a|v) met, (K,)."""
    return bool(survival[-1] > NEEDED) and (most is None or len(survival) < most)


def grown(carry: Carry, key: RandomKey, seed_scale: float, most: int | None) -> Carry:
    """The state with seeds added: half as many units again, or up to `most`."""
    old = carry.model.max_hidden
    if old >= MOST:
        raise RuntimeError(
            f"the hidden layer has grown to {old} units and needs more: take a larger price mu."
        )
    new = next(width for width in window.widths(4 * old) if width >= 1.5 * old)
    new = new if most is None else min(new, most)
    units = np.arange(old, new, dtype=np.uint32)
    seeds = _seeds(jax.random.fold_in(key, SEEDS), units, carry.model.W[0], seed_scale)
    none = Parameters(jnp.zeros_like(seeds), jnp.zeros(len(units), seeds.dtype), carry.model.c)

    def append(values: Parameters, more: Parameters) -> Parameters:
        return Parameters(
            jnp.concatenate([values.W, more.W]), jnp.concatenate([values.b, more.b]), values.c
        )

    return _resized(
        carry,
        append(parameters(carry.model), none._replace(W=seeds)),
        lambda moments: append(moments, none),
        jnp.concatenate([carry.h_offset, none.b]),
    )


def shrunk(carry: Carry, survival: np.ndarray) -> Carry:
    """The state without the units that were hardly met, where a quarter or more are such."""
    old = carry.model.max_hidden
    used = int((survival > UNUSED).sum())
    new = next(width for width in window.widths(2 * old) if width > used)
    if new > 0.75 * old:
        return carry

    def cut(values: Parameters) -> Parameters:
        return Parameters(values.W[:new], values.b[:new], values.c)

    return _resized(carry, cut(parameters(carry.model)), cut, carry.h_offset[:new])


@eqx.filter_jit
def _seeds(key: RandomKey, units: Any, like: Any, scale: float) -> Any:
    """Weights of these units, (units, N)."""

    def one(unit: Any) -> Any:
        return jax.random.normal(jax.random.fold_in(key, unit), like.shape, like.dtype)

    return scale * jax.vmap(one)(units)


def _resized(
    carry: Carry, values: Parameters, change: Callable[[Parameters], Parameters], h_offset: Any
) -> Carry:
    """The state with other units; `change` is for what an optimizer keeps of each parameter."""
    optimizer = each_moment(carry.optimizer, change)
    model = eqx.tree_at(lambda m: (m.W, m.b, m.c), carry.model, tuple(values))
    return replace(carry, model=model, optimizer=optimizer, h_offset=h_offset)
