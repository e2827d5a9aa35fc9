"""What the record of an epoch says about the model, measured on a fixed part of the data."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.data.dataset import Dataset, Domain
from vrbm.model import GrandCanonicalRBM, layer_size
from vrbm.model.potential import active_units, energy_quanta
from vrbm.training import error, window
from vrbm.training.config import Config
from vrbm.training.guards import phase
from vrbm.training.negative import MeanField
from vrbm.training.source import encoded
from vrbm.typing import RandomKey, Scalar


@dataclass(frozen=True)
class Measures:
    """Measures that the device may still be at work on."""

    width: int
    """Units beyond are cut."""
    measured: list[dict[str, Scalar]]
    """of the training and of the held-out rows"""


class Monitor:
    """Measures models on some rows of the training and of the held-out data."""

    def __init__(self, model: GrandCanonicalRBM, data: Dataset, config: Config) -> None:
        heldout = data.validation if data.validation is not None else data.test
        part = partial(some, model, domain=data.domain, count=config.monitor_rows)
        train = part(data.train)
        self.constant_columns = 0
        if len(train) > 1 and model.visible.per_unit == 1:
            self.constant_columns = int((train == train[0]).all(axis=0).sum())
        self.rows = jax.device_put([train] if heldout is None else [train, part(heldout)])
        """some training rows, and some held-out ones where there are any"""
        self.visible = model.visible
        self.window = config.window
        self.kernel = config.negative.reconstruction()
        self.width: int | None = None

    def begin(self, model: GrandCanonicalRBM, key: RandomKey) -> Measures | None:
        """Set the device to work, on a layer cut where the last one was; None for the first."""
        return None if self.width is None else self._look(model, key, self.width)

    def finish(
        self,
        model: GrandCanonicalRBM,
        key: RandomKey,
        look: Measures | None,
        largest_steps: np.ndarray | None,
    ) -> tuple[dict[str, Any], list[float]]:
        """The part of the record that is about the model, whose largest steps s̄_a may be known.

        Beside it the mean free energies of the training rows and of the held-out ones. A layer that
        was to be cut elsewhere is measured again.
        """
        needed = window.enough(model, largest_steps) if self.window else model.max_hidden
        self.width = window.fitting(model.max_hidden, needed)
        if look is None or look.width != self.width:
            look = self._look(model, key, self.width)
        train, *other = jax.device_get(look.measured)
        facts = {
            "error_train": float(train["error"]),
            "error_heldout": float(other[0]["error"]) if other else None,
            "mean_size": float(train["size"]),
            "mu": float(train["mu"]),
            "active_units": float(train["active"]),
            "free_energy_gap": float(train["free_energy"] - other[0]["free_energy"])
            if other
            else None,
            "phase": phase(model, float(train["size"]), float(train["mu"]), float(train["full"])),
        }
        return facts, [float(part["free_energy"]) for part in (train, *other)]

    def free_energies(self, model: GrandCanonicalRBM, key: RandomKey) -> tuple[int, list[float]]:
        """Those of the training and held-out rows on average, and where the layer was cut."""
        needed = window.enough(model) if self.window else model.max_hidden
        width = window.fitting(model.max_hidden, needed)
        parts = jax.device_get(self._look(model, key, width).measured)
        return width, [float(part["free_energy"]) for part in parts]

    def _look(self, model: GrandCanonicalRBM, key: RandomKey, width: int) -> Measures:
        return Measures(width, measure(model, self.rows, key, self.kernel, width))


@eqx.filter_jit
def measure(
    model: GrandCanonicalRBM, parts: list[Any], key: RandomKey, kernel: MeanField, width: int
) -> list[dict[str, Scalar]]:
    """Averages over the rows of each part, of a layer cut at `width` units.

    The rest are nothing for any v. All rows are computed at once.
    """
    v = jnp.concatenate(parts).astype(model.W.dtype)
    view = window.narrow(model, model.prices(), width)
    y, _ = kernel.fields(view, v, key)
    sizes = view.response(v).sizes
    is_whole = width == model.max_hidden
    by_row = {
        "error": error.quadratic(model.visible.residual(v, y)),
        "size": layer_size.mean(sizes),
        "full": jnp.exp(sizes.log_last) if is_whole else jnp.zeros(len(v), v.dtype),
        "free_energy": view.free_energy(v),
    }
    of_all = {
        "mu": model.chemical_potential().mean(),
        "active": active_units(energy_quanta(model.W, model.b, 1.0)),
    }
    cuts = np.cumsum([len(rows) for rows in parts])[:-1]
    averages = {name: [part.mean() for part in jnp.split(x, cuts)] for name, x in by_row.items()}
    return [
        {name: found[number] for name, found in averages.items()} | of_all
        for number in range(len(parts))
    ]


def some(model: GrandCanonicalRBM, rows: np.ndarray, domain: Domain, count: int) -> np.ndarray:
    """At most `count` rows, evenly spaced, as values of the model's visible units."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int))
    return encoded(model.visible, rows[chosen], domain)
