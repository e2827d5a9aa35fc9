r"""The size z of the hidden layer given v: one scan along the hidden axis.

With the steps s_a = Γ(x_a) − μ_a, a layer of size z has the log-weight ℓ_z = Σ_{a≤z} s_a, so that
p(z|v) = e^{ℓ_z} / Σ_z' e^{ℓ_z'}.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from vrbm.model.linear import dot
from vrbm.typing import Batch, Hidden, RandomKey, Sizes

# Width of the triangular products. Measured: benchmarks/scan.py, docs/design_notes.md.
BLOCK = 8


class SizeScan(NamedTuple):
    """What one pass over the steps gives; under `jax.jit`, what is not used is not computed."""

    log_weights: Hidden
    """ℓ_z, (batch, K)"""
    log_norm: Batch
    """log Σ_z e^{ℓ_z}, (batch,)"""
    probabilities: Hidden
    """p(z|v), (batch, K)"""
    survival: Hidden
    """P(z ≥ a|v), (batch, K)"""


def _running_sum(x: Hidden, *, reverse: bool = False) -> Hidden:
    """Σ_{a≤z} x_a along the last axis, or Σ_{a≥z} x_a, by triangular products of width `BLOCK`.

    Sums inside each block by a small matrix product, and those over the blocks before it by the
    same rule on their totals, moved on by one block. Nothing is subtracted.
    """
    *batch, size = x.shape
    width = min(size, BLOCK)
    triangle = jnp.triu(jnp.ones((width, width), x.dtype))
    triangle = triangle.T if reverse else triangle
    if size == width:
        return dot(x, triangle)
    blocks = -(-size // BLOCK)
    same = [(0, 0)] * len(batch)
    split = jnp.pad(x, [*same, (0, blocks * BLOCK - size)]).reshape(*batch, blocks, BLOCK)
    inner = dot(split, triangle)
    if reverse:
        totals = jnp.pad(inner[..., 1:, 0], [*same, (0, 1)])
    else:
        totals = jnp.pad(inner[..., :-1, -1], [*same, (1, 0)])
    sums = inner + _running_sum(totals, reverse=reverse)[..., None]
    return sums.reshape(*batch, blocks * BLOCK)[..., :size]


def scan(steps: Hidden) -> SizeScan:
    """Every size from 1 to K is possible: log-weights, p(z|v) and P(z ≥ a|v) in one stable pass.

    ∂ log_norm / ∂s_a = P(z ≥ a|v) [vRBM:DerivativeOfFreeEnergy].
    """
    log_weights = _running_sum(steps)
    peak = jax.lax.stop_gradient(log_weights.max(axis=-1, keepdims=True))
    weights = jnp.exp(log_weights - peak)
    tails = _running_sum(weights, reverse=True)
    total = tails[..., :1]
    return SizeScan(
        log_weights=log_weights,
        log_norm=(peak + jnp.log(total))[..., 0],
        probabilities=weights / total,
        survival=tails / total,
    )


def full(steps: Hidden) -> SizeScan:
    """Only the size K is possible: p(z|v) = δ_{zK}."""
    log_norm = steps.sum(axis=-1)
    last = jnp.arange(steps.shape[-1]) == steps.shape[-1] - 1
    return SizeScan(
        log_weights=jnp.where(last, log_norm[..., None], -jnp.inf),
        log_norm=log_norm,
        probabilities=jnp.broadcast_to(last.astype(steps.dtype), steps.shape),
        survival=jnp.ones_like(steps),
    )


def mean(sizes: SizeScan) -> Batch:
    """⟨z⟩ = Σ_z z p(z|v) = Σ_a P(z ≥ a|v)."""
    return sizes.survival.sum(axis=-1)


def probable(sizes: SizeScan) -> Sizes:
    """The largest of the most probable sizes."""
    return sizes.log_weights.shape[-1] - jnp.argmax(sizes.log_weights[..., ::-1], axis=-1)


def sample(key: RandomKey, sizes: SizeScan) -> Sizes:
    """Draw z from p(z|v) with one uniform number u in (0, 1]: the z with P(z+1) < u ≤ P(z).

    A float32 u is at least 2^−23, so that sizes whose tail is less probable are never drawn.
    """
    batch, dtype = sizes.survival.shape[:-1], sizes.survival.dtype
    u = 1 - jax.random.uniform(key, (*batch, 1), dtype)
    return jnp.maximum((u <= sizes.survival).sum(axis=-1), 1)
