"""Random models small enough for enumeration, of every potential and unit type."""

import numpy as np

import vrbm
from tests.model.oracle import POTENTIALS, UNITS

PAIRS = [(visible, hidden) for visible in UNITS for hidden in ("spin", "binary")]


def random_model(
    visible="spin", hidden="spin", potential="absorbed", *, seed=0, n=8, k=6, scale=1.0
):
    rng = np.random.default_rng(seed)
    n *= len(UNITS[visible][1][0])
    return vrbm.GrandCanonicalRBM(
        scale * rng.normal(size=(k, n)),
        rng.normal(size=k),
        rng.normal(size=n),
        UNITS[visible][0](),
        UNITS[hidden][0](),
        POTENTIALS[potential][0],
    )


def exact_draws(model, n, seed=0):
    p = np.asarray(vrbm.exact.visible_probabilities(model))
    states = vrbm.exact.states(model.visible, model.n_visible)
    return states[np.random.default_rng(seed).choice(len(p), n, p=p / p.sum())]
