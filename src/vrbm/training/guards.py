"""When a training has gone wrong, and how: divergence, collapse, saturation."""

from typing import Literal

import jax.numpy as jnp

from vrbm.model import GrandCanonicalRBM

Phase = Literal["regular", "collapsed", "saturated", "fixed"]


class Diverged(ArithmeticError):
    """A gradient is not finite. `model` holds the last parameters before the block."""

    def __init__(self, model: GrandCanonicalRBM, epoch: int, step: int, tensor: str) -> None:
        self.model, self.epoch, self.step, self.tensor = model, epoch, step, tensor
        mu = float(jnp.max(model.chemical_potential()))
        weight = float(jnp.abs(model.W).max())
        if mu > 100:
            cause = f"μ had grown to {mu:.3g}: the potential explodes; lower the learning rate"
        elif weight > 100:
            cause = f"a weight had grown to {weight:.3g}; lower the learning rate or add a penalty"
        else:
            cause = "the learning rate is too large; lower it, or set clip_norm"
        super().__init__(
            f"the gradient of {tensor} is not finite in step {step} of epoch {epoch}. "
            f"Likely cause: {cause}."
        )

    def explained(self, more: str) -> "Diverged":
        """The same, with a sentence more."""
        self.args = (f"{self} {more}",)
        return self


def phase(model: GrandCanonicalRBM, mean_size: float, mu: float, full: float) -> Phase:
    """Which regime the model is in, from ⟨z⟩, μ and the mean of P(z = K|v).

    Collapsed: a handful of units at a price far above 1; training may pass through it at the start.
    Saturated: sizes beyond K are cut off, so that K, not the data, limits the size.
    """
    if not model.potential.units_are_optional:
        return "fixed"
    if mu > 3 and mean_size < max(6, 0.05 * model.n_visible):
        return "collapsed"
    return "saturated" if full > 0.01 else "regular"
