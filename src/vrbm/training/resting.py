r"""Idle units at rest: steps whose cost does not grow with K.

Units beyond the window are moved by the price alone, −∂μ Δz. Where μ is a function of sums over
units, S_j = Σ_a φ_j(w_a, b_a), that is −Σ_j (∂μ/∂S_j) Δz D_j with D_j = ∂S_j/∂(W, b), and a
linear rule (momentum, sgd) keeps all movement in the plane of the D_j and of the movement M that
was under way. So for a span of steps the idle units rest. What is carried on is one number for
each D_j and one for M, moved by the same rule; the sums follow to first order,

    S_j = S_j(0) + Σ_k ⟨D_j, D_k⟩ x_k + ⟨D_j, M⟩ x_M.

At the end of a span the units are moved by Σ_k x_k D_k + x_M M, and their sums are computed anew.
By how much μ from these differs from μ from the first order is the `misfit`: curvature, and the
weights that passed through zero. A block in which it exceeds `TOLERANCE` is done again with all
units moved in each step.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.model.linear import dot
from vrbm.training import window
from vrbm.training.gradient import Parameters, parameters
from vrbm.training.observed import Observed
from vrbm.training.optimizer import UpdateRule
from vrbm.training.step import (
    Carry,
    Rules,
    Steps,
    Surroundings,
    scan,
    spoiled,
)
from vrbm.typing import Field, HiddenBias, RandomKey, Scalar, SumsOverUnits, Weights

# Steps between two looks at all units.
SPAN = 100
# The error of μ, relative to it, that is rounding in float32.
TOLERANCE = 2e-6


def applies(carry: Carry, rules: Rules, width: int) -> bool:
    """Whether units beyond the window may rest; not in float64, where first order is too rough."""
    model = carry.model
    return (
        width < model.max_hidden
        and model.potential.is_of_sums
        and rules.update.is_linear
        and not rules.centred
        and rules.penalty is None
        and carry.stiff is None
        and bool(np.finfo(np.dtype(model.W.dtype)).eps > 1e-10)
    )


class Idle(Surroundings):
    """The units beyond the window, at the beginning of a span."""

    has_tail: ClassVar[bool] = False
    sums: SumsOverUnits
    """S_j over these units, (m,)"""
    gram: Field
    """⟨D_j, D_k⟩ of W and of b, (2, m, m)"""
    drift: SumsOverUnits
    """⟨D_j, M⟩, (m,)"""

    def others(self, numbers: Field) -> Field:
        """The sums over the idle units, to first order in the numbers (x_1, …, x_m, x_M)."""
        return self.sums + dot(self.gram.sum(axis=0), numbers[:-1]) + self.drift * numbers[-1]

    def prices(
        self, model: GrandCanonicalRBM, W: Weights, b: HiddenBias, others: Field
    ) -> HiddenBias:
        """The prices of the units in the window, beside the idle ones."""
        return model.potential.prices_beside(W, b, others, model.hidden)

    def squares(self, price_of_others: Field) -> Field:
        """‖Σ_j p_j D_j‖² for W, b and c."""
        squares = jnp.einsum(
            "j,wjk,k->w", price_of_others, self.gram, price_of_others, precision="highest"
        )
        return jnp.append(squares, 0)

    def update(
        self,
        rule: UpdateRule,
        rate: Scalar,
        descent: Parameters,
        price_of_others: Field,
        state: Any,
        at: tuple[Parameters, Field],
    ) -> tuple[Parameters, Field, Any]:
        """One rule moves the pair of parameters and numbers, and its state is that of the pair.

        ∂ of the units elsewhere is −price_of_others times D; the number that follows says how much
        is left of the movement M.
        """
        numbers = jnp.append(price_of_others, 0)
        (change, moves), state = rule.step((descent, numbers), state, at, rate)
        return Parameters(*change), moves, state


def _split(values: Parameters, width: int) -> tuple[Parameters, Parameters]:
    """The units in the window, with c, and those beyond."""
    head = values._replace(W=values.W[:width], b=values.b[:width])
    return head, Parameters(values.W[width:], values.b[width:], jnp.zeros_like(values.c))


def _joined(head: Parameters, idle: Parameters) -> Parameters:
    return Parameters(jnp.concatenate([head.W, idle.W]), jnp.concatenate([head.b, idle.b]), head.c)


def _along(numbers: Field, directions: Any, movement: Any) -> Any:
    """Σ_k x_k D_k + x_M M, in one pass; the D_k lie along the first axis."""
    return jax.tree.map(
        lambda d, m: sum((x * one for x, one in zip(numbers, d, strict=False)), numbers[-1] * m),
        directions,
        movement,
    )


def _extent(values: Parameters) -> Field:
    """Σ_i |w_ai| + |b_a| of each unit, (…, K)."""
    return jnp.abs(values.W).sum(axis=-1) + jnp.abs(values.b)


def _span(
    carry: Carry,
    rows: jax.Array,
    order: jax.Array,
    rates: jax.Array,
    keys: jax.Array,
    width: int,
    rules: Rules,
    observed: Observed,
) -> tuple[Carry, Steps]:
    """Some steps in which the units beyond the window rest, and their movement at the end."""
    model = carry.model
    potential = model.potential
    head, idle = _split(parameters(model), width)
    movement = jax.tree.map(jnp.zeros_like, idle)
    moments = [x for x in jax.tree.leaves(carry.optimizer, is_leaf=_is_moment) if _is_moment(x)]
    if moments:
        (moment,) = moments
        movement = _split(moment, width)[1]
    sums, pull = jax.vjp(potential.sums, idle.W, idle.b)
    D_W, D_b = jax.vmap(pull)(jnp.eye(len(sums), dtype=sums.dtype))
    directions = Parameters(D_W, D_b, jnp.zeros((len(sums), *idle.c.shape), sums.dtype))
    flat = D_W.reshape(len(sums), -1)
    surroundings = Idle(
        sums=sums,
        gram=jnp.stack([dot(flat, flat.T), dot(D_b, D_b.T)]),
        drift=dot(flat, movement.W.ravel()) + dot(D_b, movement.b),
    )
    numbers = jnp.zeros(len(sums) + 1, sums.dtype)
    only_movement = numbers.at[-1].set(1)
    optimizer = _each_moment(carry.optimizer, lambda p: (_split(p, width)[0], only_movement))
    small = replace(
        carry, model=_with(model, head), optimizer=optimizer, h_offset=carry.h_offset[:width]
    )
    small, numbers, seen, shown = scan(
        small, numbers, rows, order, rates, keys, width, rules, surroundings, observed
    )
    change = _along(numbers, directions, movement)
    new_idle = jax.tree.map(jnp.add, idle, change)
    new = replace(
        small,
        model=_with(model, _joined(parameters(small.model), new_idle)),
        optimizer=_each_pair(
            small.optimizer, lambda p, x: _joined(p, _along(x, directions, movement))
        ),
        h_offset=carry.h_offset,
    )
    # The farthest that a unit can have gone on the way, in the sum over its weights and its bias.
    reach = _along(seen.numbers, _extent(directions), _extent(movement))
    price = shown.price.min()  # of all units: μ is a function of sums over them
    tail = window.log_tail_of(window.largest_steps(_with(model, idle), price, reach))
    ahead = potential.sums(small.model.W, small.model.b)
    mu = potential.value_of_sums(ahead + potential.sums(new_idle.W, new_idle.b))
    first_order = potential.value_of_sums(ahead + surroundings.others(numbers))
    misfit = jnp.abs(mu - first_order) / jnp.maximum(jnp.abs(mu), 1)
    missing, survival = seen.log_missing() + tail, seen.survival.max(axis=0)
    return new, Steps(shown, missing, survival, spoiled(new.model), misfit)


def _each_moment(state: Any, change: Callable[[Parameters], Any]) -> Any:
    """An optimizer's state with each of its copies of the parameters changed."""
    return jax.tree.map(lambda x: change(x) if _is_moment(x) else x, state, is_leaf=_is_moment)


