"""How far reconstructions are from the data: the one home of the error."""

from vrbm.typing import Batch, Visible


def quadratic(residual: Visible) -> Batch:
    """Σ_i (v_i − ⟨v_i⟩)², (…,).

    Its average over training rows is ε_train [TrainErrorDEF], that over rows which training has not
    seen ε_test [TestErrorDEF].
    """
    return (residual**2).sum(axis=-1)
