"""Models to begin with, for the estimators and for `vrbm train`."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from vrbm import memory
from vrbm.model import Binary, GrandCanonicalRBM, Potential, Unbounded, Unit, layer_size
from vrbm.training import growth

#: Units to begin with for each column, and at most so many in all.
UNITS_PER_COLUMN, MOST_UNITS = 7, 512
#: The price of a unit, in nats.
PRICE = 0.2
#: Standard deviation of the initial weights; hidden biases begin at 0.
WEIGHT_SCALE = 0.01
#: Rows by whose means visible biases begin, where there are more.
MEAN_ROWS = 100_000
#: The fewest units that are off behind the others.
FEWEST_SPARE = 32


def first_units(columns: int) -> int:
    """Units of a layer that is not told its size."""
    return min(UNITS_PER_COLUMN * columns, MOST_UNITS)


def default_potential(price: float = PRICE) -> Potential:
    """The price of a unit in a layer without an end, which units in use pay from log 2 too."""
    return Unbounded(mu=price, absorb_log2=False)


def initial(
    rows: np.ndarray,
    units: int,
    potential: Potential,
    random: np.random.RandomState,
    *,
    weights: np.ndarray | None = None,
    visible: Unit | None = None,
    hidden: Unit | None = None,
    weight_scale: float = WEIGHT_SCALE,
    bias_scale: float = 0.0,
) -> GrandCanonicalRBM:
    """Small random weights, and visible biases from the means of the columns of rows (n, N).

    Rows are in [0, 1], with NaN for missing entries, and have weights (n,) or none.
    """
    visible = Binary() if visible is None else visible
    n, columns = rows.shape
    dtype = jax.dtypes.canonicalize_dtype(rows.dtype)
    memory.require(
        3 * units * columns * dtype.itemsize,
        f"a model with {units} hidden units and {columns} columns",
        "take fewer units",
    )
    low, high = visible.states[0], visible.states[-1]
    known = ~np.isnan(rows)
    share = known * (np.ones(n) if weights is None else weights)[:, None]
    mean = (share * np.where(known, rows, 0)).sum(axis=0) / share.sum(axis=0)
    c = field_of_data(visible, (low + (high - low) * mean).astype(dtype), n)
    W = weight_scale * random.standard_normal((units, columns))
    b = bias_scale * random.standard_normal(units) if bias_scale else np.zeros(units)
    hidden = Binary() if hidden is None else hidden
    return GrandCanonicalRBM(W.astype(dtype), b.astype(dtype), c, visible, hidden, potential)


@eqx.filter_jit
def field_of_data(visible: Unit, mean: Any, rows: int) -> Any:
    """`Unit.field_of_data` as one program."""
    return visible.field_of_data(mean, rows)


def with_spare_units(
    model: GrandCanonicalRBM, random: np.random.RandomState, most: int | None
) -> GrandCanonicalRBM:
    """The model with units that are off behind the others, so that it need not grow at once."""
    # Few sizes, so that a search over prices compiles few programs.
    spare = max(FEWEST_SPARE, growth.spare(float(model.chemical_potential())))
    stored = model.max_hidden + (1 << (spare - 1).bit_length())
    stored += -stored % layer_size.BLOCK  # else steps take a sixth longer
    count = max(0, (stored if most is None else min(stored, most)) - model.max_hidden)
    dtype = model.W.dtype
    W = WEIGHT_SCALE * random.standard_normal((count, model.n_visible))
    W = np.concatenate([model.W, W.astype(dtype)])
    b = np.concatenate([model.b, np.full(count, model.potential.seed_bias, dtype)])
    return GrandCanonicalRBM(W, b, model.c, model.visible, model.hidden, model.potential)
