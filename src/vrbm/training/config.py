"""Settings of a training run: the one place of their defaults."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vrbm.model import GrandCanonicalRBM, checks
from vrbm.training.negative import Gibbs, MeanField, Persistent
from vrbm.training.optimizer import Optimizer
from vrbm.training.tempered import Tempered

#: Standard deviation, in nats, that a unit's log-odds have over the rows under the prior of the
#: weights. Chosen by the validation rows of the ten DEBD sets, among √5 and √8 (docs/training.md).
PRIOR_SCALE = 5**0.5
#: The largest part of a weight that the penalty may take in a step.
LARGEST_DECAY = 0.5
#: Stiff directions of a layer that is exchanged with a reservoir.
STIFF = 2
#: Persistent chains, and replicas of them as soon as they do not cross.
CHAINS = Tempered(k=2, on_demand=True)
#: The fewest epochs, and the fewest steps in at most so many, of a run that is not told how many.
FEWEST_EPOCHS, FEWEST_STEPS, MOST_EPOCHS = 50, 8000, 1000
#: A run that finds the size of its layer: layers that are tried for it, how many times longer than
#: each of them layers of the size found are tried in turn, and the one that is kept is trained.
LEVELS, TRIED, TRAINED = 12, (2, 4), 5
#: The length of the whole, in those of a level.
IN_LEVELS = LEVELS + sum(TRIED) + TRAINED
#: The fewest epochs without a better look that are waited for.
FEWEST_EPOCHS_WAITED = 10
#: Part of the rows that is set apart to stop by, where none are given.
VALIDATION_FRACTION = 0.1


@dataclass(frozen=True)
class Plan:
    """The parts of a run, in epochs."""

    levels: int = 0
    """short trainings of layers by which the size is found"""
    level: int = 0
    """the length of each"""
    trials: tuple[int, ...] = ()
    """lengths of longer trainings of the size found"""
    training: int = 0
    """the length of the training of the layer that is kept, at most"""


@dataclass(frozen=True)
class Config:
    """How a model is trained.

    The defaults train for the likelihood, and are those of the estimators and of `vrbm train`.
    `Config.paper` has those of the paper.
    """

    epochs: int | None = None
    """Passes over the data; None: 50, or as many as make 8,000 steps, at most 1,000; 4.6 times as
    many, at most, where the run finds the size of its layer first."""
    batch_size: int | None = None
    """Rows in a step; None: a twentieth of the rows, from 10 to 100. The rows that fill no batch
    are left out of their epoch."""
    negative: MeanField | Gibbs | Persistent | Tempered = CHAINS
    """Where the model's averages come from: persistent or tempered chains for the likelihood, or
    mean-field for the paper's training, which copies its input."""
    optimizer: Optimizer = field(default_factory=Optimizer)
    """How parameters follow the gradient."""
    centred: bool = True
    """Take the gradient in centred coordinates: visible offsets are the mean of up to 10,000 rows,
    hidden offsets a running mean of ⟨h⟩."""
    penalty: float | None = None
    """Strength of the penalty Σ |w|^p / p beside μ; None: a normal prior, under which the log-odds
    of a unit have a standard deviation of √5 nats over the rows."""
    penalty_power: float = 2.0
    """p of that penalty."""
    prior_rows: int = 0
    """Rows that the prior is weighed against, where these are more than the rows given: those of
    earlier runs on other rows."""
    looks: int = 20
    """How often, at most, the log-likelihood is estimated while the layer that is kept is trained,
    evenly spaced; as often in proportion in a search for its size; fewer where they would take
    more than 15 % of the time. Needs persistent or tempered chains."""
    early_stopping: bool = False
    """Keep the model of the best look at the validation rows, and stop when it is long past."""
    n_iter_no_change: int | None = None
    """Epochs without a better look, after which the run goes back to the best one at half the rate,
    and the third time stops; None: a quarter of the epochs of the layer, and at least 10. Small
    values save time; the default chooses the model."""
    stiff: int | None = None
    """Number of directions of largest curvature along which steps are shortened, for training by
    chains with sgd or momentum: 3 where modes of the data coexist and the model swings between
    them. None: 2 for a layer that is exchanged with a reservoir, which begins with many units that
    are alike, and 0 for others."""
    seed_scale: float = 1e-6
    """Standard deviation of the weights with which units of a layer without an end begin. From
    almost nothing units come into use one after the other, and no more than are needed."""
    max_units: int | None = None
    """The most units that a layer without an end may come to store, or that a layer in exchange
    with a reservoir may have; None: as many as it needs, or seven a column, at most 512."""
    sizing: bool = True
    """Whether a layer with the potential `Reservoir` finds its size; False: it keeps its units."""
    window: bool = True
    """Compute only the units that matter, and let idle ones rest (docs/cost.md)."""
    monitor_rows: int = 1000
    """Rows of the training and of the held-out data on which records are measured."""
    device_bytes: int = 1 << 31
    """Data larger than this stream from memory or disk, shuffled within a window."""

    @classmethod
    def paper(cls, epochs: int = 100, **others: Any) -> "Config":
        """The paper's algorithm: mean-field iterations, momentum, no looks; else as given."""
        settings = {
            "batch_size": 100,
            "negative": MeanField(),
            "optimizer": Optimizer.paper(),
            "centred": False,
            "penalty": 0.0,
            "penalty_power": 1.0,
            "looks": 0,
            "stiff": 0,
        }
        return cls(epochs, **{**settings, **others})

    def __post_init__(self) -> None:
        checks.count("monitor_rows", self.monitor_rows)
        for name in ("looks", "prior_rows"):
            checks.count(name, getattr(self, name), least=0)
        for name in ("epochs", "batch_size", "n_iter_no_change"):
            if getattr(self, name) is not None:
                checks.count(name, getattr(self, name))
        if self.penalty is not None:
            checks.number("penalty", self.penalty, 0.0)
        checks.number("penalty_power", self.penalty_power, 1.0)
        if self.early_stopping and not (self.looks and self.negative.states_kept):
            raise ValueError(
                f"early_stopping is True, with {type(self.negative).__name__} and looks = "
                f"{self.looks}: it needs persistent or tempered chains, and looks."
            )
        if (
            self.stiff is not None
            and checks.count("stiff", self.stiff, least=0)
            and not self._may_be_stiff
        ):
            raise ValueError(
                f"stiff is {self.stiff}, with {type(self.negative).__name__} and "
                f"{self.optimizer.rule}: take persistent or tempered chains, and sgd or momentum."
            )
        if checks.number("seed_scale", self.seed_scale, 0.0) == 0:
            raise ValueError("seed_scale is 0: new units would never move; pass a small number.")
        if self.max_units is not None:
            checks.count("max_units", self.max_units)

    @property
    def _may_be_stiff(self) -> bool:
        return not isinstance(self.negative, MeanField) and self.optimizer.rule != "adam"

    @property
    def directions(self) -> int:
        """Stiff directions, once they are resolved."""
        assert self.stiff is not None, "Config.resolved chooses it"
        return self.stiff

    @property
    def batch(self) -> int:
        """Rows in a step, once it is resolved."""
        assert self.batch_size is not None, "Config.resolved chooses it"
        return self.batch_size

    @property
    def n_epochs(self) -> int:
        """Passes over the data, once they are resolved."""
        assert self.epochs is not None, "Config.resolved chooses them"
        return self.epochs

    def epochs_waited(self, length: int) -> int:
        """Epochs without a better look that are waited for, of a layer that is trained so long."""
        if self.n_iter_no_change is not None:
            return self.n_iter_no_change
        return max(FEWEST_EPOCHS_WAITED, length // 4)

    @property
    def plan(self) -> Plan:
        """The parts of the run, once its epochs are resolved.

        One too short for levels of a whole epoch has fewer of them, or no trials either.
        """
        epochs = self.n_epochs
        if self.optimizer.search_rate is None or epochs == 1:
            return Plan(training=epochs)
        if epochs <= sum(TRIED) + TRAINED:
            training = -(-epochs // 3)
            return Plan(levels=epochs - training, level=1, training=training)
        level = epochs // IN_LEVELS or 1
        trials = tuple(one * level for one in TRIED)
        levels = min(LEVELS, (epochs - sum(trials) - TRAINED * level) // level)
        return Plan(levels, level, trials, epochs - levels * level - sum(trials))

    def resolved(
        self, model: GrandCanonicalRBM, rows: int, variance: float | None = None
    ) -> "Config":
        """These settings with numbers in the place of None, for so many rows.

        The penalty needs the `variance` of the visible values too, summed over columns: under the
        prior the weights have the variance σ² = `PRIOR_SCALE`²/(d² `variance`), with d the
        difference between the two states of a hidden unit, and its strength is 1/(rows σ²).
        """
        batch = self.batch_size
        if batch is None:
            batch = equal_batch(rows, int(np.clip(rows // 20, 10, 100)))
        finds_size = self.sizing and model.potential.is_exchanged
        epochs = self.epochs
        if epochs is None:
            needed = -(-FEWEST_STEPS // max(1, rows // batch))
            epochs = max(FEWEST_EPOCHS, min(needed, MOST_EPOCHS))
            epochs = epochs * IN_LEVELS // TRAINED if finds_size else epochs
        d_hidden, d_visible = (
            float(unit.states[-1] - unit.states[0]) for unit in (model.hidden, model.visible)
        )
        default_rate = (batch / 100) ** 0.5 / (d_hidden * d_visible) ** 2
        optimizer = self.optimizer.resolved(default_rate, finds_size)
        rate = max(x for x in (optimizer.learning_rate, optimizer.search_rate) if x is not None)
        penalty = self.penalty
        if penalty is None and variance is not None:
            penalty = d_hidden**2 * variance / (max(rows, self.prior_rows) * PRIOR_SCALE**2)
            penalty = min(penalty, LARGEST_DECAY / rate) if rate else 0.0
        stiff = self.stiff
        if stiff is None:
            stiff = STIFF if model.potential.is_exchanged and self._may_be_stiff else 0
        return replace(
            self,
            epochs=epochs,
            batch_size=batch,
            optimizer=optimizer,
            penalty=penalty,
            stiff=stiff,
        )


def equal_batch(rows: int, most: int) -> int:
    """Rows in a batch, so that fewer rows are left out of an epoch than it has batches.

    `most`, or where that leaves out more, rows // ⌈rows / most⌉.
    """
    return most if rows % most < rows // most else rows // -(-rows // most)
