"""How the user's numbers become values of 0/1 units, and back."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import DataConversionWarning

from vrbm.data.dataset import Domain


@dataclass(frozen=True, eq=False)
class Coding:
    """Column i of the data runs from `low[i]`, the value 0 of a unit, to `high[i]`, its value 1."""

    kind: str
    """±1, 0/1, [0, 1] or scaled"""
    low: np.ndarray
    high: np.ndarray

    @property
    def domain(self) -> Domain:
        """What the encoded rows hold: states, or means too."""
        return Domain.BINARY if self.kind in (Domain.SPIN, Domain.BINARY) else Domain.UNIT

    def encode(self, X: np.ndarray) -> np.ndarray:
        """Rows in [0, 1], NaN where they have none; values outside the coding are errors.

        Scaled columns have no states to compare with: what lies outside their range is cut.
        """
        if self.kind == "scaled":
            return np.clip((X - self.low) / (self.high - self.low), 0, 1).astype(X.dtype)
        allowed = np.abs(X) == 1 if self.kind == Domain.SPIN else (X >= 0) & (X <= 1)
        bad = ~(allowed | np.isnan(X))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"X holds {X[row, column]:g} in row {row}, column {column}, but the model was "
                f"fitted to data in {self.kind}: pass data in the same coding."
            )
        return (X + 1) / 2 if self.kind == Domain.SPIN else X

    def decode(self, v: np.ndarray) -> np.ndarray:
        """Values or means of units in the coding of the data."""
        return (self.low + v * (self.high - self.low)).astype(v.dtype)

    def accepts(self, X: np.ndarray) -> "Coding":
        """The same coding, or a wider one, for further data of a model that was begun with it."""
        known = X[~np.isnan(X)]
        if self.kind == Domain.BINARY and _within(known) and not np.isin(known, (0, 1)).all():
            return Coding(Domain.UNIT, self.low, self.high)
        return self


def _within(known: np.ndarray) -> bool:
    """Whether all numbers lie in [0, 1]."""
    return bool(((known >= 0) & (known <= 1)).all())


def find(X: np.ndarray) -> Coding:
    """±1, 0/1 or [0, 1], whichever the numbers fit; else each column scaled, with a warning.

    Only −1 and 1 make ±1, only 0 and 1 make 0/1; nothing but ones counts as 0/1. A constant column
    of other data is the value 0 of its unit.
    """
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise ValueError(
            f"X has no value in column {int(empty.argmax())}, only NaN: leave the column out."
        )
    known = X[~np.isnan(X)]
    ends = np.isin(known, (-1, 1))
    width = X.shape[1]
    if ends.all() and (known == -1).any():
        return Coding(Domain.SPIN, np.full(width, -1.0), np.ones(width))
    if _within(known):
        kind = Domain.BINARY if np.isin(known, (0, 1)).all() else Domain.UNIT
        return Coding(kind, np.zeros(width), np.ones(width))
    warnings.warn(
        f"X holds {known.min():g} … {known.max():g}, neither ±1 nor within [0, 1]: each column is "
        "scaled to [0, 1] by its smallest and largest value. Scale or threshold the data yourself "
        "to choose otherwise.",
        DataConversionWarning,
        stacklevel=6,
    )
    low, high = np.nanmin(X, axis=0).astype(float), np.nanmax(X, axis=0).astype(float)
    with np.errstate(over="ignore"):
        # Beyond 2^53 the next number is more than 1 away.
        high = np.where(high > low, high, low + np.maximum(1, np.spacing(np.abs(low))))
        wide = ~np.isfinite(high - low)
    if wide.any():
        column = int(wide.argmax())
        raise ValueError(
            f"X runs from {low[column]:g} to {high[column]:g} in column {column}, a range beyond "
            "the largest float: divide the column first."
        )
    return Coding("scaled", low, high)
