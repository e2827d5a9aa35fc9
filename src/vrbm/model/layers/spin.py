"""Spins."""

import jax.numpy as jnp

from vrbm.model.layers.binary import Binary
from vrbm.model.layers.functions import finite_exp, log_2cosh
from vrbm.model.layers.unit import Unit
from vrbm.typing import Field, RandomKey


class Spin(Unit):
    r"""s = ±1: Γ(x) = log 2cosh x, ⟨s⟩ = tanh x."""

    states = (-1.0, 1.0)

    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log(e^x + e^{−x}) = log 2cosh x."""
        return log_2cosh(x)

    def mean(self, x: Field) -> Field:
        """⟨s⟩ = tanh x."""
        return jnp.tanh(x)

    def field(self, mean: Field) -> Field:
        """x = artanh⟨s⟩."""
        return jnp.arctanh(mean)

    def residual(self, value: Field, x: Field) -> Field:
        """s − tanh x = [(1 + s) − (1 − s) e^{2x}] / (1 + e^{2x})."""
        e = finite_exp(2 * x)
        return ((1 + value) - (1 - value) * e) / (1 + e)

    def sample(self, key: RandomKey, x: Field) -> Field:
        """+1 with probability σ(2x), else −1."""
        return 2 * Binary().sample(key, 2 * x) - 1
