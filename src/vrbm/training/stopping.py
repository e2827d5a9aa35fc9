"""When to stop early."""

from typing import Any

from vrbm.model import checks


class EarlyStopping:
    """A callback that ends the training when a figure of the records has not fallen for a while.

    Records of layers by which a run finds the size of its own are passed over.

    Parameters
    ----------
    patience
        Epochs without a new minimum, after which training ends.
    watch
        The figure: `error_heldout` by default, or any other number of a `Record`.
    """

    def __init__(self, patience: int, watch: str = "error_heldout") -> None:
        self.patience, self.watch = checks.count("patience", patience), watch
        self.best, self.waited = float("inf"), 0

    def __call__(self, record: Any) -> bool:
        """Take a record, or the facts of one read from a file; True when it is time to stop."""
        facts = record if isinstance(record, dict) else record.facts()
        if facts.get("is_search", False):
            return False
        value = facts.get(self.watch)
        if not isinstance(value, int | float):
            raise ValueError(
                f"watch is {self.watch!r}, and the records have {value!r} there: choose a figure "
                "that they have, or pass held-out data."
            )
        self.best, self.waited = (value, 0) if value < self.best else (self.best, self.waited + 1)
        return self.waited >= self.patience
