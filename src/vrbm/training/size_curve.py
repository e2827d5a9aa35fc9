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


@dataclass(frozen=True)
class SizeCurve:
    """Mean log-likelihoods L of held-out rows in nats, measured at sizes K, one at each."""

    sizes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.values) != len(set(self.sizes)) or not np.isfinite(self.values).all():
            raise ValueError(
                f"sizes are {self.sizes}, values {self.values}: pass one finite value for each."
            )

    def measured(self, size: int, value: float) -> "SizeCurve":
        """The curve with one more value; a size measured before gets the new one."""
        points = {**dict(zip(self.sizes, self.values, strict=True)), size: value}
        return SizeCurve(list(points), list(points.values()))

    def fitted(self) -> dict[int, float]:
        """The concave curve nearest to max_{K' ≤ K} L(K'), at the sizes in rising order."""
        order = np.argsort(self.sizes)
        K = np.array(self.sizes, float)[order]
        L = np.maximum.accumulate(np.array(self.values)[order])
        smooth = concave(K, L) if len(K) > 2 else L
        return dict(zip(K.astype(int).tolist(), smooth.tolist(), strict=True))

    def highest(self) -> float:
        """The largest value of the fitted curve."""
        return max(self.fitted().values())

    def crossing(self, least: float) -> int:
        """The smallest size at which a concave curve through the fitted points can reach `least`.

        Between two points such a curve runs below the lines through the two before, and through the
        two behind them.
        """
        K, L = (np.array(x, float) for x in zip(*self.fitted().items(), strict=True))
        slopes = np.diff(L) / np.diff(K)
        first = int(np.argmax(least <= L))
        if first == 0:
            return int(K[0])
        steepest = slopes[max(0, first - 2) : first].max()
        size = K[first - 1] + (least - L[first - 1]) / steepest
        if first < len(slopes) and slopes[first] > 0:
            size = max(size, K[first] - (L[first] - least) / slopes[first])
        return int(min(K[first], np.ceil(size - 1e-6)))


def concave(x: Numbers, y: Numbers) -> Numbers:
    """The concave function with the least squares of its distances to y, at points x that rise.

    f = α + β x − Σ_j γ_j max(0, x − x_j) with γ ≥ 0, over the inner points x_j.
    """
    x = (x - x[0]) / (x[-1] - x[0])
    hinges = -np.maximum(0, x[:, None] - x[None, 1:-1])
    basis = np.column_stack([np.ones_like(x), x, hinges])
    least = np.concatenate([[-np.inf, -np.inf], np.zeros(len(x) - 2)])
    centre = y.mean()
    found = lsq_linear(basis, y - centre, (least, np.inf), tol=1e-12)
    return np.asarray(basis @ found.x + centre)
