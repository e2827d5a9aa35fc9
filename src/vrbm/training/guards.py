"""When a training has gone wrong, and how: divergence, collapse, saturation."""

from typing import Literal

from vrbm.model import GrandCanonicalRBM
from vrbm.training.growth import NEEDED

Phase = Literal["regular", "collapsed", "saturated", "fixed"]


class Diverged(FloatingPointError):
    """A parameter, a price or a gradient is not finite, or far too large."""

    def __init__(
        self, epoch: int, step: int, tensor: str, mu: float, weight: float, constant_columns: int
    ) -> None:
        self.epoch, self.step, self.tensor = epoch, step, tensor
        if not mu < 100:
            cause = f"μ had grown to {mu:.3g}: the potential explodes; lower the learning rate"
        elif not weight < 100:
            cause = f"a weight had grown to {weight:.3g}; lower the learning rate or add a penalty"
        else:
            cause = "the learning rate is too large; lower it, or set clip_norm"
        if constant_columns:
            cause += f". {constant_columns} columns of the data never change: leave them out"
        super().__init__(
            f"{tensor} or its gradient is not finite, or far too large, in step {step} of epoch "
            f"{epoch}. "
            f"Likely cause: {cause}."
        )

    def explained(self, more: str) -> "Diverged":
        """The same, with a sentence more."""
        self.args = (f"{self} {more}",)
        return self


class Lost(FloatingPointError):
    """The model has left the data behind, and half the rate did not help."""

    def __init__(self, epoch: int, train: float, independent: float) -> None:
        super().__init__(
            f"the log-likelihood of training rows fell to {train:.2f} nats in epoch {epoch} "
            f"(independent columns: {independent:.2f}), again and again at ever lower rates. "
            "Likely cause: chains that do not follow the model; take more chains, or tempered ones."
        )


def phase(model: GrandCanonicalRBM, mean_size: float, mu: float, full: float) -> Phase:
    """Which regime the model is in, from ⟨z⟩, μ and the mean of P(z = K|v).

    Collapsed: a handful of units at a price far above 1; training may pass through it at the start.
    Saturated: sizes beyond K are cut off, so that K, not the data, limits the size.
    """
    if not model.potential.units_are_optional:
        return "fixed"
    if mu > 3 and mean_size < max(6, 0.05 * model.n_visible):
        return "collapsed"
    # A layer without an end whose last unit is needed more often has come to a limit.
    allowed = NEEDED if model.potential.is_unbounded else 0.01
    return "saturated" if full > allowed else "regular"
