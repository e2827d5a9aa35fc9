"""What the progress line of a run says."""

from vrbm.training.loop import Record


class ProgressLine:
    """Sentences for one record after another, with the likelihood of the last look."""

    def __init__(self) -> None:
        self.likelihood = ""

    def __call__(self, record: Record) -> str:
        """Likelihood where known, error, size and price, in one line."""
        value, name = record.log_likelihood_heldout, "held-out"
        if value is None:
            value, name = record.log_likelihood_train, "train"
        if value is not None:
            self.likelihood = f"{name} log p {value:.2f} ± {record.log_likelihood_error:.2f}  "
        elif record.log_likelihood_doubt is not None:
            self.likelihood = "log p not known  "
        error = record.error_train if record.error_heldout is None else record.error_heldout
        return f"{self.likelihood}ε {error:.3g}  ⟨z⟩ {record.mean_size:.1f}  μ {record.mu:.3f}"
