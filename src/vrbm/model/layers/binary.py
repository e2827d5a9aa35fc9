"""Units that are on or off."""

import jax

from vrbm.model import random
from vrbm.model.layers.functions import finite_exp, sigmoid, softplus
from vrbm.model.layers.unit import Unit
from vrbm.typing import Field, RandomKey


class Binary(Unit):
    r"""s = 0 or 1: Γ(x) = log(1 + e^x), ⟨s⟩ = σ(x) = 1/(1 + e^{−x})."""

    states = (0.0, 1.0)

    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log(1 + e^x)."""
        return softplus(x)

    def mean(self, x: Field) -> Field:
        """⟨s⟩ = σ(x)."""
        return sigmoid(x)

    def field(self, mean: Field) -> Field:
        """x = log⟨s⟩ − log(1 − ⟨s⟩)."""
        return jax.scipy.special.logit(mean)

    def residual(self, value: Field, x: Field) -> Field:
        """s − σ(x) = [s − (1 − s) e^x] / (1 + e^x)."""
        e = finite_exp(x)
        return (value - (1 - value) * e) / (1 + e)

    def sample(self, key: RandomKey, x: Field) -> Field:
        """1 with probability σ(x), else 0: where u ≤ σ(x) for a uniform u in (0, 1].

        A float32 u is at least 2^−23, so that flips less probable than that never happen; with u in
        [0, 1) they would happen too often.
        """
        u = random.uniform(key, x.shape, x.dtype)
        return (u <= sigmoid(x)).astype(x.dtype)
