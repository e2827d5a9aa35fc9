r"""The gradient of the log-likelihood: data average minus model average."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm.model import GrandCanonicalRBM
from vrbm.model.linear import dot
from vrbm.model.rbm import Response
from vrbm.typing import Batch, Field, Hidden, HiddenBias, Scalar, Visible, VisibleBias, Weights

# By how much the weights outnumber the values of a batch for its two products to be made one; and
# up to how many rows that is done on an accelerator, where each operation has its price.
JOINED = 4
JOINED_ROWS = 1000
# Weights up to which h is turned round before its product with v.
TURNED = 1 << 15


class Parameters(NamedTuple):
    """The trained arrays of a model, or a gradient or step of them."""

    W: Weights
    b: HiddenBias
    c: VisibleBias


def parameters(model: GrandCanonicalRBM) -> Parameters:
    """W, b and c of a model."""
    return Parameters(model.W, model.b, model.c)


def moved(model: GrandCanonicalRBM, step: Parameters) -> GrandCanonicalRBM:
    """The model with a step added to its parameters."""
    new = jax.tree.map(jnp.add, parameters(model), step)
    return eqx.tree_at(lambda m: (m.W, m.b, m.c), model, tuple(new))


class Statistics(eqx.Module):
    """What the gradient took from a batch."""

    delta_size: Scalar
    """⟨z⟩_data − ⟨z⟩_model"""
    mean_hidden: HiddenBias
    """⟨h_a⟩_data, (K,)"""
    price_of_others: Field
    """Σ_b ∂μ_b/∂o [P(z ≥ b)_data − P(z ≥ b)_model], o being what else the prices depend on"""


def gradient(
    model: GrandCanonicalRBM,
    pull: Callable[[HiddenBias], tuple[jax.Array, jax.Array, jax.Array]],
    data: Response,
    fantasy: Response,
    residual: Visible | None = None,
    weights: Batch | None = None,
) -> tuple[Parameters, Statistics]:
    r"""∂⟨log p⟩/∂λ with the price of the size.

    ⟨h_a v_i⟩_data − ⟨h_a v_i⟩_model − Σ_b ∂μ_b/∂w_ai [P(z ≥ b)_data − P(z ≥ b)_model], likewise for
    b, and ⟨v_i⟩_data − ⟨v_i⟩_model for c. With one price for all units the sum is ∂μ Δ⟨z⟩.

    `pull` is the pull-back of the prices to W, b and what else they depend on. The responses may be
    those of the model's first A units: units beyond have no other part than the price.

    `residual` is v_data − v_model where the rows belong together, as in mean-field iterations. Then
    averages are taken of differences, ⟨(h − h') v + h' (v − v')⟩: what v − v' adds keeps its digits
    when it is far below the rounding of ⟨h v⟩. What h − h' adds is right to the rounding of h.

    `weights` (batch,) are those of the rows, with mean 1 over all rows of the training: then
    Σ w (f_data − ⟨f⟩_model) / batch has the mean over batches that all rows have.
    """
    width = data.mean.shape[-1]
    rest = model.max_hidden - width
    if residual is None:
        share = 1 if weights is None else weights.mean()
        part = share * len(data.v) / len(fantasy.v)
        h = _weighted(data.mean, weights)
        W = _correlation(h, data.v, -part * fantasy.mean, fantasy.v)
        b = _average(data.mean, weights) - share * _average(fantasy.mean)
        c = _average(data.v, weights) - share * _average(fantasy.v)
        excess = _average(data.sizes.survival, weights) - share * _average(fantasy.sizes.survival)
        beyond = _average(data.sizes.beyond, weights) - share * _average(fantasy.sizes.beyond)
    else:
        h = data.mean - fantasy.mean
        W = _correlation(_weighted(h, weights), data.v, _weighted(fantasy.mean, weights), residual)
        b, c = _average(h, weights), _average(residual, weights)
        excess = _average(data.sizes.survival - fantasy.sizes.survival, weights)
        beyond = _average(data.sizes.beyond - fantasy.sizes.beyond, weights)
    price_W, price_b, others = pull(jnp.pad(excess, (0, rest)))
    if rest:
        new = Parameters((-price_W).at[:width].add(W), (-price_b).at[:width].add(b), c)
    else:
        new = Parameters(W - price_W, b - price_b, c)
    mean_hidden = jnp.pad(_average(data.mean), (0, rest))
    return new, Statistics(excess.sum() + beyond, mean_hidden, others)


def _average(x: Field, weights: Batch | None = None) -> Field:
    """The average of w x over rows."""
    return dot(jnp.ones(len(x), x.dtype) if weights is None else weights, x) / len(x)


def _weighted(h: Hidden, weights: Batch | None) -> Hidden:
    """w h for each row."""
    return h if weights is None else h * weights[:, None]


def _correlation(h: Hidden, v: Visible, more_h: Field, more_v: Field) -> Weights:
    """The sum of h_a v_i over rows and over more rows, by the number of the first rows, (K, N).

    What is divided is the smaller: the rows, or their product. Where the rows hold few numbers
    beside K N, one product of all rows saves a pass over K N; on an accelerator, operations.
    """
    rows = len(v) + len(more_v)
    few = rows < v.shape[1]
    if few:
        h, more_h = h / len(v), more_h / len(v)
    if JOINED * rows * (h.shape[1] + v.shape[1]) < h.shape[1] * v.shape[1]:
        product = _joined(h, v, more_h, more_v)
    elif rows <= JOINED_ROWS:
        product = jax.lax.platform_dependent(h, v, more_h, more_v, cpu=_separate, default=_joined)
    else:
        product = _separate(h, v, more_h, more_v)
    return product if few else product / len(v)


def _joined(h: Hidden, v: Visible, more_h: Field, more_v: Field) -> Weights:
    """One product of all rows."""
    return dot(jnp.concatenate([h, more_h]).T, jnp.concatenate([v, more_v]))


def _separate(h: Hidden, v: Visible, more_h: Field, more_v: Field) -> Weights:
    """The sum of two products."""
    turned, more_turned = h.T, more_h.T
    if h.shape[1] * v.shape[1] <= TURNED:  # else the product itself walks along columns
        both = (turned, more_turned)
        turned, more_turned = jax.lax.optimization_barrier(both)  # type: ignore[no-untyped-call]
    return dot(turned, v) + dot(more_turned, more_v)


def centred(gradient: Parameters, v_offset: VisibleBias, h_offset: HiddenBias) -> Parameters:
    r"""The gradient in the coordinates W, b' = b + W o_v, c' = c + Wᵀ o_h.

    There E is a function of v − o_v and h − o_h, and ∂/∂W becomes g_W − g_b o_vᵀ − o_h g_cᵀ.
    """
    W = gradient.W - jnp.outer(gradient.b, v_offset) - jnp.outer(h_offset, gradient.c)
    return gradient._replace(W=W)


def uncentred(step: Parameters, v_offset: VisibleBias, h_offset: HiddenBias) -> Parameters:
    """A step in centred coordinates as a step of W, b, c: δb = δb' − δW o_v, δc = δc' − δWᵀ o_h."""
    return step._replace(b=step.b - dot(step.W, v_offset), c=step.c - dot(h_offset, step.W))


def with_penalty(
    gradient: Parameters, model: GrandCanonicalRBM, strength: Field | float, p: float
) -> Parameters:
    """The gradient of ⟨log p⟩ − (strength/p) Σ |w_ai|^p."""
    slope = jnp.sign(model.W) * jnp.abs(model.W) ** (p - 1)
    return gradient._replace(W=gradient.W - strength * slope)
