r"""Enumeration of small models: log Z, p(v), p(z) and moments, exact to rounding.

Sums run over all states of the smaller layer, with the other one summed in closed form: over v
with e^{−F(v)}, or over the pairs (h, z) with e^{−F(h,z)}. Everything is differentiable and works
under jit; states are made and summed block by block, so that memory stays small.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from vrbm.model.layers import Unit
from vrbm.model.linear import dot
from vrbm.model.rbm import GrandCanonicalRBM
from vrbm.typing import Batch, HiddenBias, Scalar, Values, VisibleBias, Weights

#: The most units that the enumerated layer may have.
LIMIT = 22
#: Values of v and h in a block of states.
BLOCK = 1 << 20


class Moments(eqx.Module):
    """Expectation values under p(v, h, z)."""

    mean_visible: VisibleBias
    """⟨v_i⟩, (N,)"""
    mean_hidden: HiddenBias
    """⟨h_a⟩, (K,); a unit beyond z counts as 0"""
    mean_product: Weights
    """⟨h_a v_i⟩, (K, N)"""
    size_probabilities: HiddenBias
    """p(z), (K,)"""
    mean_size: Scalar
    """⟨z⟩"""


def states(unit: Unit, n: int) -> np.ndarray:
    """All states of a layer of n values, one a row, the last unit changing fastest."""
    if n % unit.per_unit:
        raise ValueError(f"n is {n}, which is no multiple of the {unit.per_unit} values of a unit.")
    _guard(unit, n, f"{n // unit.per_unit} units")
    return _digits(unit, np.arange(_count(unit, n)), n)


@jax.jit
def log_partition(model: GrandCanonicalRBM) -> Scalar:
    """log Z of [vRBM:PartitionFunction], over the smaller layer."""
    return logsumexp(_log_weights(model, _over_visible(model)))


def log_probability(model: GrandCanonicalRBM, v: Values) -> Batch:
    """log p(v) = −F(v) − log Z of [vRBM:ModelProbabilties], in nats."""
    return -model.free_energy(v) - log_partition(model)


@jax.jit
def visible_probabilities(model: GrandCanonicalRBM) -> Float[Array, "states"]:
    """p(v) for all v, in the order of `states(model.visible, N)`."""
    visible = model.visible
    _guard(visible, model.n_visible, f"{model.n_visible // visible.per_unit} visible units")
    count = _count(model.visible, model.n_visible)
    return jax.nn.softmax(_log_weights(model, over_visible=True))[:count]


@jax.jit
def moments(model: GrandCanonicalRBM) -> Moments:
    """⟨v⟩, ⟨h⟩, ⟨h v⟩ and p(z) under the model, over the smaller layer.

    The model averages of [ExtremizationCondition_Compact], and so of [ExtremizationCondition] and
    [ExtremizationCondition_Explicit].
    """
    over_visible = _over_visible(model)
    log_z = logsumexp(_log_weights(model, over_visible))
    n, k, dtype = model.n_visible, model.max_hidden, model.W.dtype

    def add(sums: Any, rows: _Rows) -> tuple[Any, None]:
        w = jnp.exp(rows.log_weight - log_z)
        product = dot((w[:, None] * rows.h).T, rows.v)
        new = (dot(w, rows.v), dot(w, rows.h), product, dot(w, rows.size_probabilities))
        return jax.tree.map(jnp.add, sums, new), None

    zero = tuple(jnp.zeros(shape, dtype) for shape in ((n,), (k,), (k, n), (k,)))
    (v, h, product, size_probabilities), _ = _scan(model, over_visible, add, zero)
    size = (size_probabilities * jnp.arange(1, k + 1)).sum()
    size += model.potential.idle_units(size_probabilities[-1])
    return Moments(v, h, product, size_probabilities, size)


class _Rows(NamedTuple):
    """States of the enumerated layer, with the means of the other one and of z given each."""

    v: Array
    h: Array
    size_probabilities: Array
    log_weight: Array


def _over_visible(model: GrandCanonicalRBM) -> bool:
    """Whether the visible layer has fewer states; an error when these are too many."""
    n, k = model.n_visible, model.max_hidden
    is_smaller = _count(model.visible, n) <= _count(model.hidden, k)
    what = f"{n // model.visible.per_unit} visible and {k} hidden units"
    _guard(*((model.visible, n) if is_smaller else (model.hidden, k)), what)
    return is_smaller


def _log_weights(model: GrandCanonicalRBM, over_visible: bool) -> Float[Array, "states"]:
    """−F(v) of all v, or −F(h, z) of all pairs (h, z)."""
    _, blocks = _scan(model, over_visible, lambda _, rows: (None, rows.log_weight), None)
    return blocks.reshape(-1)


def _scan(
    model: GrandCanonicalRBM,
    over_visible: bool,
    step: Callable[[Any, _Rows], tuple[Any, Any]],
    start: Any,
) -> Any:
    """`jax.lax.scan` over blocks of all states; those past the end have log-weight −∞."""
    n, k = model.n_visible, model.max_hidden

    def visible_rows(index: Any) -> _Rows:
        v = _digits(model.visible, index, n).astype(model.W.dtype)
        return _Rows(v, model.mean_hidden(v), model.size_probabilities(v), -model.free_energy(v))

    # Pairs (z, h^z) in one list: where each size begins. Only a small layer is enumerated.
    counts = [] if over_visible else [len(model.hidden.states) ** z for z in range(1, k + 1)]
    first = np.cumsum([0, *counts[:-1]])

    def hidden_rows(index: Any) -> _Rows:
        z = jnp.searchsorted(jnp.asarray(first), index, side="right")
        digits = _digits(model.hidden, index - jnp.asarray(first)[z - 1], k)
        # The z digits of the prefix are its last ones; as units they come first.
        place = jnp.arange(k) + k - z[:, None]
        h = jnp.take_along_axis(digits, jnp.minimum(place, k - 1), axis=1)
        h = jnp.where(place < k, h, 0).astype(model.W.dtype)
        sizes = jax.nn.one_hot(z - 1, k, dtype=model.W.dtype)
        return _Rows(model.mean_visible(h, z), h, sizes, -model.free_energy_hidden(h, z))

    if over_visible:
        total, rows = _count(model.visible, n), visible_rows
    else:
        total, rows = sum(counts), hidden_rows
    width = max(1, min(BLOCK // (n + k), total))

    @jax.checkpoint
    def block(carry: Any, begin: Any) -> tuple[Any, Any]:
        index = begin + jnp.arange(width)
        states = rows(jnp.minimum(index, total - 1))
        log_weight = jnp.where(index < total, states.log_weight, -jnp.inf)
        return step(carry, states._replace(log_weight=log_weight))

    return jax.lax.scan(block, start, jnp.arange(0, total, width))


def _digits(unit: Unit, index: Any, n: int) -> Any:
    """The states of n values with these numbers, (len(index), n), in numpy or JAX as the numbers.

    The first unit is the most significant digit.
    """
    xp = np if isinstance(index, np.ndarray) else jnp
    q = len(unit.choices)
    powers = xp.asarray(q ** np.arange(n // unit.per_unit - 1, -1, -1), index.dtype)
    return xp.asarray(unit.choices)[(index[:, None] // powers) % q].reshape(len(index), n)


def _count(unit: Unit, n: int) -> int:
    """States of a layer of n values."""
    return len(unit.choices) ** (n // unit.per_unit)


def _guard(unit: Unit, n: int, what: str) -> None:
    if _count(unit, n) > 1 << LIMIT:
        raise ValueError(
            f"exact enumeration was asked for {what}, and its limit is {LIMIT} two-valued units in "
            "the enumerated layer: use a smaller model, or estimate log Z by sampling."
        )
