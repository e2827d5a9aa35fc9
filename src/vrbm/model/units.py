r"""Unit types, each one class around its cumulant Γ(x) = log Σ_s e^{sx}.

The mean of a unit in the field x is Γ'(x); the layer free energies are sums of Γ. A new type is a
new subclass of `Unit` here, and nothing else.
"""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import random
from vrbm.typing import Field, RandomKey, Values


class Unit(eqx.Module):
    """A unit s with a finite list of values and the weight e^{sx} in a field x."""

    #: The values that the unit takes, in increasing order.
    states: ClassVar[tuple[float, ...]]

    @abstractmethod
    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log Σ_s e^{sx}, finite for every finite x."""

    @abstractmethod
    def mean(self, x: Field) -> Field:
        """⟨s⟩ = Γ'(x)."""

    @abstractmethod
    def field(self, mean: Field) -> Field:
        """The field x in which ⟨s⟩ is `mean`: the inverse of `mean`."""

    @abstractmethod
    def residual(self, s: Field, x: Field) -> Field:
        """s − ⟨s⟩ for a state s in the field x, with all its digits even when it is 1e-30."""

    def nearest(self, value: Field) -> Field:
        """The state nearest to each value; of two, the lower."""
        states = jnp.asarray(self.states, value.dtype)
        return states[jnp.argmin(jnp.abs(value[..., None] - states), axis=-1)]

    def residual_of_value(self, value: Field, x: Field) -> Field:
        """The value − ⟨s⟩ in the field x, for any value: (value − s) + (s − ⟨s⟩), s the nearest.

        With all its digits where the value is a state.
        """
        s = self.nearest(value)
        return (value - s) + self.residual(s, x)

    @abstractmethod
    def sample(self, key: RandomKey, x: Field) -> Field:
        """A value of s, independently for each entry of x, with probability e^{sx − Γ(x)}."""

    def field_of_data(self, mean: Field, rows: int) -> Field:
        """The field that gives free units the mean of `rows` samples, and one of no preference.

        The extra sample, the average of the unit's values, keeps constant columns finite.
        """
        low, high = self.states[0], self.states[-1]
        neutral = sum(self.states) / len(self.states)
        mean = (rows * mean + neutral) / (rows + 1)
        margin = (high - low) * float(np.finfo(mean.dtype).eps)
        return self.field(jnp.clip(mean, low + margin, high - margin))

    def encode(self, values: Values, name: str = "data") -> np.ndarray:
        """Data as values of this unit, from any two-valued coding in ±1 or 0/1.

        Mean values, i.e. numbers strictly inside [0, 1] or [−1, 1], are errors: threshold or
        sample them first.
        """
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{name} is ragged: pass rows of equal length.") from error
        if array.dtype.kind not in "biuf":
            raise ValueError(
                f"{name} has dtype {array.dtype}: pass real numbers, booleans or integers."
            )
        low, high = self.states[0], self.states[-1]
        for zero, one in ((low, high), (0.0, 1.0), (-1.0, 1.0)):
            if np.all((array == zero) | (array == one)):
                return np.where(array == one, high, low)
        outside = array[(array != -1) & (array != 0) & (array != 1)]
        found = f"the value {outside[0]}" if outside.size else "−1, 0 and 1 together"
        raise ValueError(
            f"{name} holds {found}, but {type(self).__name__} units need two-valued data: "
            "all entries ±1, or all entries 0/1. Threshold, sample or fill in the others first."
        )


def _log_1_plus_exp(x: Field) -> Field:
    """log(1 + e^x) for x ≤ 0.

    In float32 it is 2 artanh(e / (2 + e)) with e = e^x ≤ 1, by a series that is exact to rounding
    and three times as fast as the library's log1p.
    """
    if x.dtype != jnp.float32:
        return jnp.log1p(jnp.exp(x))
    e = jnp.exp(x)
    r = e / (2 + e)
    q = r**2
    tail = 1 / 9 + q * (1 / 11 + q * (1 / 13 + q / 15))
    return 2 * r * (1 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * tail))))


@jax.custom_jvp
def _log_2cosh(x: Field) -> Field:
    """log 2cosh x = |x| + log(1 + e^{−2|x|}), with the derivative tanh x."""
    return jnp.abs(x) + _log_1_plus_exp(-2 * jnp.abs(x))


@jax.custom_jvp
def _softplus(x: Field) -> Field:
    """log(1 + e^x) = max(x, 0) + log(1 + e^{−|x|}), with the derivative σ(x)."""
    return jnp.maximum(x, 0) + _log_1_plus_exp(-jnp.abs(x))


_log_2cosh.defjvps(lambda dx, _, x: jnp.tanh(x) * dx)
_softplus.defjvps(lambda dx, _, x: jax.nn.sigmoid(x) * dx)


class Spin(Unit):
    r"""s = ±1: Γ(x) = log 2cosh x, ⟨s⟩ = tanh x."""

    states = (-1.0, 1.0)

    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log(e^x + e^{−x}) = log 2cosh x."""
        return _log_2cosh(x)

    def mean(self, x: Field) -> Field:
        """⟨s⟩ = tanh x."""
        return jnp.tanh(x)

    def field(self, mean: Field) -> Field:
        """x = artanh⟨s⟩."""
        return jnp.arctanh(mean)

    def residual(self, s: Field, x: Field) -> Field:
        """s − tanh x = 2s σ(−2sx)."""
        return 2 * s * jax.nn.sigmoid(-2 * s * x)

    def sample(self, key: RandomKey, x: Field) -> Field:
        """+1 with probability σ(2x), else −1."""
        return 2 * Binary().sample(key, 2 * x) - 1


class Binary(Unit):
    r"""s = 0 or 1: Γ(x) = log(1 + e^x), ⟨s⟩ = σ(x) = 1/(1 + e^{−x})."""

    states = (0.0, 1.0)

    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log(1 + e^x)."""
        return _softplus(x)

    def mean(self, x: Field) -> Field:
        """⟨s⟩ = σ(x)."""
        return jax.nn.sigmoid(x)

    def field(self, mean: Field) -> Field:
        """x = log⟨s⟩ − log(1 − ⟨s⟩)."""
        return jax.scipy.special.logit(mean)

    def residual(self, s: Field, x: Field) -> Field:
        """s − σ(x) = t σ(−tx) with t = 2s − 1 = ±1."""
        t = 2 * s - 1
        return t * jax.nn.sigmoid(-t * x)

    def sample(self, key: RandomKey, x: Field) -> Field:
        """1 with probability σ(x), else 0: where u ≤ σ(x) for a uniform u in (0, 1].

        A float32 u is at least 2^−23, so that flips less probable than that never happen; with u in
        [0, 1) they would happen too often.
        """
        u = random.uniform(key, x.shape, x.dtype)
        return (u <= jax.nn.sigmoid(x)).astype(x.dtype)
