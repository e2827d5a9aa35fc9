"""The compiled steps of a training: all steps of a block in one scan, without the host."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.training import stiffness, window
from vrbm.training.gradient import (
    Parameters,
    centred,
    gradient,
    moved,
    parameters,
    uncentred,
    with_penalty,
)
from vrbm.training.negative import NegativePhase, met, most
from vrbm.training.observed import Observed
from vrbm.training.optimizer import UpdateRule
from vrbm.typing import (
    Field,
    HiddenBias,
    RandomKey,
    Rows,
    Scalar,
    VisibleBias,
    Weights,
    Windowed,
)

# Rate at which the hidden offsets of centred training follow ⟨h⟩.
OFFSET_RATE = 0.01
# The largest weight or bias: a single one of that size makes states impossible in any floating
# type, e^−300; those of trained models are some 10. Smooth potentials may have large prices.
LARGEST, LARGEST_PRICE = 300.0, 1e4
# Bytes of the words in which rows are looked up.
WORD = 4
# Bytes of rows that may be copied, as words and in the order of the batches.
AT_ONCE = 1 << 28


class Carry(eqx.Module):
    """What one step hands to the next."""

    model: GrandCanonicalRBM
    optimizer: Any
    negative: Any
    v_offset: VisibleBias
    h_offset: HiddenBias
    completed: Rows | None = None
    """all rows with their missing entries drawn, where entries are missing"""
    stiff: stiffness.Stiff | None = None
    """the directions along which steps are shortened, where they are"""


class Rules(eqx.Module):
    """The settings of a step. What is an array is an argument of the compiled program."""

    update: UpdateRule
    negative: NegativePhase
    centred: bool = eqx.field(default=False, static=True)
    penalty: Scalar | None = None
    penalty_power: float = eqx.field(default=1.0, static=True)
    tail: Scalar | None = None
    """Σ_i w_ai² at which the penalty of a unit is half as strong; None: equally strong for all"""


class Shown(NamedTuple):
    """What each step shows."""

    norms: Field
    """of the gradient of W, b and c, (3,)"""
    price: Scalar
    """the largest"""
    delta_size: Scalar
    swap_rates: Field
    """(replicas − 1,)"""


class Steps(NamedTuple):
    """What the steps of a block show."""

    shown: Shown
    """of each step"""
    log_missing: Scalar
    """a bound on the log P(z = A|v) T_A met"""
    survival: Windowed
    """the largest P(z ≥ a|v) met, (A,)"""
    spoiled: jax.Array
    """whether W, b and c hold a number that is not finite or beyond LARGEST, (3,) booleans"""
    misfit: Scalar
    """by how much μ was off at the end of a span in which units rested, relative to it"""


class Surroundings(eqx.Module):
    """The units of the layer that are not in the model at hand, described by a few numbers."""

    #: Whether the units beyond the window are all in the model, so that each step has its own T_A.
    has_tail: ClassVar[bool] = True

    @abstractmethod
    def others(self, numbers: Field) -> Field:
        """What the prices of the units at hand depend on beside W and b."""

    @abstractmethod
    def prices(
        self, model: GrandCanonicalRBM, W: Weights, b: HiddenBias, others: Field
    ) -> HiddenBias:
        """The prices of the units at hand."""

    @abstractmethod
    def squares(self, price_of_others: Field) -> Field:
        """What the units that are not at hand add to ‖∂‖² of W, b and c, (3,)."""

    @abstractmethod
    def update(
        self,
        rule: UpdateRule,
        rate: Scalar,
        descent: Parameters,
        price_of_others: Field,
        state: Any,
        at: tuple[Parameters, Field],
    ) -> tuple[Parameters, Field, Any]:
        """Changes of the parameters and of the numbers, and the new state of the optimizer."""


class Alone(Surroundings):
    """All units are at hand."""

    def others(self, numbers: Field) -> Field:
        """None: the numbers are an empty array."""
        return numbers

    def prices(
        self, model: GrandCanonicalRBM, W: Weights, b: HiddenBias, others: Field
    ) -> HiddenBias:
        """Those of the potential."""
        return model.potential.prices(W, b, model.hidden)

    def squares(self, price_of_others: Field) -> Field:
        """0."""
        return jnp.zeros(3, price_of_others.dtype)

    def update(
        self,
        rule: UpdateRule,
        rate: Scalar,
        descent: Parameters,
        price_of_others: Field,
        state: Any,
        at: tuple[Parameters, Field],
    ) -> tuple[Parameters, Field, Any]:
        """That of the parameters; there are no numbers."""
        change, state = rule.step(descent, state, at[0], rate)
        return Parameters(*change), at[1], state


class Seen(NamedTuple):
    """The extremes over the steps so far."""

    survival: Field
    """the largest P(z ≥ a|v), (rows, A)"""
    numbers: Field
    """the largest absolute value of each of the numbers that describe the surroundings"""
    log_tail: Scalar | None
    """the largest log T_A, where each step has its own"""

    def log_missing(self) -> Scalar:
        """A bound on log P(z = A|v) T_A, or without T_A where steps have none of their own.

        Probabilities below the smallest number count as it.
        """
        smallest = window.smallest(np.dtype(self.survival.dtype))
        edge = jnp.log(jnp.maximum(self.survival[:, -1].max(), smallest))
        return edge if self.log_tail is None else edge + self.log_tail


def in_order(rows: jax.Array, order: jax.Array) -> jax.Array | None:
    """The rows of all batches, (steps, batch, N), where copies of rows of 8 bits are small.

    Looking up an entry has its price on a CPU, so that they are looked up in words of 32 bits. Else
    None: each step looks up its own.
    """
    length = rows.shape[1]
    if rows.dtype.itemsize > 1 or max(order.size, len(rows)) * length > AT_ONCE:
        return None
    padded = jnp.pad(rows, ((0, 0), (0, -length % WORD)))
    words = jax.lax.bitcast_convert_type(padded.reshape(len(rows), -1, WORD), jnp.int32)
    found = words.at[order].get(mode="promise_in_bounds")
    entries = jax.lax.bitcast_convert_type(found, rows.dtype)
    return entries.reshape(*order.shape, -1)[..., :length]


def scan(
    carry: Carry,
    numbers: Field,
    rows: jax.Array,
    order: jax.Array,
    rates: jax.Array,
    keys: jax.Array,
    width: int,
    rules: Rules,
    surroundings: Surroundings,
    observed: Observed,
) -> tuple[Carry, Field, Seen, Shown]:
    """The steps for batches `order` (steps, batch), with a rate and a key for each."""
    dtype = carry.model.W.dtype
    rows_met = rules.negative.rows_met(order.shape[1])

    def step(state: tuple[Carry, Field, Seen], inputs: Any) -> Any:
        (carry, numbers, seen), (v, index, rate, key) = state, inputs
        if v is None:
            v = rows.at[index].get(mode="promise_in_bounds")
        model, v = carry.model, v.astype(dtype)
        prices, pull = jax.vjp(
            lambda W, b, others: surroundings.prices(model, W, b, others),
            model.W,
            model.b,
            surroundings.others(numbers),
        )
        view = window.narrow(model, prices, width)
        completed, filling = carry.completed, None
        if completed is not None:
            v, completed, filling = observed.complete(view, completed, index, key)
        negative, info = rules.negative(view, carry.negative, v, key)
        fantasy = view.response(info.v)
        weights = observed.batch_weights(index)
        ascent, statistics = gradient(model, pull, info.data, fantasy, info.residual, weights)
        if rules.penalty is not None:
            strength = rules.penalty
            if rules.tail is not None:
                squares = (model.W**2).sum(axis=1, keepdims=True)
                strength = strength / (1 + (squares / rules.tail) ** 2)
            ascent = with_penalty(ascent, model, strength, rules.penalty_power)
        squares = jnp.stack([jnp.sum(g**2) for g in ascent])
        h_offset = carry.h_offset
        if rules.centred:
            h_offset = (1 - OFFSET_RATE) * h_offset + OFFSET_RATE * statistics.mean_hidden
            ascent = centred(ascent, carry.v_offset, h_offset)
        stiff = carry.stiff
        if stiff is not None:
            offsets = (carry.v_offset, h_offset) if rules.centred else ()
            ascent = stiffness.damped(ascent, stiff, rate)
            stiff = stiffness.followed(stiff, fantasy.mean, fantasy.v, *offsets)
        change, moves, optimizer = surroundings.update(
            rules.update,
            rate,
            jax.tree.map(jnp.negative, ascent),
            statistics.price_of_others,
            carry.optimizer,
            (parameters(model), numbers),
        )
        if rules.centred:
            change = uncentred(Parameters(*change), carry.v_offset, h_offset)
        new = Carry(
            moved(model, change),
            optimizer,
            negative,
            carry.v_offset,
            h_offset,
            completed,
            stiff,
        )
        sizes = most(info.met, fantasy.sizes.survival if rows_met > 1 else met(view, fantasy))
        sizes = sizes if filling is None else most(sizes, filling)
        seen = jax.tree.map(
            jnp.maximum,
            seen,
            Seen(
                sizes,
                jnp.abs(numbers + moves),
                window.log_tail(model, prices, width) if surroundings.has_tail else None,
            ),
        )
        scalars = jnp.stack([prices.max(), statistics.delta_size])
        # One array, stored in one pass; norms are taken of all steps at once.
        row = [squares, scalars, info.swap_rates, statistics.price_of_others]
        return (new, numbers + moves, seen), jnp.concatenate(row)

    seen = Seen(
        survival=jnp.zeros((rows_met, width), dtype),
        numbers=jnp.zeros_like(numbers),
        log_tail=jnp.asarray(-jnp.inf, dtype) if surroundings.has_tail else None,
    )
    inputs = in_order(rows, order), order, rates, keys
    (carry, numbers, seen), shown = jax.lax.scan(step, (carry, numbers, seen), inputs)
    end = shown.shape[1] - len(surroundings.others(numbers))
    squares = shown[:, :3] + jax.vmap(surroundings.squares)(shown[:, end:])
    return (
        carry,
        numbers,
        seen,
        Shown(jnp.sqrt(squares), shown[:, 3], shown[:, 4], shown[:, 5:end]),
    )


def spoiled(model: GrandCanonicalRBM) -> jax.Array:
    """Whether W, b and c hold a number that is not finite or beyond LARGEST, (3,).

    A maximum may pass over NaN; a comparison with it is false.
    """
    return jnp.stack([~(jnp.abs(x) <= LARGEST).all() for x in parameters(model)])


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
    """All steps of a block, with all units moved in each; and the s̄_a after them, (K,)."""
    dtype = carry.model.W.dtype
    none = jnp.zeros(0, dtype)
    keys = jax.random.split(key, len(order))
    new, _, seen, shown = scan(
        carry, none, rows, order, rates, keys, width, rules, Alone(), observed
    )
    survival, misfit = seen.survival.max(axis=0), jnp.zeros((), dtype)
    steps = Steps(shown, seen.log_missing(), survival, spoiled(new.model), misfit)
    return new, steps, window.largest_steps(new.model, new.model.prices())
