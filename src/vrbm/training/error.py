"""How far reconstructions are from the data: the one home of the error."""

from vrbm.model import GrandCanonicalRBM
from vrbm.typing import Batch, Visible


def residuals(model: GrandCanonicalRBM, v: Visible, y: Visible, are_states: bool) -> Visible:
    """v_i − ⟨v_i⟩ in the fields y, (…, N), with all digits where v holds states and not means."""
    return model.visible.residual(v, y) if are_states else v - model.visible.mean(y)


def quadratic(residual: Visible) -> Batch:
    """Σ_i (v_i − ⟨v_i⟩)², (…,).

    Its average over training rows is ε_train [TrainErrorDEF], that over rows which training has not
    seen ε_test [TestErrorDEF].
    """
    return (residual**2).sum(axis=-1)
