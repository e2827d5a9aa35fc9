r"""The size z of the hidden layer given v: one scan along the hidden axis.

With the steps s_a = Γ(x_a) − μ_a, a layer of size z has the log-weight ℓ_z = Σ_{a≤z} s_a, so that
p(z|v) = e^{ℓ_z} / Σ_z' e^{ℓ_z'}.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import random
from vrbm.model.linear import dot
from vrbm.typing import Batch, Hidden, RandomKey, Scalar, Sizes

# Width of the triangular products. Measured: benchmarks/scan.py, docs/design_notes.md. On an
# accelerator the number of products counts first: one up to this width, else two or more.
BLOCK = 16
WIDEST_BLOCK = 256


class SizeScan(NamedTuple):
    """What one pass over the steps gives; under `jax.jit`, what is not used is not computed."""

    log_weights: Hidden
    """ℓ_z, (batch, K)"""
    log_norm: Batch
    """log Σ_z e^{ℓ_z}, (batch,)"""
    probabilities: Hidden
    """p(z|v), (batch, K); the last is P(z ≥ K|v) in a layer without an end"""
    survival: Hidden
    """P(z ≥ a|v), (batch, K)"""
    log_last: Batch
    """log of the last of these, (batch,)"""
    beyond: Batch
    """⟨max(z − K, 0)⟩, (batch,): idle units that a layer without an end has beside the K stored"""


def running_sum(x: Hidden, *, reverse: bool = False) -> Hidden:
    """Σ_{a≤z} x_a along the last axis, or Σ_{a≥z} x_a."""
    if x.shape[-1] <= BLOCK:
        return _blocked_sum(x, BLOCK, reverse)
    return jax.lax.platform_dependent(
        x,
        cpu=lambda x: _blocked_sum(x, BLOCK, reverse),
        default=lambda x: _blocked_sum(x, accelerator_block(x.shape[-1]), reverse),
    )


def accelerator_block(size: int) -> int:
    """One product up to `WIDEST_BLOCK`, else the least power of two, at most that, for two."""
    if size <= WIDEST_BLOCK:
        return WIDEST_BLOCK
    return min(1 << math.ceil(math.log2(size) / 2), WIDEST_BLOCK)


def _blocked_sum(x: Hidden, block: int, reverse: bool, strict: bool = False) -> Hidden:
    """Running sums by triangular products of width `block`; `strict` leaves out x_z itself.

    Sums inside each block by a small matrix product, and those over the blocks before it by the
    same rule on their totals. Nothing is subtracted.
    """
    *batch, size = x.shape
    width = min(size, block)
    # A constant: else an accelerator makes it in each step.
    ones = np.tri(width, k=-1 if strict else 0, dtype=x.dtype)
    triangle = jnp.asarray(ones if reverse else ones.T)
    if size == width:
        return dot(x, triangle)
    blocks = -(-size // block)
    split = jnp.pad(x, [*[(0, 0)] * len(batch), (0, blocks * block - size)])
    split = split.reshape(*batch, blocks, block)
    inner = dot(split, triangle)
    end = 0 if reverse else -1
    totals = inner[..., end] + split[..., end] if strict else inner[..., end]
    sums = inner + _blocked_sum(totals, block, reverse, strict=True)[..., None]
    return sums.reshape(*batch, blocks * block)[..., :size]


def scan(steps: Hidden) -> SizeScan:
    """Every size from 1 to K is possible: log-weights, p(z|v) and P(z ≥ a|v) in one stable pass.

    ∂ log_norm / ∂s_a = P(z ≥ a|v) [vRBM:DerivativeOfFreeEnergy].
    """
    log_weights = running_sum(steps)
    peak = jax.lax.stop_gradient(log_weights.max(axis=-1, keepdims=True))
    weights = jnp.exp(log_weights - peak)
    tails = running_sum(weights, reverse=True)
    total = tails[..., :1]
    log_norm = (peak + jnp.log(total))[..., 0]
    return SizeScan(
        log_weights=log_weights,
        log_norm=log_norm,
        probabilities=weights / total,
        survival=tails / total,
        log_last=log_weights[..., -1] - log_norm,
        beyond=jnp.zeros_like(log_norm),
    )


def unbounded(steps: Hidden, price: Scalar) -> SizeScan:
    r"""Every size from 1 on: beyond K all units are idle, with the step −μ each.

    ℓ_{K+m} = ℓ_K − μm is a geometric tail, Σ_{m≥0} e^{−μm} = 1 / (1 − e^{−μ}), whose probability is
    counted as that of K: to v, idle units are nothing. Their mean number is P(z ≥ K|v) / (e^μ − 1).
    """
    tail = -jnp.log(-jnp.expm1(-price))
    sizes = scan(steps.at[..., -1].add(tail))
    return sizes._replace(
        log_weights=sizes.log_weights.at[..., -1].add(-tail),
        beyond=idle_units(sizes.survival[..., -1], price),
    )


def idle_units(last: Batch, price: Scalar) -> Batch:
    """P(z ≥ K) / (e^μ − 1): the mean number of idle units beyond K, given P(z ≥ K)."""
    return last / jnp.expm1(price)


def full(steps: Hidden) -> SizeScan:
    """Only the size K is possible: p(z|v) = δ_{zK}."""
    log_norm = steps.sum(axis=-1)
    last = jnp.arange(steps.shape[-1]) == steps.shape[-1] - 1
    return SizeScan(
        log_weights=jnp.where(last, log_norm[..., None], -jnp.inf),
        log_norm=log_norm,
        probabilities=jnp.broadcast_to(last.astype(steps.dtype), steps.shape),
        survival=jnp.ones_like(steps),
        log_last=jnp.zeros_like(log_norm),
        beyond=jnp.zeros_like(log_norm),
    )


def mean(sizes: SizeScan) -> Batch:
    """⟨z⟩ = Σ_z z p(z|v) = Σ_a P(z ≥ a|v)."""
    return sizes.survival.sum(axis=-1) + sizes.beyond


def probable(sizes: SizeScan) -> Sizes:
    """The largest of the most probable sizes."""
    return sizes.log_weights.shape[-1] - jnp.argmax(sizes.log_weights[..., ::-1], axis=-1)


def sample(key: RandomKey, sizes: SizeScan) -> Sizes:
    """Draw z from p(z|v) with one uniform number u in (0, 1]: the z with P(z+1) < u ≤ P(z).

    A float32 u is at least 2^−23, so that sizes whose tail is less probable are never drawn.
    """
    batch, dtype = sizes.survival.shape[:-1], sizes.survival.dtype
    u = random.uniform(key, (*batch, 1), dtype)
    return jnp.maximum((u <= sizes.survival).sum(axis=-1), 1)
