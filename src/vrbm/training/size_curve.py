r"""The likelihood of held-out rows as a function of the size of a layer, from noisy measurements.

Each additional unit is worth less than the one before: in a layer that exchanges units with a
reservoir the chemical potential μ(K) = L(K) − L(K − 1) falls with K, or the size would not be
stable. So L is concave, and the concave curve nearest to the measured values removes most of their
noise (Hildreth 1954). A layer that overfits has a lower L than a smaller one; it could be as good,
since units may be off, and counts as such. Theory: docs/theory.md, "Units in exchange with a
reservoir".
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares, lsq_linear

from vrbm.typing import Numbers

#: What a smaller layer may lose: a part of what the best one gains over no unit at all, and nats a
#: row that are of no use to anyone, by which trained layers differ by chance.
TOLERANCE, NEGLIGIBLE = 0.0075, 0.02
#: Larger layers are tried while a doubling gains more than this part of what may be lost.
WORTHWHILE = 0.5
#: What a layer may lose counts against one so many times larger.
BEYOND = 3.0
#: Sizes this close to one another count as one where it is decided which is measured next.
NEAR = 1.25


@dataclass(frozen=True)
class SizeCurve:
    """Mean log-likelihoods L of held-out rows in nats, measured at sizes K, in turn."""

    sizes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.values) != len(self.sizes) or not np.isfinite(self.values).all():
            raise ValueError(
                f"sizes are {self.sizes}, values {self.values}: pass one finite value for each."
            )

    def measured(self, size: int, value: float) -> "SizeCurve":
        """The curve with one more value."""
        return SizeCurve([*self.sizes, size], [*self.values, value])

    @cached_property
    def fitted(self) -> tuple[Numbers, Numbers]:
        """Sizes K in rising order, and the concave curve nearest to L there.

        Where it falls, larger layers count as good as the best one.
        """
        order = np.argsort(self.sizes, kind="stable")
        sizes, values = np.asarray(self.sizes, float)[order], np.asarray(self.values)[order]
        K, first = np.unique(sizes, return_index=True)
        return K, np.maximum.accumulate(concave(sizes, values, NEGLIGIBLE)[first])

    def at(self, size: float) -> float:
        """L at a size, between those that were measured."""
        return float(np.interp(size, *self.fitted))

    def least(self, at_none: float, size: int) -> float:
        """What a layer must have that is to do as well as one `BEYOND` times this size.

        Given L without any unit.
        """
        return self.at(BEYOND * size) - self._allowed(at_none)

    def _allowed(self, at_none: float) -> float:
        """What a layer may lose."""
        return TOLERANCE * max(0.0, float(self.fitted[1][-1]) - at_none) + NEGLIGIBLE

    def is_rising(self, at_none: float) -> bool:
        """Whether the largest layer is worth its units, compared with one of half the size."""
        K, L = self.fitted
        before = np.interp(K[-1] / 2, np.append(0, K), np.append(at_none, L))
        return bool(L[-1] - before > WORTHWHILE * self._allowed(at_none))

    def smallest(self, at_none: float) -> int:
        """The smallest size such that it, and each larger one, loses no more than is allowed.

        Each is compared with a layer of `BEYOND` times as many units.
        """
        size = max(self.sizes)
        while (smaller := self._smallest(self.least(at_none, size), at_none)) < size:
            size = smaller
        return size

    def _smallest(self, least: float, at_none: float) -> int:
        """The smallest size at which a concave curve through the fitted points can have so much.

        Between two points such a curve runs below the lines through the two before, and through the
        two behind them.
        """
        K, L = self.fitted
        K, L = np.append(0, K), np.append(min(at_none, L[0]), L)
        slopes = np.diff(L) / np.diff(K)
        first = int(np.argmax(least <= L))
        if first == 0:
            return 1
        steepest = slopes[max(0, first - 2) : first].max()
        size = K[first - 1] + (least - L[first - 1]) / steepest
        if first < len(slopes) and slopes[first] > 0:
            size = max(size, K[first] - (L[first] - least) / slopes[first])
        return max(1, int(min(K[first], np.ceil(size - 1e-6))))

    def next_size(self, at_none: float, most: int) -> int:
        """The size, at most `most`, from which most is to be learned.

        Twice the largest while that is worthwhile, or half the smallest until twice of what is
        allowed is lost; then the size sought, or twice as many, whichever was measured less often.
        """
        smallest, largest = min(self.sizes), max(self.sizes)
        if largest < most and self.is_rising(at_none):
            return min(2 * largest, most)
        size = self.smallest(at_none)
        least = self.least(at_none, size)
        if smallest > 1 and self.at(smallest) > least - self._allowed(at_none):
            return smallest // 2
        return min((size, min(2 * size, most)), key=self._times_measured)

    def _times_measured(self, size: int) -> int:
        """How often this size or one near to it was measured."""
        return sum(size < NEAR * one and one < NEAR * size for one in self.sizes)


def concave(x: Numbers, y: Numbers, scale: float) -> Numbers:
    """The concave function with the least Σ √(1 + ((f − y)/scale)²), at rising x.

    f = α − Σ_j γ_j max(0, x_j − x) over all points but the first, with γ ≥ 0 but for the last.
    Errors far beyond the scale count in proportion, not by their squares: one layer that came out
    much better, or worse, than others of its size does not decide.
    """
    places = (x - x[0]) / max(x[-1] - x[0], 1e-300)
    knots = np.unique(places)
    basis = np.column_stack([np.ones_like(x), -np.maximum(0, knots[1:] - places[:, None])])
    least = np.zeros(len(knots))
    least[[0, -1]] = -np.inf
    centre = np.median(y)
    near = lsq_linear(basis, y - centre, (least, np.inf), tol=1e-12)
    found = least_squares(
        lambda parameters: basis @ parameters - (y - centre),
        np.maximum(near.x, least),
        jac=lambda _: basis,
        bounds=(least, np.inf),
        loss="soft_l1",
        f_scale=scale,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return np.asarray(basis @ found.x + centre)
