"""Input checks of the model's public methods: sentences that name argument, value and remedy.

Shapes and types are checked always; values only when they are there, i.e. not under jit or vmap.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from vrbm.model.units import Spin, Unit
from vrbm.typing import Field, Sizes, Values


def numbers(name: str, value: Values, dtype: Any) -> Field:
    """Real, finite numbers as an array of the given floating type."""
    if not isinstance(value, Array):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise ValueError(f"{name} is ragged: pass rows of equal length.") from error
        if value.dtype.kind not in "biuf":
            raise TypeError(f"{name} has dtype {value.dtype}: pass real numbers.")
    elif jnp.issubdtype(value.dtype, jnp.complexfloating):
        raise TypeError(f"{name} has dtype {value.dtype}: pass real numbers.")
    array = jnp.asarray(value, dtype)
    if _is_concrete(array) and not bool(jnp.isfinite(array).all()):
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(np.asarray(array)))[0])
        raise ValueError(
            f"{name} holds {np.asarray(array)[bad]} at index {bad}: "
            "remove or fill in values that are not finite."
        )
    return array


def layer(name: str, value: Values, unit: Unit, size: int, dtype: Any, kind: str) -> Field:
    """Values of a layer, (…, size): states of its units or mean values between them."""
    array = numbers(name, value, dtype)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(
            f"{name} has shape {array.shape}, but the model has {size} {kind} units: "
            f"pass an array whose last axis has length {size}."
        )
    if not _is_concrete(array) or array.size == 0:
        return array
    # 0 stands for a hidden unit that is absent, beyond the size of the layer.
    low, high = min(unit.states[0], 0.0), unit.states[-1]
    least, most = float(array.min()), float(array.max())
    if least < low or most > high:
        worst = least if least < low else most
        raise ValueError(
            f"{name} holds {worst:g}, outside [{low:g}, {high:g}] of {type(unit).__name__} units: "
            f"map the data first, e.g. by {type(unit).__name__}().encode(data)."
        )
    zero_one = kind == "visible" and 0 not in unit.states and (least, most) == (0, 1)
    if zero_one and bool(((array == 0) | (array == 1)).all()):
        warnings.warn(
            f"{name} holds only 0 and 1, but the visible units are {type(unit).__name__} "
            f"with values {unit.states}; 0 is taken as a mean value. "
            f"For 0/1 data use {type(unit).__name__}().encode(data).",
            stacklevel=4,
        )
    return array


def layer_size(name: str, value: Values, size: int, batch: tuple[int, ...]) -> Sizes:
    """Layer sizes, whole numbers from 1 to K, one for each entry of the batch."""
    array = value if isinstance(value, Array) else jnp.asarray(np.asarray(value))
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(
            f"{name} has dtype {array.dtype}: layer sizes are whole numbers; "
            "round first, e.g. by jnp.ceil(z).astype(int)."
        )
    if _is_concrete(array) and array.size and not bool(((array >= 1) & (array <= size)).all()):
        values = np.asarray(array)
        worst = values[(values < 1) | (values > size)].flat[0]
        raise ValueError(f"{name} holds {worst}: a layer size lies between 1 and K = {size}.")
    try:
        return jnp.broadcast_to(array, batch)
    except ValueError as error:
        raise ValueError(
            f"{name} has shape {array.shape}, which does not fit the batch {batch}: "
            "pass one size, or one for each row."
        ) from error


def unit_type(name: str, value: Any) -> Unit:
    """A unit type; spins where none is given."""
    if value is None:
        return Spin()
    if not isinstance(value, Unit):
        raise TypeError(f"{name} is {value!r}: pass a unit type such as vrbm.Spin().")
    return value


def count(name: str, value: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}: pass a whole number of at least 1.")
    return int(value)


def scale(name: str, value: Any) -> float:
    """A finite standard deviation, 0 allowed."""
    if not isinstance(value, int | float | np.number) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} is {value!r}: pass a finite number of at least 0.")
    return float(value)


def _is_concrete(array: Array) -> bool:
    return not isinstance(array, jax.core.Tracer)
