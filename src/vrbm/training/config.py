"""Settings of a training: the one place of their defaults."""

from dataclasses import dataclass, field

from vrbm.model import checks
from vrbm.training.negative import Gibbs, MeanField, Persistent
from vrbm.training.optimizer import Optimizer
from vrbm.training.tempered import Tempered


@dataclass(frozen=True)
class Config:
    """How a model is trained. The defaults are the paper's algorithm."""

    epochs: int = 100
    """Passes over the data."""
    batch_size: int = 100
    """Rows in a step; the rows that fill no batch are left out of their epoch."""
    negative: MeanField | Gibbs | Persistent | Tempered = field(default_factory=MeanField)
    """Where the model's averages come from: mean-field for the paper's training, which copies its
    input; persistent or tempered chains for the likelihood."""
    optimizer: Optimizer = field(default_factory=Optimizer)
    """How parameters follow the gradient."""
    centred: bool = False
    """Take the gradient in centred coordinates: visible offsets are the mean of up to 10,000 rows,
    hidden offsets a running mean of ⟨h⟩."""
    penalty: float = 0.0
    """Strength of the penalty Σ |w|^p / p beside μ."""
    penalty_power: float = 1.0
    """p of that penalty."""
    stiff: int = 0
    """Number of directions of largest curvature along which steps are shortened, for training by
    chains with sgd or momentum: 3 where modes of the data coexist and the model swings between
    them."""
    seed_scale: float = 1e-6
    """Standard deviation of the weights with which units of a layer without an end begin. From
    almost nothing units come into use one after the other, and no more than are needed."""
    max_units: int | None = None
    """The most units that a layer without an end may come to store; None: as many as it needs."""
    window: bool = True
    """Compute only the units that matter, and let idle ones rest (docs/cost.md)."""
    monitor_rows: int = 1000
    """Rows of the training and of the held-out data on which records are measured."""
    device_bytes: int = 1 << 31
    """Data larger than this stream from memory or disk, shuffled within a window."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "monitor_rows"):
            checks.count(name, getattr(self, name))
        checks.number("penalty", self.penalty, 0.0)
        checks.number("penalty_power", self.penalty_power, 1.0)
        if checks.count("stiff", self.stiff, least=0) and (
            isinstance(self.negative, MeanField) or self.optimizer.rule == "adam"
        ):
            raise ValueError(
                f"stiff is {self.stiff}, with {type(self.negative).__name__} and "
                f"{self.optimizer.rule}: take persistent or tempered chains, and sgd or momentum."
            )
        if checks.number("seed_scale", self.seed_scale, 0.0) == 0:
            raise ValueError("seed_scale is 0: new units would never move; pass a small number.")
        if self.max_units is not None:
            checks.count("max_units", self.max_units)
