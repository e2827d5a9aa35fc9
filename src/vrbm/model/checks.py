"""Input checks of the model's public methods: sentences that name argument, value and remedy.

Shapes and types are checked always; values only when they are there, i.e. not for arguments that
jit, grad or vmap trace. Values are looked at in numpy, so that a check never enters a trace.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vrbm.model.layers import Unit
from vrbm.typing import Field, RandomKey, Sizes, Values


def numbers(name: str, value: Values, dtype: Any) -> Field:
    """Real, finite numbers as an array of the given floating type."""
    if not isinstance(value, Tracer):
        value = host_numbers(name, value)
        if not np.isfinite(value).all():
            bad = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
            raise ValueError(
                f"{name} holds {value[bad]} at index {bad}: "
                "remove or fill in values that are not finite."
            )
        # A copy in the right type leaves JAX nothing to compile.
        return jax.device_put(np.array(value, dtype))
    if not _is_real(value.dtype):
        raise ValueError(f"{name} has dtype {value.dtype}: pass real numbers.")
    return jnp.asarray(value, dtype)


def host_numbers(name: str, value: Values) -> np.ndarray:
    """Real numbers in numpy."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error):
            raise ValueError(f"{name} is ragged: pass rows of equal length.") from error
        raise ValueError(f"{name} is {value!r}: pass real numbers.") from error
    if not _is_real(array.dtype):
        raise ValueError(f"{name} has dtype {array.dtype}: pass real numbers.")
    return array


def layer(name: str, value: Values, unit: Unit, size: int, dtype: Any, kind: str) -> Field:
    """Values of a layer, (…, size): states of its units or mean values between them."""
    array = numbers(name, value, dtype)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(
            f"{name} has shape {array.shape}, but the model has {size} {kind} units: "
            f"pass an array whose last axis has length {size}."
        )
    if isinstance(value, Tracer) or array.size == 0:
        return array
    host = np.asarray(value)
    least, most = float(host.min()), float(host.max())
    # A hidden unit beyond the size of the layer is absent, and stored as 0.
    low, high = min(unit.states[0], 0.0), unit.states[-1]
    if least < low or most > high:
        raise ValueError(
            f"{name} holds {least if least < low else most:g}: values of {type(unit).__name__} "
            f"units lie in [{low:g}, {high:g}]; rescale or recode them first."
        )
    unit.check(name, host)
    suspect = kind == "visible" and 0 not in unit.states and (least, most) == (0, 1)
    if suspect and np.isin(host, (0, 1)).all():
        warnings.warn(
            f"{name} holds only 0 and 1, but the visible units are {type(unit).__name__} "
            f"with values {unit.states}; 0 is taken as a mean value. "
            f"For 0/1 data use {type(unit).__name__}().encode(data).",
            stacklevel=4,
        )
    return array


def layer_size(name: str, value: Values, size: int, batch: tuple[int, ...]) -> Sizes:
    """Layer sizes, whole numbers from 1 to K, one for each entry of the batch."""
    if not isinstance(value, Tracer):
        value = host_numbers(name, value)
    if not jnp.issubdtype(value.dtype, jnp.integer):
        raise ValueError(
            f"{name} has dtype {value.dtype}: layer sizes are whole numbers; "
            "round first, e.g. by jnp.ceil(z).astype(int)."
        )
    if not isinstance(value, Tracer) and ((value < 1) | (value > size)).any():
        worst = value[(value < 1) | (value > size)].flat[0]
        raise ValueError(f"{name} holds {worst}: pass layer sizes between 1 and K = {size}.")
    try:
        return jnp.broadcast_to(jnp.asarray(value, jnp.int32), batch)
    except ValueError as error:
        raise ValueError(
            f"{name} has shape {value.shape}, which does not fit the batch {batch}: "
            "pass one size, or one for each row."
        ) from error


def finite_prices(prices: jax.Array) -> jax.Array:
    """The prices of a model; a function μ(W, b) may have spoiled them, unseen in a trace."""
    if not np.isfinite(np.asarray(prices)).all():
        raise ValueError("potential returned a value that is not finite: prices are finite.")
    return prices


def random_key(value: Any) -> RandomKey:
    """A JAX random key, of either style."""
    if isinstance(value, jax.Array):
        typed = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
        if (typed and value.ndim == 0) or (value.dtype == jnp.uint32 and value.ndim == 1):
            return value
    raise ValueError(
        f"key is {type(value).__name__}, not one random key: pass jax.random.key(seed) as the "
        "first argument."
    )


def floating(name: str, value: Any) -> Any:
    """A floating type that JAX has in its present mode; None is its default."""
    default = jnp.zeros(0).dtype
    if value is None:
        return default
    try:
        dtype = np.dtype(value)
    except TypeError as error:
        raise ValueError(f"{name} is {value!r}: pass float32 or float64.") from error
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ValueError(f"{name} is {dtype}: pass float32 or float64.")
    if dtype == np.float64 != default:
        raise ValueError(
            f"{name} is float64, which JAX has switched off: "
            'run jax.config.update("jax_enable_x64", True) first.'
        )
    return dtype


def common_float(**values: Values) -> Any:
    """The floating type that holds all of them, of those that JAX has in its present mode.

    JAX's default where none is floating.
    """
    dtypes = [
        value.dtype if isinstance(value, jax.Array) else host_numbers(name, value).dtype
        for name, value in values.items()
    ]
    floats = [
        jax.dtypes.canonicalize_dtype(dtype)
        for dtype in dtypes
        if jnp.issubdtype(dtype, jnp.floating)
    ]
    return jnp.result_type(*floats) if floats else jnp.zeros(0).dtype


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}: pass a whole number of at least {least}.")
    return int(value)


def seed(value: Any) -> int:
    """A whole number that `jax.random.key` takes, from 0 to 2⁶³ − 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < 2**63:
        raise ValueError(f"seed is {value!r}: pass a whole number from 0 to 2⁶³ − 1.")
    return int(value)


def number(name: str, value: Any, least: float = -float("inf")) -> float:
    """A finite number of at least `least`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not least <= float(value) < float("inf")
        or float(value) == -float("inf")
    ):
        bound = "" if least == -float("inf") else f" of at least {least:g}"
        raise ValueError(f"{name} is {value!r}: pass a finite number{bound}.")
    return float(value)


def unit_type(name: str, value: Any) -> Unit:
    """A unit type."""
    if not isinstance(value, Unit):
        raise ValueError(f"{name} is {value!r}: pass a unit type such as vrbm.Spin().")
    return value


def _is_real(dtype: Any) -> bool:
    return any(jnp.issubdtype(dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_))
