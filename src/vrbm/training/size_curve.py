r"""The likelihood of held-out rows as a function of the size of a layer, from noisy measurements.

Each additional unit is worth less than the one before: in a layer that exchanges units with a
reservoir the chemical potential μ(K) = L(K) − L(K − 1) falls with K, or the size would not be
stable. So L is concave, and the concave curve nearest to the measured values removes most of their
noise (Hildreth 1954). A layer that overfits has a lower L than a smaller one; it could be as good,
since units may be off, and counts as such. Theory: docs/theory.md, "Units in exchange with a
reservoir".
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import lsq_linear

from vrbm.typing import Numbers

#: What a smaller layer may lose: a part of what the best one gains over no unit at all, and nats a
#: row that are of no use to anyone, by which trained layers differ by chance.
TOLERANCE, NEGLIGIBLE = 0.0075, 0.02
#: Larger layers are tried while a doubling gains more than this part of what may be lost.
WORTHWHILE = 0.5
#: How far apart sizes are that are measured around the one sought, relative to it.
SPACING = 0.1


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

    def fitted(self) -> tuple[Numbers, Numbers]:
        """Sizes K in rising order, and the concave curve that never falls nearest to L there.

        Layers larger than the best one count as equally good.
        """
        sizes = np.asarray(self.sizes, float)
        K, where, counts = np.unique(sizes, return_inverse=True, return_counts=True)
        L = np.bincount(where, self.values) / counts
        used = slice(0, int(L.argmax()) + 1)
        smooth = concave(K[used], L[used], counts[used].astype(float))
        return K, np.interp(K, K[used], smooth)

    def least(self, at_none: float) -> float:
        """What a layer must have, given L without any unit."""
        highest = float(self.fitted()[1][-1])
        return highest - TOLERANCE * max(0.0, highest - at_none) - NEGLIGIBLE

    def is_rising(self, at_none: float) -> bool:
        """Whether the largest layer is worth its units, compared with one of half the size."""
        K, L = self.fitted()
        before = np.interp(K[-1] / 2, np.append(0, K), np.append(at_none, L))
        return bool(L[-1] - before > WORTHWHILE * (L[-1] - self.least(at_none)))

    def smallest(self, at_none: float) -> int:
        """The smallest size at which a concave curve through the fitted points can be enough.

        Between two points such a curve runs below the lines through the two before, and through the
        two behind them.
        """
        K, L = self.fitted()
        K, L = np.append(0, K), np.append(min(at_none, L[0]), L)
        least = self.least(at_none)
        slopes = np.diff(L) / np.diff(K)
        first = int(np.argmax(least <= L))
        if first == 0:
            return int(K[1])
        steepest = slopes[max(0, first - 2) : first].max()
        size = K[first - 1] + (least - L[first - 1]) / steepest
        if first < len(slopes) and slopes[first] > 0:
            size = max(size, K[first] - (L[first] - least) / slopes[first])
        return int(min(K[first], np.ceil(size - 1e-6)))

    def next_size(self, at_none: float, most: int) -> int:
        """The size, at most `most`, from which most is to be learned.

        Twice the largest, or half the smallest, until the size sought is between two that were
        measured; then that size and its neighbours, whichever was measured least often.
        """
        smallest, largest = min(self.sizes), max(self.sizes)
        if largest < most and self.is_rising(at_none):
            return min(2 * largest, most)
        if self.fitted()[1][0] >= self.least(at_none) and smallest > 1:
            return smallest // 2
        size = self.smallest(at_none)
        step = max(1, round(SPACING * size))
        around = (size, max(1, size - step), min(size + step, most))
        return min(around, key=self.sizes.count)


def concave(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """The concave function that never falls with the least squares Σ w (f − y)², at rising x.

    f = α − Σ_j γ_j max(0, x_j − x) with γ ≥ 0, over all points but the first.
    """
    x = (x - x[0]) / max(x[-1] - x[0], 1e-300)
    basis = np.column_stack([np.ones_like(x), -np.maximum(0, x[None, 1:] - x[:, None])])
    root = np.sqrt(weights)
    least = np.append(-np.inf, np.zeros(len(x) - 1))
    centre = np.average(y, weights=weights)
    found = lsq_linear(basis * root[:, None], (y - centre) * root, (least, np.inf), tol=1e-12)
    return np.asarray(basis @ found.x + centre)
