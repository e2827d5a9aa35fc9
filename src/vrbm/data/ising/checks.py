"""Input checks of the lattice functions: sentences that name argument, value and remedy."""

from math import isqrt
from typing import Any

import numpy as np

from vrbm import memory
from vrbm.typing import Numbers, Spins, Values


def side(L: Any, most: int | None = None, remedy: str = "") -> int:
    """The side of the lattice, a whole number from 2 to `most`."""
    if isinstance(L, bool) or not isinstance(L, int | np.integer) or L < 2:
        raise ValueError(f"L is {L!r}: pass the side of the lattice, a whole number of at least 2.")
    if most is not None and most < L:
        raise ValueError(f"L is {L}, and the limit here is {most}: {remedy}.")
    return int(L)


def count(name: str, value: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}: pass a whole number of at least 1.")
    return int(value)


def seed(value: Any) -> int:
    """A whole number from 0 to 2⁶³ − 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < 2**63:
        raise ValueError(f"seed is {value!r}: pass a whole number from 0 to 2⁶³ − 1.")
    return int(value)


def memory_for(n: int, L: int) -> None:
    """Raise a sentence if n configurations of L×L spins do not fit in the memory at hand."""
    memory.require(
        n * (3 * L * L + 8 * L + 32), f"drawing {n} configurations of {L}×{L} spins", "draw fewer"
    )


def coupling(J: Any) -> float:
    """The energy of a bond, finite and not zero."""
    if isinstance(J, bool) or not isinstance(J, int | float | np.number) or not np.isfinite(J):
        raise ValueError(f"J is {J!r}: pass a finite number.")
    if J == 0:
        raise ValueError("J is 0, i.e. the spins are free: pass a coupling of either sign.")
    return float(J)


def temperatures(name: str, value: Values, J: float) -> Numbers:
    """Temperatures T > 0 for which |J|/T neither overflows nor vanishes, (…)."""
    T = np.asarray(value, np.float64)
    if T.size == 0:
        raise ValueError(f"{name} is empty: pass at least one temperature.")
    wrong = ~(np.isfinite(T) & (T > 0))
    if wrong.any():
        raise ValueError(
            f"{name} holds {T[wrong].flat[0]:g}: pass finite temperatures above 0, "
            "in units of energy (k_B = 1)."
        )
    K = abs(J) / T
    wrong = (K < 1e-50) | (K > 1e50)
    if wrong.any():
        raise ValueError(
            f"{name} holds {T[wrong].flat[0]:g} for J = {J:g}: pass temperatures for which "
            "|J|/T lies between 1e-50 and 1e50."
        )
    return T


def temperature(value: Any, J: float) -> float:
    """One temperature."""
    T = temperatures("temperature", value, J)
    if T.ndim:
        raise ValueError(f"temperature has shape {T.shape}: pass one number.")
    return float(T)


def configurations(value: Values) -> Spins:
    """Spins ±1 of square lattices, (…, L²)."""
    array = np.asarray(value)
    if array.ndim == 0 or array.shape[-1] < 4 or isqrt(array.shape[-1]) ** 2 != array.shape[-1]:
        raise ValueError(
            f"configurations has shape {array.shape}: pass lattices that are flattened row by row, "
            "with L² spins on the last axis and L of at least 2."
        )
    if not ((array == 1) | (array == -1)).all():
        wrong = array[(array != 1) & (array != -1)].flat[0]
        raise ValueError(f"configurations holds {wrong}: pass spins ±1, e.g. 2 * x - 1 for 0/1.")
    return array.astype(np.int8, copy=False)
