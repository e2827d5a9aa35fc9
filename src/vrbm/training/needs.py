"""What a training run needs in memory, before any of it is allocated."""

from vrbm import memory
from vrbm.model import GrandCanonicalRBM
from vrbm.training.config import Config

#: Arrays of the size of W: the model, its gradient, an update, and up to three that steps keep.
COPIES = 6
#: Arrays (rows, K) of a step: fields, means and the distribution of sizes.
PER_ROW = 3


def require(model: GrandCanonicalRBM, rows: int, config: Config) -> None:
    """Raise a sentence if training cannot fit in the memory at hand."""
    n_hidden, n_visible = model.W.shape
    batch, chains = min(config.batch, rows), config.negative.states_kept
    weights = (COPIES + config.directions) * (n_hidden + 1) * (n_visible + 1)
    states = (batch + chains) * (n_visible + PER_ROW * n_hidden)
    memory.require(
        model.W.dtype.itemsize * (weights + states),
        f"training {n_hidden} hidden and {n_visible} visible units with batches of {batch} rows"
        + (f" and {chains} chains" if chains else ""),
        "take fewer units, smaller batches or fewer chains",
    )
