"""The annealing path of a model, cut where its last units are nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM, checks
from vrbm.model.path import Path
from vrbm.training import window
from vrbm.typing import Values, VisibleBias

__all__ = ["Path", "fields_of_mean", "path"]


def path(model: GrandCanonicalRBM, base: Values | None = None) -> Path:
    """The path of a model whose last units are cut off where they are nothing.

    `base` are the fields c₀, (N,); zero by default.
    """
    prices = checks.finite_prices(_prices(model))
    cut = window.narrow(model, prices, window.enough(model))
    if base is None:
        return Path(cut, jnp.zeros_like(model.c))
    c0 = checks.numbers("base", base, model.W.dtype)
    if c0.shape != model.c.shape:
        raise ValueError(
            f"base has shape {c0.shape}: pass one field for each of the {model.n_visible} visible "
            "units."
        )
    return Path(cut, c0)


_prices = eqx.filter_jit(GrandCanonicalRBM.prices)


def fields_of_mean(model: GrandCanonicalRBM, rows: Values) -> VisibleBias:
    """The fields c₀ that give free visible units the mean of rows (n, N), kept finite."""
    mean = jax.device_put(np.asarray(rows).mean(axis=0).astype(model.W.dtype))
    return eqx.filter_jit(model.visible.field_of_data)(mean, len(rows))
