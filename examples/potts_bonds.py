"""Sites of five colours, ten bonds between them: units of a categorical layer find the bonds.

    python examples/potts_bonds.py

Ten pairs of thirty sites agree in two rows of three; all else is chance. The run finds its size,
and the strengths of couplings between sites tell bonds from other pairs.
"""

import jax
import numpy as np
from sklearn.metrics import roc_auc_score

import vrbm
from vrbm.evaluation import unit_couplings
from vrbm.training import Config, train
from vrbm.training.beginning import initial

SITES, COLOURS, BONDS, ROWS = 30, 5, 10, 2000


def main(epochs: int | None = None) -> tuple[int, float]:
    """Draw, train, compare: the size that is found, and the area under the ROC curve."""
    random = np.random.default_rng(0)
    ends = random.permutation(SITES)[: 2 * BONDS].reshape(BONDS, 2)
    drawn = random.integers(0, COLOURS, (ROWS, SITES))
    for i, j in ends:
        drawn[:, j] = np.where(random.random(ROWS) < 2 / 3, drawn[:, i], drawn[:, j])

    layer = vrbm.Categorical(COLOURS)
    rows = layer.one_hot(drawn)  # (2000, 150)
    model = initial(
        rows.astype(np.float32), 32, vrbm.Reservoir(), np.random.RandomState(0), visible=layer
    )
    *_, last = train(model, rows, Config(epochs), jax.random.key(0))

    strengths = unit_couplings(last.state.model)
    is_bond = np.zeros((SITES, SITES), bool)
    is_bond[ends[:, 0], ends[:, 1]] = is_bond[ends[:, 1], ends[:, 0]] = True
    pairs = np.triu_indices(SITES, 1)
    auc = roc_auc_score(is_bond[pairs], strengths[pairs])
    size = last.state.model.max_hidden
    print(f"{size} hidden units")
    print(f"a bond is stronger than another pair with probability {auc:.3f}")
    return size, auc


if __name__ == "__main__":
    main()
