r"""The gradient of the log-likelihood: data average minus model average."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm.model import GrandCanonicalRBM
from vrbm.model.linear import dot
from vrbm.training.negative import Met, met
from vrbm.typing import Batch, Chains, HiddenBias, Scalar, Visible, VisibleBias, Weights


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

    met: Met
    """sizes at the rows of data and model"""
    delta_size: Scalar
    """⟨z⟩_data − ⟨z⟩_model"""
    mean_hidden: HiddenBias
    """⟨h_a⟩_data, (K,)"""


def gradient(
    model: GrandCanonicalRBM,
    view: GrandCanonicalRBM,
    pull: Callable[[HiddenBias], tuple[jax.Array, jax.Array]],
    data: Visible,
    fantasy: Chains,
    weights: Batch | None = None,
) -> tuple[Parameters, Statistics]:
    r"""∂⟨log p⟩/∂λ with the price of the size.

    ⟨h_a v_i⟩_data − ⟨h_a v_i⟩_model − Σ_b ∂μ_b/∂w_ai [P(z ≥ b)_data − P(z ≥ b)_model], likewise for
    b, and ⟨v_i⟩_data − ⟨v_i⟩_model for c. With one price for all units the sum is ∂μ Δ⟨z⟩.

    `view` is the model's first A units, `pull` the pull-back of the prices: units beyond A have no
    other part of the gradient than the price. With `weights` (batch,) the data average is
    Σ w f / Σ w.
    """
    n, m = len(data), len(fantasy)
    v = jnp.concatenate([data, fantasy])
    share = jnp.full(n, 1 / n, v.dtype) if weights is None else weights / weights.sum()
    sign = jnp.concatenate([share, jnp.full(m, -1 / m, v.dtype)])
    survival = view.size_survival(v)
    h = view.mean_hidden(v)
    weighted = sign[:, None] * h
    excess = dot(sign, survival)
    rest = model.max_hidden - view.max_hidden
    price_W, price_b = pull(jnp.pad(excess, (0, rest)))
    width = view.max_hidden
    statistics = Statistics(
        met=met(view, v),
        delta_size=excess.sum(),
        mean_hidden=jnp.pad(dot(share, h[:n]), (0, rest)),
    )
    new = Parameters(
        W=(-price_W).at[:width].add(dot(weighted.T, v)),
        b=(-price_b).at[:width].add(weighted.sum(axis=0)),
        c=dot(sign, v),
    )
    return new, statistics


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
    gradient: Parameters, model: GrandCanonicalRBM, strength: float, p: float
) -> Parameters:
    """The gradient of ⟨log p⟩ − (strength/p) Σ |w_ai|^p."""
    slope = jnp.sign(model.W) * jnp.abs(model.W) ** (p - 1)
    return gradient._replace(W=gradient.W - strength * slope)
