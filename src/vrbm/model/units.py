r"""Unit types, each one class around its cumulant Γ(x) = log Σ_s e^{sx}.

The mean of a unit in the field x is Γ'(x); the layer free energies are sums of Γ. A new type is a
new subclass of `Unit` here, and nothing else.
"""

from abc import abstractmethod
from itertools import pairwise
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
    def residual(self, value: Field, x: Field) -> Field:
        """The value − ⟨s⟩ in the field x, for any value from the lowest to the highest state.

        Where the value is a state, it has all its digits even when it is 1e-30.
        """

    def nearest(self, value: Field) -> Field:
        """The state nearest to each value; of two, the lower."""
        s = jnp.full_like(value, self.states[0])
        for low, high in pairwise(self.states):
            s = jnp.where(value > (low + high) / 2, high, s)
        return s

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

    In float32 it is a polynomial in s = e / (d_0 + d_1 e + d_2 e²), e = e^x ≤ 1, with the constants
    that give the least relative error, 6e-9. It has as few operations as it can: beyond one for a
    byte XLA hands a pass to threads, which takes longer than the pass (docs/design_notes.md).
    """
    if x.dtype != jnp.float32:
        return jnp.log1p(jnp.exp(x))
    e = jnp.exp(x)
    s = e / (2.56965287 + e * (1.29238214 - 0.015327404 * e))
    return s * (2.56965285 + s * (0.0194209589 + s * (1.31259712 + s * (s - 0.0933595463))))


def _finite_exp(x: Field) -> Field:
    """e^x, and for larger x the largest power of e that leaves room to add 1."""
    return jnp.exp(jnp.minimum(x, float(np.log(np.finfo(x.dtype).max)) - 1))


@jax.custom_jvp
def _log_2cosh(x: Field) -> Field:
    """log 2cosh x = |x| + log(1 + e^{−2|x|}), with the derivative tanh x."""
    return jnp.abs(x) + _log_1_plus_exp(-2 * jnp.abs(x))


@jax.custom_jvp
def _softplus(x: Field) -> Field:
    """log(1 + e^x) = max(x, 0) + log(1 + e^{−|x|}), with the derivative σ(x)."""
    return jnp.maximum(x, 0) + _log_1_plus_exp(-jnp.abs(x))


@jax.custom_jvp
def _sigmoid(x: Values) -> Field:
    """σ(x), with the exponential that log(1 + e^x) has too, so that one pass serves both."""
    x = jnp.asarray(x)  # derivatives of it are taken at plain numbers
    e = jnp.exp(-jnp.abs(x))
    return jnp.where(x < 0, e, 1) / (1 + e)


_log_2cosh.defjvps(lambda dx, _, x: jnp.tanh(x) * dx)
_softplus.defjvps(lambda dx, _, x: _sigmoid(x) * dx)
_sigmoid.defjvps(lambda dx, mean, x: mean * _sigmoid(-x) * dx)


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

    def residual(self, value: Field, x: Field) -> Field:
        """s − tanh x = [(1 + s) − (1 − s) e^{2x}] / (1 + e^{2x})."""
        e = _finite_exp(2 * x)
        return ((1 + value) - (1 - value) * e) / (1 + e)

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
        return _sigmoid(x)

    def field(self, mean: Field) -> Field:
        """x = log⟨s⟩ − log(1 − ⟨s⟩)."""
        return jax.scipy.special.logit(mean)

    def residual(self, value: Field, x: Field) -> Field:
        """s − σ(x) = [s − (1 − s) e^x] / (1 + e^x)."""
        e = _finite_exp(x)
        return (value - (1 - value) * e) / (1 + e)

    def sample(self, key: RandomKey, x: Field) -> Field:
        """1 with probability σ(x), else 0: where u ≤ σ(x) for a uniform u in (0, 1].

        A float32 u is at least 2^−23, so that flips less probable than that never happen; with u in
        [0, 1) they would happen too often.
        """
        u = random.uniform(key, x.shape, x.dtype)
        return (u <= _sigmoid(x)).astype(x.dtype)
