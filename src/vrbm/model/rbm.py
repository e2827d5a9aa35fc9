r"""The grand-canonical restricted Boltzmann machine: energies, free energies, conditionals."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm import memory
from vrbm.model import checks, layer_size
from vrbm.model.layer_size import SizeScan
from vrbm.model.layers import Spin, Unit
from vrbm.model.linear import dot
from vrbm.model.potential import Penalizing, Potential, as_potential
from vrbm.typing import (
    Batch,
    Hidden,
    HiddenBias,
    Price,
    RandomKey,
    Sizes,
    Values,
    Visible,
    VisibleBias,
    Weights,
)


class Response(NamedTuple):
    """The hidden layer given v: one product and one scan, from which all else follows."""

    v: Visible
    """(…, N)"""
    fields: Hidden
    """x_a = Σ_i w_ai v_i + b_a, (…, K)"""
    sizes: SizeScan
    """z given v"""
    mean: Hidden
    """⟨h_a⟩_v, (…, K)"""


class GrandCanonicalRBM(eqx.Module):
    r"""An RBM whose number of hidden units z = 1..K is a random variable.

    p(v, h, z) = e^{−E(v,h,z) − Σ_{a≤z} μ_a} / Z, where only the first z hidden units exist and μ_a
    are the `prices`: the chemical potential μ(W, b), plus log 2 where the potential absorbs it.

    Methods take any number of leading batch axes. `v` has shape (…, N) and may hold states or
    mean values; `h` has shape (…, K), and its entries beyond z count for nothing; `z` holds whole
    numbers from 1 to K.

    Parameters
    ----------
    W : (K, N)
        Weights w_ai.
    b : (K,)
        Hidden biases.
    c : (N,)
        Visible biases.
    visible, hidden
        Unit types of the two layers.
    potential
        The chemical potential, or a function μ(W, b).
    """

    W: Weights
    b: HiddenBias
    c: VisibleBias
    visible: Unit
    hidden: Unit
    potential: Potential

    def __init__(
        self,
        W: Values,
        b: Values,
        c: Values,
        visible: Unit = Spin(),
        hidden: Unit = Spin(),
        potential: Any = Penalizing(),
    ) -> None:
        dtype = checks.common_float(W=W, b=b, c=c)
        self.W = checks.numbers("W", W, dtype)
        self.b = checks.numbers("b", b, dtype)
        self.c = checks.numbers("c", c, dtype)
        self.visible = checks.unit_type("visible", visible)
        self.hidden = checks.unit_type("hidden", hidden)
        if self.hidden.per_unit > 1:
            raise ValueError(f"hidden is {self.hidden}: hidden units are Spin() or Binary().")
        # As an array a price is an argument of compiled programs, not a constant in them.
        self.potential = jax.tree.map(
            lambda leaf: jax.device_put(dtype.type(leaf)) if type(leaf) is float else leaf,
            as_potential(potential),
        )
        self.potential.check_hidden(self.hidden)
        if self.W.ndim != 2 or 0 in self.W.shape:
            raise ValueError(
                f"W has shape {self.W.shape}: pass a matrix (hidden, visible) with at least one "
                "row and one column."
            )
        for name, bias, axis in (("b", self.b, 0), ("c", self.c, 1)):
            if bias.shape != (self.W.shape[axis],):
                raise ValueError(
                    f"{name} has shape {bias.shape}, but W has shape {self.W.shape} "
                    f"(hidden, visible): pass {name} of shape ({self.W.shape[axis]},)."
                )
        if self.W.shape[1] % self.visible.per_unit:
            raise ValueError(
                f"W has {self.W.shape[1]} columns, which is no multiple of the "
                f"{self.visible.per_unit} values of each of the visible units {self.visible}: pass "
                "all values of all units."
            )

    @classmethod
    def initialize(
        cls,
        key: RandomKey,
        n_visible: int,
        max_hidden: int,
        *,
        data: Values | None = None,
        weight_scale: float = 1e-3,
        bias_scale: float = 1e-2,
        visible: Unit = Spin(),
        hidden: Unit = Spin(),
        potential: Any = Penalizing(),
        dtype: Any = None,
    ) -> "GrandCanonicalRBM":
        r"""Draw small random weights, hidden biases slightly off zero, and c from the data mean.

        w_ai ~ N(0, `weight_scale`²), b_a ~ N(0, `bias_scale`²): idle units need a bias off zero,
        since ∂|b| = 0 at 0 gives μ no hold on them. With `data` (n, N), c_i is the field in which
        a free visible unit has the mean of its column (`Unit.field_of_data`). Else c = 0.
        """
        n_visible = checks.count("n_visible", n_visible)
        max_hidden = checks.count("max_hidden", max_hidden)
        weight_scale = checks.number("weight_scale", weight_scale, 0.0)
        bias_scale = checks.number("bias_scale", bias_scale, 0.0)
        visible = checks.unit_type("visible", visible)
        dtype = checks.floating("dtype", dtype)
        memory.require(
            3 * max_hidden * n_visible * dtype.itemsize,
            f"a model with max_hidden = {max_hidden} and n_visible = {n_visible}",
            "take fewer units",
        )
        weight_key, bias_key = jax.random.split(checks.random_key(key))
        c = jnp.zeros(n_visible, dtype)
        if data is not None:
            values = visible.encode(data)
            visible.check("data", values)
            if values.ndim != 2 or values.shape[0] == 0 or values.shape[1] != n_visible:
                raise ValueError(
                    f"data has shape {values.shape}: pass at least one row of "
                    f"n_visible = {n_visible} values."
                )
            c = visible.field_of_data(jnp.asarray(values.mean(axis=0), dtype), len(values))
        return cls(
            weight_scale * jax.random.normal(weight_key, (max_hidden, n_visible), dtype),
            bias_scale * jax.random.normal(bias_key, (max_hidden,), dtype),
            c,
            visible,
            hidden,
            potential,
        )

    @property
    def n_visible(self) -> int:
        """N, the number of visible units."""
        return self.W.shape[1]

    @property
    def max_hidden(self) -> int:
        """K, the largest size of the hidden layer."""
        return self.W.shape[0]

    def chemical_potential(self) -> Price:
        """μ(W, b): one number, or (K,) for a potential with a price for each unit."""
        return self.potential.value(self.W, self.b, self.hidden)

    def prices(self) -> HiddenBias:
        """What each hidden unit costs in the size of the layer: μ_a, plus log 2 if absorbed."""
        return self.potential.prices(self.W, self.b, self.hidden)

    def energy(self, v: Values, h: Values, z: Values) -> Batch:
        """E = −Σ_{a≤z} h_a (w_a·v + b_a) − c·v [GrandCanonical_BoltzmannDistribution]."""
        v, (h, _) = self._visible(v), self._hidden(h, z)
        return -jnp.sum(h * self._fields(v), axis=-1) - dot(v, self.c)

    def free_energy(self, v: Values) -> Batch:
        """F(v) = −log Σ_{z≤K} e^{−F(v,z)}, (…,) [GrandCanonical:FreeEnergy_approx].

        For K → ∞ it is [GrandCanonical:FreeEnergy].
        """
        v = self._visible(v)
        return -dot(v, self.c) - self._sizes(v).log_norm

    def free_energy_by_size(self, v: Values) -> Hidden:
        """F(v, z) = −c·v − Σ_{a≤z} [Γ(x_a) − μ_a] for z = 1..K [GrandCanonical:FreeEnergy1a]."""
        v = self._visible(v)
        return -dot(v, self.c)[..., None] - self._sizes(v).log_weights

    def free_energy_hidden(self, h: Values, z: Values) -> Batch:
        """F(h, z) = Σ_{a≤z} (μ_a − h_a b_a) − Σ_i Γ(y_i) [GrandCanonical:FreeEnergy1b]."""
        h, z = self._hidden(h, z)
        # The size alone, with steps −μ_a: so a potential that forbids a size says so here too. In a
        # layer without an end the size K stands for all from K on.
        sizes = self.potential.sizes(-self.prices())
        log_weights = sizes.log_weights.at[-1].set(sizes.log_last + sizes.log_norm)[z - 1]
        y = dot(h, self.W) + self.c
        return -log_weights - dot(h, self.b) - self.visible.cumulant(y).sum(axis=-1)

    def expected_free_energy(self, v: Values) -> Batch:
        """⟨F(v, z)⟩ = Σ_z p(z|v) F(v, z) [AverageFreeEnergy]."""
        v = self._visible(v)
        sizes = self._sizes(v)
        terms = jnp.where(sizes.probabilities > 0, sizes.probabilities * sizes.log_weights, 0)
        idle = self.chemical_potential().mean() * sizes.beyond
        return -dot(v, self.c) - terms.sum(axis=-1) + idle

    def response(self, v: Values) -> Response:
        """⟨h⟩ and all about z given v; under `jax.jit`, what is not used is not computed."""
        v = self._visible(v)
        x = self._fields(v)
        sizes = self._sizes_in(x)
        return Response(v, x, sizes, sizes.survival * self.hidden.mean(x))

    def size_probabilities(self, v: Values) -> Hidden:
        """p(z|v) for z = 1..K [z_conditionalProbability]; the last is P(z ≥ K|v) without an end."""
        return self._sizes(self._visible(v)).probabilities

    def size_log_probabilities(self, v: Values) -> Hidden:
        """Their logs, exact where p(z|v) itself would be 0 in its type."""
        sizes = self._sizes(self._visible(v))
        return (sizes.log_weights - sizes.log_norm[..., None]).at[..., -1].set(sizes.log_last)

    def size_survival(self, v: Values) -> Hidden:
        """P(z ≥ a|v) for a = 1..K [ccdf]."""
        return self._sizes(self._visible(v)).survival

    def mean_size(self, v: Values) -> Batch:
        """⟨z⟩_v = Σ_z z p(z|v), (…,) [z_conditionalVEV]."""
        return layer_size.mean(self._sizes(self._visible(v)))

    def probable_size(self, v: Values) -> Sizes:
        """The largest of the most probable sizes given v, (…,) [z_probableValue]."""
        return layer_size.probable(self._sizes(self._visible(v)))

    def sample_size(self, key: RandomKey, v: Values) -> Sizes:
        """Draw z from p(z|v)."""
        return layer_size.sample(checks.random_key(key), self._sizes(self._visible(v)))

    def mean_hidden(self, v: Values) -> Hidden:
        """⟨h_a⟩_v = P(z ≥ a|v) Γ'(x_a), (…, K) [h_VEV]."""
        return self.response(v).mean

    def sample_hidden(self, key: RandomKey, v: Values, z: Values) -> Hidden:
        """Draw h from p(h|v, z); entries beyond z are 0.

        The random numbers of unit a do not depend on K: they are drawn unit by unit.
        """
        v = self._visible(v)
        z = checks.layer_size("z", z, self.max_hidden, v.shape[:-1])
        return self._draw_hidden(checks.random_key(key), self._fields(v), z)

    def sample_response(self, key: RandomKey, response: Response) -> tuple[Hidden, Sizes]:
        """Draw z from p(z|v) and h from p(h|v, z)."""
        size_key, hidden_key = jax.random.split(checks.random_key(key))
        z = layer_size.sample(size_key, response.sizes)
        return self._draw_hidden(hidden_key, response.fields, z), z

    def mean_visible(self, h: Values, z: Values) -> Visible:
        """⟨v_i⟩_{h,z} = Γ'(Σ_{a≤z} h_a w_ai + c_i) [v_VEV]."""
        return self.visible.mean(self.visible_fields(h, z))

    def sample_visible(self, key: RandomKey, h: Values, z: Values) -> Visible:
        """Draw v from p(v|h, z) [probability_v_conditioned_h_z]."""
        return self.visible.sample(checks.random_key(key), self.visible_fields(h, z))

    def visible_fields(self, h: Values, z: Values) -> Visible:
        """y_i = Σ_{a≤z} h_a w_ai + c_i, the field on visible unit i."""
        return dot(self._hidden(h, z)[0], self.W) + self.c

    def _fields(self, v: Visible) -> Hidden:
        """x_a = Σ_i w_ai v_i + b_a."""
        return dot(v, self.W.T) + self.b

    def _sizes(self, v: Visible) -> SizeScan:
        """Everything about z given v."""
        return self._sizes_in(self._fields(v))

    def _sizes_in(self, x: Hidden) -> SizeScan:
        """Everything about z in the fields x, from the steps Γ(x_a) − μ_a."""
        return self.potential.sizes(self.hidden.cumulant(x) - self.prices())

    def _draw_hidden(self, key: RandomKey, x: Hidden, z: Sizes) -> Hidden:
        by_unit = jnp.moveaxis(x, -1, 0)
        return self._within(jnp.moveaxis(self.hidden.sample(key, by_unit), 0, -1), z)

    def _within(self, h: Hidden, z: Sizes) -> Hidden:
        """h with its entries beyond z set to 0."""
        return jnp.where(jnp.arange(1, self.max_hidden + 1) <= z[..., None], h, 0)

    def _visible(self, v: Values) -> Visible:
        return checks.layer("v", v, self.visible, self.n_visible, self.W.dtype, "visible")

    def _hidden(self, h: Values, z: Values) -> tuple[Hidden, Sizes]:
        """h with its entries beyond z set to 0, and z."""
        h = checks.layer("h", h, self.hidden, self.max_hidden, self.W.dtype, "hidden")
        z = checks.layer_size("z", z, self.max_hidden, h.shape[:-1])
        return self._within(h, z), z
