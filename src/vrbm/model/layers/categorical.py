"""Units of several colours."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from vrbm.model import random
from vrbm.model.layers.unit import Unit
from vrbm.model.linear import dot
from vrbm.printable import brief
from vrbm.typing import Field, RandomKey, Values

#: How far the values of a unit may be from a sum of 1.
ROUNDING = 1e-3


class Categorical(Unit):
    r"""s is one of q colours, in q values of which one is 1 and all others are 0 (one-hot).

    Γ(x) = log Σ_k e^{x_k}, ⟨s_k⟩ = e^{x_k − Γ(x)}. A layer of sites × colours has N = sites·q
    values, those of a site side by side. For the visible layer.
    """

    states = (0.0, 1.0)

    colours: int = eqx.field(static=True)
    """q"""

    def __init__(self, colours: int | np.integer) -> None:
        if isinstance(colours, bool) or not isinstance(colours, int | np.integer) or colours < 2:
            raise ValueError(f"colours is {colours!r}: pass a whole number of at least 2.")
        self.colours = int(colours)

    @property
    def per_unit(self) -> int:
        """q."""
        return self.colours

    @property
    def choices(self) -> np.ndarray:
        """The one-hot rows, (q, q)."""
        return np.eye(self.colours)

    def one_hot(self, rows: Values) -> np.ndarray:
        """Colours 0 … q − 1 of rows (…, sites) as values of this layer, int8 (…, sites·q)."""
        given = np.asarray(rows)
        bad = given.ravel()
        if given.dtype.kind in "biuf":
            bad = given[~np.isin(given, np.arange(self.colours))]
        if bad.size:
            raise ValueError(
                f"rows hold {brief(str(bad[0]))}: pass whole numbers from 0 to {self.colours - 1}, "
                f"the colours of {self.colours}."
            )
        hot = np.eye(self.colours, dtype=np.int8)[given.astype(int)]
        return hot.reshape(*given.shape[:-1], given.shape[-1] * self.colours)

    def colours_of(self, v: Values) -> np.ndarray:
        """The colours of rows (…, N) of this layer, or the most likely ones of means."""
        return self._by_site(np.asarray(v)).argmax(axis=-1)

    def check(self, name: str, rows: np.ndarray) -> None:
        """Raise unless the values of each site sum to 1."""
        if rows.shape[-1] % self.colours:
            raise ValueError(
                f"{name} has {rows.shape[-1]} values in a row, which is no multiple of the "
                f"{self.colours} colours: pass rows of one-hot sites, as Categorical.one_hot makes."
            )
        sites = rows.shape[-1] // self.colours
        sums = self._by_site(rows).sum(axis=-1, dtype=float).reshape(-1, sites)
        bad = np.argwhere(np.abs(sums - 1) > ROUNDING)
        if bad.size:
            row, site = bad[0]
            raise ValueError(
                f"{name} has values that sum to {sums[row, site]:g} in row {row}, site {site}: of "
                f"the {self.colours} values of a site one is 1 and the others are 0. "
                "Categorical.one_hot makes such rows of colours."
            )

    def shares(self, v: Any) -> Any:
        """The values themselves, by site: (…, sites, q)."""
        return self._by_site(v)

    def cumulant(self, x: Field) -> Field:
        """Γ(x) = log Σ_k e^{x_k}, (…, sites)."""
        return logsumexp(self._by_site(x), axis=-1)

    def mean(self, x: Field) -> Field:
        """⟨s_k⟩ = e^{x_k} / Σ_l e^{x_l}."""
        return jax.nn.softmax(self._by_site(x), axis=-1).reshape(x.shape)

    def field(self, mean: Field) -> Field:
        """x_k = log⟨s_k⟩; fields are defined up to a constant of each site."""
        return jnp.log(mean)

    def residual(self, value: Field, x: Field) -> Field:
        """s_k − ⟨s_k⟩, where s_k is 1 as −Σ_{l≠k} of the others, so that it keeps its digits."""
        mean = self._by_site(self.mean(x))
        others = dot(mean, 1 - jnp.eye(self.colours, dtype=mean.dtype))
        s = self._by_site(value)
        return (s * others - (1 - s) * mean).reshape(value.shape)

    def nearest(self, value: Field) -> Field:
        """The colour of the largest value, one-hot."""
        return self._hot(self._by_site(value).argmax(axis=-1), value)

    def sample(self, key: RandomKey, x: Field) -> Field:
        """Colour k where u lies between the sums of ⟨s⟩ up to k − 1 and up to k, u in (0, 1]."""
        sums = jnp.cumsum(self._by_site(self.mean(x)), axis=-1)
        u = random.uniform(key, (*sums.shape[:-1], 1), x.dtype)
        # Not 1 but their sum, which rounding leaves below: else the last colour would get the rest.
        return self._hot((sums[..., :-1] < u * sums[..., -1:]).sum(axis=-1), x)

    def field_of_data(self, mean: Field, rows: int) -> Field:
        """The fields that give free units the mean of `rows` samples, and one of no preference."""
        return self.field((rows * mean + 1 / self.colours) / (rows + 1))

    def _by_site(self, v: Any) -> Any:
        return v.reshape(*v.shape[:-1], -1, self.colours)

    def _hot(self, colour: Any, like: Field) -> Field:
        return jax.nn.one_hot(colour, self.colours, dtype=like.dtype).reshape(like.shape)
