"""Sizes of the hidden layer on data, and which units are in use."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vrbm.data.dataset import Domain
from vrbm.evaluation.blocks import Blocks
from vrbm.model import GrandCanonicalRBM, checks
from vrbm.model.potential import active_units, energy_quanta
from vrbm.typing import Numbers, Values


@dataclass(frozen=True, eq=False)
class SizeAverages:
    """Averages over rows of what is known about z given v."""

    rows: int
    mean_size: float
    """average of ⟨z⟩_v"""
    spread: float
    """standard deviation of ⟨z⟩_v from row to row"""
    probabilities: Numbers
    """average of p(z|v) for z = 1..K, (K,)"""
    by_label: dict[Any, "SizeAverages"] = field(default_factory=dict)
    """the same for the rows of each label"""

    @property
    def survival(self) -> Numbers:
        """Average of P(z ≥ a|v) for a = 1..K, (K,)."""
        return np.cumsum(self.probabilities[::-1])[::-1]


def average_sizes(
    model: GrandCanonicalRBM,
    data: Any,
    labels: Values | None = None,
    *,
    domain: Domain | None = None,
    block_rows: int | None = None,
) -> SizeAverages:
    """Σ_v q(v) ⟨z⟩_v [zAverage] and Σ_v q(v) p(z|v) [average_z_ConditionalProbability].

    q(v) weighs all rows of `data` (rows, N) equally; with `labels` (rows,), also those of each
    label. Rows are read block by block.
    """
    blocks = Blocks(model, data, domain, block_rows)
    names, label = np.zeros(1), np.zeros(len(blocks), int)
    if labels is not None:
        labels = np.asarray(labels)
        if labels.shape != (len(blocks),):
            raise ValueError(
                f"labels has shape {labels.shape}, but data has {len(blocks)} rows: "
                "pass one label for each row."
            )
        names, label = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(names), model.max_hidden + 2))  # of p(z|v), ⟨z⟩ and ⟨z⟩²
    start = 0
    for rows, count in blocks:
        probabilities, size = (np.asarray(x, np.float64)[:count] for x in _sizes(model, rows))
        chosen = label[start : start + count] == np.arange(len(names))[:, None]  # (labels, count)
        values = np.column_stack([probabilities, size, size**2])
        sums += chosen.astype(np.float64) @ values
        start += count
    counts = np.bincount(label)
    parts = {}
    if labels is not None:
        parts = {
            name: _averages(total, int(n))
            for name, total, n in zip(names.tolist(), sums, counts, strict=True)
        }
    return _averages(sums.sum(axis=0), len(blocks), parts)


@eqx.filter_jit
def _sizes(model: GrandCanonicalRBM, rows: Any) -> tuple[Any, Any]:
    v = jnp.asarray(rows, model.W.dtype)
    return model.size_probabilities(v), model.mean_size(v)


def _averages(
    sums: Numbers, rows: int, parts: dict[Any, SizeAverages] | None = None
) -> SizeAverages:
    *probabilities, size, square = sums / rows
    return SizeAverages(
        rows=rows,
        mean_size=float(size),
        spread=float(max(square - size**2, 0.0) ** 0.5),
        probabilities=np.asarray(probabilities),
        by_label=parts or {},
    )


class RowAverages(NamedTuple):
    """The two scales of each hidden unit; a unit that only pays for μ has the first near 0."""

    weights: Numbers
    """(1/N) Σ_i |w_ai|, (K,)"""
    biases: Numbers
    """|b_a|, (K,)"""


def row_averages(model: GrandCanonicalRBM) -> RowAverages:
    """(1/N) Σ_i |w_ai| [AbsoluteWeightAverage] against |b_a|, for a = 1..K."""
    return RowAverages(
        np.abs(np.asarray(model.W, np.float64)).mean(axis=1), np.abs(np.asarray(model.b, float))
    )


class EffectiveUnits(NamedTuple):
    """Three quantities that the paper calls K_eff (docs/theory.md, slip 12), without data."""

    smooth: float
    """Σ_a tanh ℰ_a; biases count too"""
    by_weights: int
    """units whose row average of |w| is above a fraction of the largest"""
    last_by_weights: int
    """number of the last such unit: weights vanish beyond"""


def effective_units(
    model: GrandCanonicalRBM, *, p: float = 1.0, fraction: float = 0.1
) -> EffectiveUnits:
    """K_eff by the paper's smooth counter, with the power p of ℰ_a, and by weights."""
    p = checks.number("p", p, 1.0)
    if not 0 <= checks.number("fraction", fraction, 0.0) < 1:
        raise ValueError(f"fraction is {fraction!r}: pass a number from 0 to below 1.")
    weights = row_averages(model).weights
    used = np.flatnonzero(weights > fraction * weights.max())
    return EffectiveUnits(
        smooth=float(active_units(energy_quanta(model.W, model.b, p))),
        by_weights=used.size,
        last_by_weights=int(used[-1]) + 1 if used.size else 0,
    )
