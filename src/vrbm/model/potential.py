r"""Chemical potentials μ(W, b): the price of one more hidden unit.

A potential has one number to give, μ, and one decision: whether the log of the number of states of
an idle hidden unit (log 2) is part of it (`absorb_log2=True`: p(z|v) ∝ e^{−μz} Π cosh x_a) or is
earned by the unit (`False`: Π 2cosh x_a). Derivatives ∂μ come from autodiff; |x| has the
subgradient 0 at 0.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import checks, layer_size
from vrbm.model.layer_size import SizeScan
from vrbm.model.layers import Unit
from vrbm.typing import Field, Hidden, HiddenBias, Price, Scalar, SumsOverUnits, Weights


def _leaf(name: str, least: float = -float("inf")) -> Callable[[Any], Any]:
    """A converter for a parameter that may be a number, or an array inside a transformation."""

    def convert(value: Any) -> Any:
        return value if isinstance(value, jax.Array) else checks.number(name, value, least)

    return convert


#: The part of its price that a new unit earns where idle units are off.
SEED_EARNS = 0.25


class Potential(eqx.Module):
    """The price of hidden units and the sizes that it allows."""

    absorb_log2: eqx.AbstractVar[bool]

    #: Whether μ depends on the units through sums over them alone: `sums` and `value_of_sums`.
    is_of_sums: ClassVar[bool] = False

    @property
    def units_are_optional(self) -> bool:
        """Whether a layer may do without its last units."""
        return True

    @property
    def is_unbounded(self) -> bool:
        """Whether the layer goes on without an end, with idle units beyond the K stored."""
        return False

    @property
    def idle_is_off(self) -> bool:
        """Whether these idle units are off, b → −∞, and not undecided, b = 0."""
        return False

    @property
    def is_exchanged(self) -> bool:
        """Whether training adds units, and removes those that do not earn their price."""
        return False

    @property
    def seed_bias(self) -> float:
        """The bias with which a unit is added to a layer without an end."""
        return 0.0

    def check_hidden(self, hidden: Unit) -> None:
        """Raise where hidden units of this type cannot be idle as this potential has them."""

    @abstractmethod
    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> Price:
        """μ, for all units together () or for each (K,) [ChemicalPotential_FunctinalForm]."""

    def prices(self, W: Weights, b: HiddenBias, hidden: Unit) -> HiddenBias:
        """What unit a costs in the steps of the size: μ_a, plus log 2 where that is absorbed."""
        return self._priced(self.value(W, b, hidden), b, hidden)

    def sums(self, W: Weights, b: HiddenBias) -> SumsOverUnits:
        """What μ needs to know of the units: sums over them of one or more numbers."""
        raise NotImplementedError

    def value_of_sums(self, sums: SumsOverUnits) -> Scalar:
        """μ, given the sums over all units."""
        raise NotImplementedError

    def prices_beside(
        self, W: Weights, b: HiddenBias, others: SumsOverUnits, hidden: Unit
    ) -> HiddenBias:
        """The prices of units that are not alone: `others` are the sums over those beside them."""
        return self._priced(self.value_of_sums(self.sums(W, b) + others), b, hidden)

    def _priced(self, mu: Price, b: HiddenBias, hidden: Unit) -> HiddenBias:
        if self.absorb_log2:
            mu = mu + hidden.cumulant(jnp.zeros_like(mu))
        return jnp.broadcast_to(mu, b.shape)

    def sizes(self, steps: Hidden) -> SizeScan:
        """The distribution of z that the steps Γ(x_a) − μ_a imply."""
        return layer_size.scan(steps)

    def idle_units(self, last: Scalar) -> Scalar:
        """The mean number of idle units beyond K, where `last` is P(z ≥ K): 0 if there are none."""
        return jnp.zeros_like(last)

    def at(self, mu: float) -> "Potential":
        """The same kind of layer at the fixed price μ: for fewer units at an unchanged price."""
        return Constant(mu=mu, absorb_log2=self.absorb_log2)


def energy_quanta(W: Weights, b: HiddenBias, p: float) -> HiddenBias:
    r"""ℰ_a = (1/N) Σ_i |w_ai|^p + |b_a|^p [FundamentalEnergyQuantum]."""
    return _power(W, p).mean(axis=1) + _power(b, p)


@jax.custom_jvp
def _magnitude(x: Field) -> Field:
    """|x| with the derivative 0 at 0, where that of `jnp.abs` is 1."""
    return jnp.abs(x)


_magnitude.defjvps(lambda dx, _, x: jnp.sign(x) * dx)


def _power(x: Field, p: float) -> Field:
    """|x|^p."""
    if p % 2 == 0:
        return x ** int(p)
    magnitude = _magnitude(x)
    return magnitude if p == 1 else magnitude**p


def active_units(quanta: HiddenBias) -> Scalar:
    r"""K_eff ≈ Σ_a tanh ℰ_a, the paper's smooth count of active units; biases count too."""
    return jnp.tanh(quanta).sum()


