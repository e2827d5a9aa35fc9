"""The experiments by name."""

from typing import Any, Protocol

import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.experiments import ising, mnist, sizing
from vrbm.experiments.results import Results, Row
from vrbm.experiments.study import Preset
from vrbm.model import GrandCanonicalRBM
from vrbm.typing import RandomKey


class Experiment(Protocol):
    """What a module of an experiment has."""

    TITLE: str

    def load(self, preset: Preset) -> Dataset:
        """The data of a preset."""

    def measures(
        self,
        model: GrandCanonicalRBM,
        data: Dataset,
        preset: Preset,
        key: RandomKey,
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Numbers and arrays beside the common ones."""

    def table(self, results: Results) -> list[Row]:
        """The table of a study."""


EXPERIMENTS: dict[str, Experiment] = {"ising": ising, "mnist": mnist, "sizing": sizing}
