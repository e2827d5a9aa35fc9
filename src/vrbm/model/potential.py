r"""Chemical potentials μ(W, b): the price of one more hidden unit.

A potential has one number to give, μ, and one decision: whether the log of the number of states of
an idle hidden unit (log 2) is part of it (`absorb_log2=True`: p(z|v) ∝ e^{−μz} Π cosh x_a) or is
earned by the unit (`False`: Π 2cosh x_a). Derivatives ∂μ come from autodiff; |x| has the
subgradient 0 at 0.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from vrbm.model import layer_size
from vrbm.model.layer_size import SizeScan
from vrbm.model.units import Unit
from vrbm.typing import Field, Hidden, HiddenBias, Price, Scalar, Weights


class Potential(eqx.Module):
    """The price of hidden units and the sizes that it allows."""

    absorb_log2: eqx.AbstractVar[bool]

    @abstractmethod
    def mu(self, W: Weights, b: HiddenBias, hidden: Unit) -> Price:
        """μ(W, b), for all units together () or for each (K,) [ChemicalPotential_FunctinalForm]."""

    def prices(self, W: Weights, b: HiddenBias, hidden: Unit) -> HiddenBias:
        """What unit a costs in the steps of the size: μ_a, plus log 2 where that is absorbed."""
        mu = self.mu(W, b, hidden)
        if self.absorb_log2:
            mu = mu + hidden.cumulant(jnp.zeros_like(mu))
        return jnp.broadcast_to(mu, b.shape)

    def sizes(self, steps: Hidden) -> SizeScan:
        """The distribution of z that the steps Γ(x_a) − μ_a imply."""
        return layer_size.scan(steps)


def energy_quanta(W: Weights, b: HiddenBias, p: float = 1.0) -> HiddenBias:
    r"""ℰ_a = (1/N) Σ_i |w_ai|^p + |b_a|^p [FundamentalEnergyQuantum]."""
    return _power(W, p).mean(axis=1) + _power(b, p)


def _power(x: Field, p: float) -> Field:
    """|x|^p with the derivative 0 at 0, where that of `jnp.abs` is 1."""
    magnitude = x * jnp.sign(x)
    return magnitude if p == 1 else magnitude**p


def active_units(quanta: HiddenBias) -> Scalar:
    r"""K_eff ≈ Σ_a tanh ℰ_a, the smooth count of units in use (below ConceptualAnsatz)."""
    return jnp.tanh(quanta).sum()


def _excess_over_tanh(x: HiddenBias) -> HiddenBias:
    """x − tanh x for x ≥ 0, by its series where the difference would cancel."""
    small = jnp.minimum(x, 0.2)
    square = small**2
    series = small * square * (1 / 3 - square * (2 / 15 - square * (17 / 315 - square * 62 / 2835)))
    return jnp.where(x < 0.2, series, x - jnp.tanh(x))


class Penalizing(Potential):
    r"""The paper's ansatz, μ = Σ ℰ_a / Σ tanh ℰ_a [ChemicalPotential:ConcreteAnsatz].

    μ ≥ 1, and μ → 1 when all ℰ_a → 0. With `smooth`, μ = cosh(ρ) / cosh(1) of the vacuum energy
    per active unit, ρ = Σ ℰ_a / Σ tanh ℰ_a: the cosh that the paper suggests, of a quantity that
    does not grow with K, scaled to the same limit 1 (derived in docs/theory.md). Beyond ρ = 40,
    where μ is above 1e16, it stays constant, so that float32 remains finite.
    """

    p: float = eqx.field(default=1.0, static=True)
    smooth: bool = eqx.field(default=False, static=True)
    absorb_log2: bool = eqx.field(default=True, static=True)

    def __check_init__(self) -> None:
        if not 1 <= self.p < float("inf"):
            raise ValueError(f"p is {self.p}: the norm needs a finite p ≥ 1.")

    def mu(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """Σ ℰ_a / Σ tanh ℰ_a = 1 + Σ (ℰ_a − tanh ℰ_a) / Σ tanh ℰ_a, or its smooth form.

        The second form keeps ∂μ of a layer that is almost idle, where the first cancels; a layer
        of zeros has μ = 1.
        """
        quanta = energy_quanta(W, b, self.p)
        excess = _excess_over_tanh(quanta).sum()
        density = 1 + excess / jnp.maximum(active_units(quanta), 1e-15)
        return jnp.cosh(jnp.minimum(density, 40)) / jnp.cosh(1.0) if self.smooth else density


class Constant(Potential):
    """A fixed μ."""

    value: float = eqx.field(static=True)  # type: ignore[misc]
    absorb_log2: bool = eqx.field(default=True, static=True)

    def __init__(self, mu: float, absorb_log2: bool = True) -> None:
        if not abs(mu) < float("inf"):
            raise ValueError(f"mu is {mu}: a constant potential needs a finite number.")
        self.value, self.absorb_log2 = float(mu), absorb_log2

    def mu(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """The constant, as an array of the model's type."""
        return jnp.asarray(self.value, b.dtype)


class FixedSize(Potential):
    """All K units, always: the ordinary RBM. The limit μ → −∞, without its arithmetic."""

    absorb_log2: bool = eqx.field(default=False, static=True, init=False)

    def mu(self, W: Weights, b: HiddenBias, hidden: Unit) -> Scalar:
        """0: no unit is optional, so none is priced."""
        return jnp.zeros((), b.dtype)

    def sizes(self, steps: Hidden) -> SizeScan:
        """p(z|v) = δ_{zK}."""
        return layer_size.full(steps)


class Local(Potential):
    r"""A price for each unit, μ_a = β Γ(b_a), that an idle unit (w_a = 0) never earns if β > 1.

    With `Binary` hidden units it is the ordered RBM of Côté & Larochelle (2016), and the infinite
    one for K → ∞: F(v, z) = −c·v − Σ_{a≤z} [log(1 + e^{x_a}) − β log(1 + e^{b_a})].
    """

    beta: float = eqx.field(default=1.01, static=True)
    absorb_log2: bool = eqx.field(default=False, static=True)

    def __check_init__(self) -> None:
        if not 0 <= self.beta < float("inf"):
            raise ValueError(f"beta is {self.beta}: the local price needs a finite beta ≥ 0.")

    def mu(self, W: Weights, b: HiddenBias, hidden: Unit) -> HiddenBias:
        """β Γ(b_a)."""
        return self.beta * hidden.cumulant(b)


class Custom(Potential):
    """Any function μ(W, b) of JAX arrays, with the value () or (K,)."""

    function: Callable[[Weights, HiddenBias], Price] = eqx.field(static=True)  # type: ignore[misc]
    absorb_log2: bool = eqx.field(default=True, static=True)

    def mu(self, W: Weights, b: HiddenBias, hidden: Unit) -> Price:
        """The function's value; its shape is checked."""
        mu = jnp.asarray(self.function(W, b), b.dtype)
        if mu.shape not in ((), b.shape):
            raise ValueError(
                f"potential returned an array of shape {mu.shape}: "
                f"return one number, or one for each hidden unit, {b.shape}."
            )
        return mu


def as_potential(value: Any) -> Potential:
    """A potential as it is; a plain function μ(W, b) as `Custom` with log 2 absorbed."""
    if isinstance(value, Potential):
        return value
    if callable(value) and not isinstance(value, type):
        return Custom(function=value)
    raise TypeError(
        f"potential is {value!r}: pass a potential such as vrbm.Penalizing(), "
        "or a function of W and b."
    )
