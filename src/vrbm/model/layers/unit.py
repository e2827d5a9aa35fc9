r"""What a type of units has to say: all else of the package follows from it.

The mean of a unit in the field x is Γ'(x), with its cumulant Γ(x) = log Σ_s e^{sx}; the layer free
energies are sums of Γ. A new type is a new subclass of `Unit` in a file of its own.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vrbm.typing import Field, RandomKey, Values


class Unit(eqx.Module):
    """A unit s with a finite list of values and the weight e^{sx} in a field x.

    A layer of units has `per_unit` values for each, side by side in its rows.
    """

    #: The values that occur, in increasing order.
    states: ClassVar[tuple[float, ...]]

    @property
    def per_unit(self) -> int:
        """Values that stand for one unit."""
        return 1

    @property
    def choices(self) -> np.ndarray:
        """All states of one unit, (q, `per_unit`)."""
        return np.array(self.states)[:, None]

    def check(self, name: str, rows: np.ndarray) -> None:
        """Raise a sentence if rows (…, N) within the range of `states` are none of this layer."""

    def splits_none(self, chosen: np.ndarray) -> bool:
        """Whether truth values (…, N) are the same for all values of each unit."""
        by_unit = chosen.reshape(*chosen.shape[:-1], -1, self.per_unit)
        return bool((by_unit.any(axis=-1) == by_unit.all(axis=-1)).all())

    def shares(self, v: Any) -> Any:
        """How much of each choice is in values (…, N) between the states: (…, units, q).

        For states 1 at the choice that they are, else 0; in numpy or JAX as the values.
        """
        high = (v - self.states[0]) / (self.states[-1] - self.states[0])
        xp = np if isinstance(v, np.ndarray) else jnp
        return xp.stack([1 - high, high], axis=-1)

    @abstractmethod
    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log Σ_s e^{sx} of each unit, finite for every finite x."""

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