def _excess_over_tanh(x: HiddenBias) -> HiddenBias:
    """x − tanh x for x ≥ 0, by its series where the difference would cancel."""
    # Where the first term left out, and the rounding of the difference, are both small.
    limit = 0.2 if x.dtype == jnp.float32 else 0.05
    small = jnp.minimum(x, limit)
    square = small**2
    series = small * square * (1 / 3 - square * (2 / 15 - square * (17 / 315 - square * 62 / 2835)))
    return jnp.where(x < limit, series, x - jnp.tanh(x))


class Penalizing(Potential):
    r"""The paper's ansatz, μ = Σ ℰ_a / Σ tanh ℰ_a [ChemicalPotential:ConcreteAnsatz].

    It is the vacuum energy Σ ℰ_a [VacuumEnergyDEF] for each active unit
    [ChemicalPotential:ConceptualAnsatz]; μ ≥ 1, and μ → 1 when all ℰ_a → 0. With `smooth`, μ is
    cosh(ρ) / cosh(1) where ρ = Σ ℰ_a / Σ tanh ℰ_a: the cosh that the paper suggests, of a quantity
    that does not grow with K, scaled to the same limit (docs/theory.md). Beyond ρ = 40, where μ is
    above 1e16, it stays constant and its derivative is 0, so that float32 remains finite. `scale`
    multiplies μ: 1 in the paper; at 2 or 3 the layer collapses to a handful of units.
    """

    p: float = eqx.field(default=1.0, static=True, converter=lambda p: checks.number("p", p, 1.0))
    smooth: bool = eqx.field(default=False, static=True)
    absorb_log2: bool = eqx.field(default=True, static=True)
    scale: Any = eqx.field(default=1.0, converter=_leaf("scale", 0.0))

    is_of_sums: ClassVar[bool] = True

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """Σ ℰ_a / Σ tanh ℰ_a, or its smooth form."""
        return self.value_of_sums(self.sums(W, b))

    def sums(self, W: Weights, b: HiddenBias) -> SumsOverUnits:
        """Σ (ℰ_a − tanh ℰ_a) and Σ tanh ℰ_a."""
        quanta = energy_quanta(W, b, self.p)
        return jnp.stack([_excess_over_tanh(quanta).sum(), active_units(quanta)])

    def value_of_sums(self, sums: SumsOverUnits) -> Scalar:
        """1 + Σ (ℰ_a − tanh ℰ_a) / Σ tanh ℰ_a, or its smooth form.

        So ∂μ of a layer that is almost idle keeps its digits, where Σ ℰ_a / Σ tanh ℰ_a cancels; a
        layer of zeros has μ = 1.
        """
        density = 1 + sums[0] / jnp.maximum(sums[1], 1e-15)
        if self.smooth:
            density = jnp.cosh(jnp.minimum(density, 40)) / jnp.cosh(1.0)
        return self.scale * density


class Constant(Potential):
    """A fixed μ. It is a leaf of the model, so that it can be mapped over or differentiated."""

    mu: Any = eqx.field(converter=_leaf("mu"))  # type: ignore[misc]
    absorb_log2: bool = eqx.field(default=True, static=True)
    is_of_sums: ClassVar[bool] = True

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """The constant, as an array of the model's type."""
        return self.value_of_sums(self.sums(W, b))

    def sums(self, W: Weights, b: HiddenBias) -> SumsOverUnits:
        """0: no unit matters."""
        return jnp.zeros(1, b.dtype)

    def value_of_sums(self, sums: SumsOverUnits) -> Scalar:
        """The constant."""
        return jnp.asarray(self.mu, sums.dtype)


class Unbounded(Potential):
    r"""A fixed μ > 0 for a layer without an end: z has no largest value.

    Units beyond the K of the model are exactly idle and summed in closed form: a geometric tail
    e^{−μm}. With log 2 absorbed idle is w = b = 0. The paper's ansatz tends to it, with μ = 1, when
    the idle units become so many, and their ℰ so small, that their Σ ℰ outweighs that of the
    others. With log 2 kept idle units are off, w = 0 and b → −∞, which 0/1 units alone can be:
    they earn Γ = 0. In p(z|v) sizes beyond K count as K; ⟨z⟩ counts them all. Training adds units
    when they are needed (docs/theory.md).
    """

    mu: Any = eqx.field(default=1.0, converter=_leaf("mu"))
    absorb_log2: bool = eqx.field(default=True, static=True)

    @property
    def is_unbounded(self) -> bool:
        """Yes."""
        return True

    @property
    def idle_is_off(self) -> bool:
        """With log 2 kept."""
        return not self.absorb_log2

    @property
    def seed_bias(self) -> float:
        """0; for units that are off the b with Γ(b) = `SEED_EARNS` μ, if that is below."""
        if not self.idle_is_off:
            return 0.0
        earned = SEED_EARNS * np.float64(self.mu)
        return float(min(0, earned + np.log(-np.expm1(-earned))))

    def check_hidden(self, hidden: Unit) -> None:
        """Units that are never off earn log 2 or more: at low prices they have no tail."""
        if self.idle_is_off and hidden.states[0] != 0:
            raise ValueError(
                f"hidden is {hidden!r}, but units beyond those that Unbounded(absorb_log2=False) "
                "stores are off: pass hidden=Binary(), or absorb_log2=True."
            )

    def __check_init__(self) -> None:
        if not isinstance(self.mu, jax.core.Tracer) and not np.all(np.asarray(self.mu) > 0):
            raise ValueError(f"mu is {self.mu}: a layer without an end needs a price above 0.")

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """The constant, as an array of the model's type."""
        return jnp.asarray(self.mu, b.dtype)

    def sizes(self, steps: Hidden) -> SizeScan:
        """With the tail of idle units."""
        return layer_size.unbounded(steps, jnp.asarray(self.mu, steps.dtype))

    def idle_units(self, last: Scalar) -> Scalar:
        """The mean of the geometric tail."""
        return layer_size.idle_units(last, jnp.asarray(self.mu, last.dtype))

    def at(self, mu: float) -> Potential:
        """Again without an end."""
        return Unbounded(mu=mu, absorb_log2=self.absorb_log2)


