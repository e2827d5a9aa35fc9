"""What a study trains and measures: settings only."""

from dataclasses import asdict, dataclass, field
from typing import Any

from vrbm.model.potential import Penalizing, Potential
from vrbm.model.storage import describe_potential
from vrbm.training import Config
from vrbm.training.checkpoint import describe


@dataclass(frozen=True)
class Annealing:
    """How log Z is estimated, and how samples are drawn for the thermodynamics."""

    chains: int = 500
    temperatures: int = 1000
    samples: int = 2000
    """independent tempered chains"""
    rounds: int = 300
    """rounds of replica exchange in each"""
    replicas: int = 16


@dataclass(frozen=True)
class Member:
    """A model and its training, repeated for each seed."""

    title: str
    max_hidden: int
    """K"""
    config: Config
    potential: Potential = field(default_factory=Penalizing)
    weight_scale: float = 1e-3
    """standard deviation of the initial weights"""
    bias_scale: float = 1e-2
    """standard deviation of the initial hidden biases"""
    bias_from_data: bool = False
    """whether c starts at the base rates of the data, or at 0"""
    annealing: Annealing | None = None
    """how likelihoods and samples are measured; None: as the preset says"""
    seeds: tuple[int, ...] = (0, 1, 2)

    def facts(self) -> dict[str, Any]:
        """The settings, for a file."""
        return {
            **vars(self),
            "seeds": list(self.seeds),
            "potential": describe_potential(self.potential),
            "config": describe(self.config),
            "annealing": _facts(self.annealing),
        }


@dataclass(frozen=True)
class Preset:
    """A study: some members on one set of data."""

    experiment: str
    """name of the experiment, as vrbm.experiments.catalogue knows it"""
    name: str
    members: dict[str, Member]
    """by the names that table and figures know them by"""
    train_rows: int = 60_000
    test_rows: int = 10_000
    annealing: Annealing | None = field(default_factory=Annealing)
    """None: likelihoods are not measured"""

    def facts(self) -> dict[str, Any]:
        """The settings, for a file."""
        return {
            "experiment": self.experiment,
            "preset": self.name,
            "train_rows": self.train_rows,
            "test_rows": self.test_rows,
            "annealing": _facts(self.annealing),
            "members": {name: member.facts() for name, member in self.members.items()},
        }


def _facts(annealing: Annealing | None) -> dict[str, Any] | None:
    return None if annealing is None else asdict(annealing)