def _is_moment(x: Any) -> bool:
    """Whether it is a copy of the parameters, in the state of an optimizer."""
    return isinstance(x, Parameters)


def _each_pair(state: Any, change: Callable[[Parameters, Field], Parameters]) -> Any:
    """The state of an optimizer of pairs (parameters, numbers) with each pair made one again."""

    def is_pair(x: Any) -> bool:
        return isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], Parameters)

    return jax.tree.map(lambda x: change(*x) if is_pair(x) else x, state, is_leaf=is_pair)


def _with(model: GrandCanonicalRBM, values: Parameters) -> GrandCanonicalRBM:
    return eqx.tree_at(lambda m: (m.W, m.b, m.c), model, tuple(values))


@eqx.filter_jit
def run(
    carry: Carry,
    rows: jax.Array,
    order: jax.Array,
    rates: jax.Array,
    key: RandomKey,
    width: int,
    rules: Rules,
    observed: Observed,
) -> tuple[Carry, Steps, HiddenBias]:
    """All steps of a block, in spans in which the units beyond the window rest; and the s̄_a."""
    inputs = order, rates, jax.random.split(key, len(order))
    whole = len(order) // SPAN * SPAN
    parts = []

    def span(carry: Carry, inputs: Any) -> tuple[Carry, Steps]:
        order, rates, keys = inputs
        return _span(carry, rows, order, rates, keys, width, rules, observed)

    if whole:
        spans = jax.tree.map(lambda x: x[:whole].reshape(-1, SPAN, *x.shape[1:]), inputs)
        carry, steps = jax.lax.scan(span, carry, spans)
        shown = jax.tree.map(lambda x: x.reshape(whole, *x.shape[2:]), steps.shown)
        rest = (x.max(axis=0) for x in steps[1:])
        parts.append(Steps(shown, *rest))
    if whole < len(order):
        carry, steps = span(carry, [x[whole:] for x in inputs])
        parts.append(steps)
    shown = jax.tree.map(lambda *x: jnp.concatenate(x), *(part.shown for part in parts))
    extremes = jax.tree.map(
        lambda *x: jnp.stack(x).max(axis=0), *(tuple(part[1:]) for part in parts)
    )
    largest = window.largest_steps(carry.model, carry.model.prices())
    return carry, Steps(shown, *extremes), largest
