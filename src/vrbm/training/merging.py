r"""One hidden unit in the place of two that are alike.

Γ(x_a) + Γ(x_b) ≈ Γ(α x_a + β x_b + t) + what visible biases can make up for. The best α, β and t
over some rows are found by Gauss-Newton steps of least squares, all units with their partners at
once.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from vrbm.model import GrandCanonicalRBM
from vrbm.model.linear import dot
from vrbm.typing import Field, HiddenBias, Visible, Weights

#: Gauss-Newton steps, and the ridge that keeps them finite where the two units are one.
STEPS, RIDGE = 6, 1e-4
#: The largest α and β: larger ones are two units that cancel, seen by few rows.
LARGEST = 2.0


class Mergers(NamedTuple):
    """For each unit its partner, the unit most like it, and the unit that could replace both.

    NaN where no unit could.
    """

    partner: Array
    """(K,)"""
    W: Weights
    b: HiddenBias


@eqx.filter_jit
def mergers(model: GrandCanonicalRBM, v: Visible) -> Mergers:
    """The best that rows v (n, N) find for each unit."""
    alike = likeness(model, v)
    units = jnp.arange(len(alike))
    partner = jnp.abs(alike).argmax(axis=1)
    sign = jnp.where(alike[units, partner] < 0, -1, 1).astype(v.dtype)
    first = dot(v, model.W.T) + model.b
    second = first[:, partner]
    both = model.hidden.cumulant(first) + model.hidden.cumulant(second)
    linear = jnp.stack([first, second, jnp.ones_like(first)])  # (3, n, K)
    theta = jnp.stack([jnp.ones_like(sign), sign, jnp.zeros_like(sign)])  # (3, K)
    for _ in range(STEPS):
        x = jnp.einsum("jnk,jk->nk", linear, theta)
        left = both - model.hidden.cumulant(x)
        slopes = jnp.concatenate([model.hidden.mean(x) * linear, linear])  # (6, n, K)
        scale = jnp.sqrt((slopes**2).mean(axis=1)) + 1e-12
        slopes = slopes / scale[:, None]
        normal = jnp.einsum("ink,jnk->kij", slopes, slopes, precision="highest") / len(v)
        right = jnp.einsum("ink,nk->ki", slopes, left, precision="highest") / len(v)
        normal = normal + RIDGE * jnp.eye(len(slopes), dtype=v.dtype)
        step = jnp.linalg.solve(normal, right[..., None])[..., 0].T / scale
        theta = theta + step[:3]
    is_sound = jnp.isfinite(theta).all(axis=0) & (jnp.abs(theta[:2]) <= LARGEST).all(axis=0)
    alpha, beta, shift = jnp.where(is_sound, theta, jnp.nan)
    return Mergers(
        partner,
        alpha[:, None] * model.W + beta[:, None] * model.W[partner],
        alpha * model.b + beta * model.b[partner] + shift,
    )


def likeness(model: GrandCanonicalRBM, v: Visible) -> Field:
    """Cosines between weights of units, in standard deviations of rows v; 0 of a unit with itself.

    (K, K).
    """
    scaled = model.W * v.std(axis=0)
    scaled = scaled / (jnp.linalg.norm(scaled, axis=1, keepdims=True) + 1e-12)
    alike = dot(scaled, scaled.T)
    return alike * (1 - jnp.eye(len(alike), dtype=v.dtype))
