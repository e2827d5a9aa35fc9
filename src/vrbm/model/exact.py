r"""Enumeration of small models: log Z, p(v), p(z) and moments, exact to rounding.

Sums run over all states of the smaller layer, with the other one summed in closed form: over v
with e^{−F(v)}, or over the pairs (h, z) with e^{−F(h,z)}. Everything is differentiable and works
under jit; memory stays bounded, since states are made and summed block by block.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from vrbm.model.rbm import GrandCanonicalRBM
from vrbm.model.units import Unit
from vrbm.typing import Batch, HiddenBias, Scalar, Values, VisibleBias, Weights

#: The most units that the enumerated layer may have.
LIMIT = 22
BLOCK = 1 << 13


class Moments(eqx.Module):
    """Expectation values under p(v, h, z)."""

    visible: VisibleBias
    """⟨v_i⟩, (N,)"""
    hidden: HiddenBias
    """⟨h_a⟩, (K,); a unit beyond z counts as 0"""
    product: Weights
    """⟨h_a v_i⟩, (K, N)"""
    size_probabilities: HiddenBias
    """p(z), (K,)"""
    size: Scalar
    """⟨z⟩"""


def states(unit: Unit, n: int) -> np.ndarray:
    """All states of n units, (q^n, n), the last unit changing fastest."""
    _guard(n, f"{n} units")
    return np.asarray(_digits(unit, jnp.arange(len(unit.states) ** n), n))


@jax.jit
def log_partition(model: GrandCanonicalRBM) -> Scalar:
    """log Z of [vRBM:PartitionFunction], over the smaller layer."""
    *_, log_weights = _enumerate(model, lambda *_: ())
    return logsumexp(log_weights)


def log_probability(model: GrandCanonicalRBM, v: Values) -> Batch:
    """log p(v) = −F(v) − log Z of [vRBM:ModelProbabilties], in nats."""
    return -model.free_energy(v) - log_partition(model)


@jax.jit
def visible_probabilities(model: GrandCanonicalRBM) -> Float[Array, "states"]:
    """p(v) for all v, in the order of `states(model.visible, N)`."""
    _guard(model.n_visible, f"{model.n_visible} visible units")
    *_, log_weights = _enumerate(model, lambda *_: (), over_visible=True)
    return jax.nn.softmax(log_weights)


@jax.jit
def moments(model: GrandCanonicalRBM) -> Moments:
    """⟨v⟩, ⟨h⟩, ⟨h v⟩ and p(z) under the model, over the smaller layer.

    The model averages of [ExtremizationCondition_Compact].
    """
    log_z = log_partition(model)

    def sums(v: Any, h: Any, size_probabilities: Any, log_weight: Any) -> Any:
        w = jnp.exp(log_weight - log_z)
        return w @ v, w @ h, (w[:, None] * h).T @ v, w @ size_probabilities

    *totals, _ = _enumerate(model, sums)
    v, h, product, size_probabilities = (total.sum(axis=0) for total in totals)
    size = size_probabilities @ jnp.arange(1, model.max_hidden + 1)
    return Moments(v, h, product, size_probabilities, size)


def _enumerate(
    model: GrandCanonicalRBM,
    sums: Callable[[Any, Any, Any, Any], tuple[Any, ...]],
    over_visible: bool | None = None,
) -> list[Any]:
    """Call `sums`(⟨v⟩, ⟨h⟩, p(z), log-weight) on each block; stack its results and the log-weights.

    The block's rows are states of the enumerated layer; the means are those of the other layer and
    of z given that state, so that averages over rows are averages under the model.
    """
    n, k = model.n_visible, model.max_hidden
    if over_visible is None:
        over_visible = n <= k
        _guard(min(n, k), f"{n} visible and {k} hidden units")

    def visible_block(index: Any) -> tuple[Any, ...]:
        v = _digits(model.visible, index, n).astype(model.W.dtype)
        return v, model.mean_hidden(v), model.size_probabilities(v), -model.free_energy(v)

    def hidden_block(index: Any) -> tuple[Any, ...]:
        z = jnp.searchsorted(jnp.asarray(_first_of_size(model)), index, side="right")
        z = jnp.minimum(z, k)
        prefix = index - jnp.asarray(_first_of_size(model))[z - 1]
        # Digits of the prefix, shifted so that its z units come first; the rest is absent.
        place = jnp.arange(k) + k - z[:, None]
        digits = _digits(model.hidden, prefix, k)
        h = jnp.take_along_axis(digits, jnp.minimum(place, k - 1), axis=1)
        h = jnp.where(place < k, h, 0).astype(model.W.dtype)
        sizes = jax.nn.one_hot(z - 1, k, dtype=model.W.dtype)
        return model.mean_visible(h, z), h, sizes, -model.free_energy_hidden(h, z)

    rows = visible_block if over_visible else hidden_block
    total = (
        len(model.visible.states) ** n
        if over_visible
        else _first_of_size(model)[-1] + len(model.hidden.states) ** k
    )
    width = min(BLOCK, total)

    @jax.checkpoint
    def block(start: Any) -> Any:
        index = start + jnp.arange(width)
        v, h, size_probabilities, log_weight = rows(jnp.minimum(index, total - 1))
        log_weight = jnp.where(index < total, log_weight, -jnp.inf)
        return (*sums(v, h, size_probabilities, log_weight), log_weight)

    *results, log_weights = jax.lax.map(block, jnp.arange(0, total, width))
    return [*results, log_weights.reshape(-1)[:total]]


def _first_of_size(model: GrandCanonicalRBM) -> np.ndarray:
    """Where the states of each size z begin in the list of all pairs (z, h^z), (K,)."""
    q = len(model.hidden.states)
    return np.cumsum([0] + [q**z for z in range(1, model.max_hidden)])


def _digits(unit: Unit, index: Int[Array, "states"], n: int) -> Float[Array, "states units"]:
    """The state of n units with that number, its first unit the most significant digit."""
    q = len(unit.states)
    powers = jnp.asarray(q ** np.arange(n - 1, -1, -1), index.dtype)
    return jnp.asarray(unit.states)[(index[:, None] // powers) % q]


def _guard(n: int, what: str) -> None:
    if n > LIMIT:
        raise ValueError(
            f"exact enumeration was asked for {what}, and its limit is {LIMIT} units in the "
            "enumerated layer: use a smaller model, or estimate log Z by sampling."
        )
