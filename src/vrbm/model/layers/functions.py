"""Functions of fields, with the digits and the speed that units need."""

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.typing import Field, Values


def _log_1_plus_exp(x: Field) -> Field:
    """log(1 + e^x) for x ≤ 0.

    In float32 it is a polynomial in s = e / (d_0 + d_1 e + d_2 e²), e = e^x ≤ 1, with the constants
    that give the least relative error, 6e-9. It has as few operations as it can: beyond one for a
    byte XLA hands a pass to threads, which takes longer than the pass (docs/design_notes.md).
    """
    if x.dtype != jnp.float32:
        return jnp.log1p(jnp.exp(x))
    e = jnp.exp(x)
    s = e / (2.56965287 + e * (1.29238214 - 0.015327404 * e))
    return s * (2.56965285 + s * (0.0194209589 + s * (1.31259712 + s * (s - 0.0933595463))))


def finite_exp(x: Field) -> Field:
    """e^x, and for larger x the largest power of e that leaves room to add 1."""
    return jnp.exp(jnp.minimum(x, float(np.log(np.finfo(x.dtype).max)) - 1))


@jax.custom_jvp
def log_2cosh(x: Field) -> Field:
    """log 2cosh x = |x| + log(1 + e^{−2|x|}), with the derivative tanh x."""
    return jnp.abs(x) + _log_1_plus_exp(-2 * jnp.abs(x))


@jax.custom_jvp
def softplus(x: Field) -> Field:
    """log(1 + e^x) = max(x, 0) + log(1 + e^{−|x|}), with the derivative σ(x)."""
    return jnp.maximum(x, 0) + _log_1_plus_exp(-jnp.abs(x))


@jax.custom_jvp
def sigmoid(x: Values) -> Field:
    """σ(x), with the exponential that log(1 + e^x) has too, so that one pass serves both."""
    x = jnp.asarray(x)  # derivatives of it are taken at plain numbers
    e = jnp.exp(-jnp.abs(x))
    return jnp.where(x < 0, e, 1) / (1 + e)


log_2cosh.defjvps(lambda dx, _, x: jnp.tanh(x) * dx)
softplus.defjvps(lambda dx, _, x: sigmoid(x) * dx)
sigmoid.defjvps(lambda dx, mean, x: mean * sigmoid(-x) * dx)