class FixedSize(Potential):
    """All K units, always: the ordinary RBM. The limit μ → −∞, without its arithmetic."""

    absorb_log2: bool = eqx.field(default=False, static=True, init=False)

    @property
    def units_are_optional(self) -> bool:
        """No."""
        return False

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """0: no unit is optional, so none is priced."""
        return jnp.zeros((), b.dtype)

    def sizes(self, steps: Hidden) -> SizeScan:
        """p(z|v) = δ_{zK}."""
        return layer_size.full(steps)

    def at(self, mu: float) -> Potential:
        """Itself: no unit has a price."""
        return self


class Reservoir(FixedSize):
    r"""Units exchanged with a reservoir while training, which finds the size of the layer.

    Training tries layers of several sizes, and keeps the smallest under which the log
    pseudo-likelihood of held-out rows loses next to nothing (docs/theory.md). Its units exist for
    every v, as in an ordinary RBM, those that contribute most first.
    """

    @property
    def is_exchanged(self) -> bool:
        """Yes."""
        return True


class Local(Potential):
    r"""A price for each unit, μ_a = β Γ(b_a), that an idle unit (w_a = 0) never earns if β > 1.

    With `Binary` hidden units it is the ordered RBM of Côté & Larochelle (2016), and the infinite
    one for K → ∞: F(v, z) = −c·v − Σ_{a≤z} [log(1 + e^{x_a}) − β log(1 + e^{b_a})].
    """

    beta: Any = eqx.field(default=1.01, converter=_leaf("beta", 0.0))
    absorb_log2: bool = eqx.field(default=False, static=True)

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> HiddenBias:
        """β Γ(b_a)."""
        return jnp.asarray(self.beta, b.dtype) * hidden.cumulant(b)


class Priced(Potential):
    """Prices that were computed before, with the sizes that another potential allows.

    A training step computes μ once and works on a model with this potential from there on.
    """

    values: HiddenBias
    source: Potential
    absorb_log2: bool = eqx.field(default=False, static=True, init=False)

    @property
    def units_are_optional(self) -> bool:
        """As in the potential that the prices come from."""
        return self.source.units_are_optional

    @property
    def is_unbounded(self) -> bool:
        """As in the potential that the prices come from."""
        return self.source.is_unbounded

    @property
    def idle_is_off(self) -> bool:
        """As in the potential that the prices come from."""
        return self.source.idle_is_off

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> HiddenBias:
        """The prices, log 2 included where it was absorbed."""
        return self.values

    def sizes(self, steps: Hidden) -> SizeScan:
        """As the potential that the prices come from."""
        return self.source.sizes(steps)

    def idle_units(self, last: Scalar) -> Scalar:
        """As the potential that the prices come from."""
        return self.source.idle_units(last)


class Custom(Potential):
    """Any function μ(W, b) of JAX arrays, with the value () or (K,).

    Define the function once, at the top of a module: each new function or lambda is compiled anew,
    and a model with a lambda cannot be pickled. For parameters that are to be learned, write a
    subclass of `Potential`.
    """

    function: Callable[[Weights, HiddenBias], Price] = eqx.field(static=True)  # type: ignore[misc]
    absorb_log2: bool = eqx.field(default=True, static=True)

    def value(self, W: Weights, b: HiddenBias, hidden: Unit) -> Price:
        """The function's value; its shape is checked, and that it is finite."""
        try:
            mu = jnp.asarray(self.function(W, b), b.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"potential {self.function!r} failed ({error}): pass a function of W (K, N) and "
                "b (K,) that returns numbers."
            ) from error
        if mu.shape not in ((), b.shape):
            raise ValueError(
                f"potential returned an array of shape {mu.shape}: "
                f"return one number, or one for each hidden unit, {b.shape}."
            )
        return mu if isinstance(mu, jax.core.Tracer) else checks.finite_prices(mu)


def as_potential(value: Any) -> Potential:
    """A potential as it is; a plain function μ(W, b) as `Custom` with log 2 absorbed."""
    if isinstance(value, Potential):
        return value
    if callable(value) and not isinstance(value, type):
        return Custom(function=value)
    raise ValueError(
        f"potential is {value!r}: pass a potential such as vrbm.Penalizing(), "
        "or a function of W and b."
    )
