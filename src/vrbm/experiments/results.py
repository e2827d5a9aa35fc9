"""What a study has found: its measures, seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vrbm import stored
from vrbm.experiments.folder import StudyFolder
from vrbm.reading import read_npz


@dataclass(frozen=True)
class Results:
    """The measures in a study folder; members that are not measured yet are left out."""

    folder: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Settings and environment."""
        path = StudyFolder(self.folder).facts
        if not path.exists():
            raise FileNotFoundError(f"{self.folder} is no study: it has no {path.name}.")
        facts = stored.read_json(path)
        stored.fact(facts, "experiment", Literal["ising", "mnist", "sizing"], str(path))
        for name, hint in (("preset", str), ("train_rows", int), ("test_rows", int)):
            stored.fact(facts, name, hint, str(path))
        stored.fact(facts, "environment", dict, str(path))
        for name, member in stored.fact(facts, "members", dict, str(path)).items():
            stored.fact(facts["members"], name, dict, str(path))
            stored.fact(member, "seeds", list[int], str(path))
            stored.fact(member, "title", str, str(path))
            stored.fact(member, "max_hidden", int, str(path))
        return facts

    @cached_property
    def numbers(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Measures by member and seed."""
        study = StudyFolder(self.folder)
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for name, member in self.facts["members"].items():
            for seed in member["seeds"]:
                path = study.measures(name, seed)
                if path.exists():
                    found.setdefault(name, {})[seed] = stored.read_json(path)
        return found

    def has(self, *names: str) -> bool:
        """Whether all these members are measured, with one seed at least."""
        return all(name in self.numbers for name in names)

    def values(self, name: str, *path: str) -> list[float]:
        """A measure of a member for each seed, by the keys that lead to it; [] where it is not."""
        found = []
        for numbers in self.numbers.get(name, {}).values():
            value: Any = numbers
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                found.append(float(value))
        return found

    def arrays(self, name: str, seed: int | None = None) -> dict[str, np.ndarray]:
        """The arrays of a member for a seed, the first one by default."""
        seed = min(self.numbers[name]) if seed is None else seed
        return read_npz(StudyFolder(self.folder).arrays(name, seed))

    def member(self, name: str) -> dict[str, Any]:
        """The settings of a member."""
        facts: dict[str, Any] = self.facts["members"][name]
        return facts


@dataclass(frozen=True)
class Row:
    """A line of the table: what the paper says, what came out, and whether they agree."""

    quantity: str
    paper: str
    """what the paper reports; empty where it reports nothing"""
    values: tuple[float, ...]
    """ours, seed by seed"""
    unit: str = ""
    """printed behind the number; "%" scales by 100"""
    low: float | None = None
    high: float | None = None
    """the range in which the mean over seeds counts as agreeing; None: no bound"""
    remark: str = ""
    group: str = ""
    """heading under which the line stands"""

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values))

    @property
    def verdict(self) -> str:
        """agrees, differs, or nothing where there is no range."""
        if self.low is None and self.high is None:
            return ""
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return "agrees" if low <= self.mean <= high else "differs"

    @property
    def ours(self) -> str:
        """Mean, and the range over seeds."""
        scale = 100 if self.unit == "%" else 1
        numbers = [scale * value for value in self.values]
        text = number(float(np.mean(numbers)))
        if len(numbers) > 1:
            text += f" ({number(min(numbers))} … {number(max(numbers))})"
        return f"{text} {self.unit}".strip()

    @property
    def accepted(self) -> str:
        """The range as text."""
        scale = 100 if self.unit == "%" else 1
        low = None if self.low is None else number(scale * self.low)
        high = None if self.high is None else number(scale * self.high)
        if low is None and high is None:
            return ""
        if low is None:
            return f"≤ {high}"
        return f"≥ {low}" if high is None else f"{low} … {high}"

    def facts(self) -> dict[str, Any]:
        """For a file."""
        return {
            "group": self.group,
            "quantity": self.quantity,
            "paper": self.paper,
            "ours": self.ours,
            "values": list(self.values),
            "accepted": self.accepted,
            "verdict": self.verdict,
            "remark": self.remark,
        }


def row(quantity: str, paper: str, values: Sequence[float], **more: Any) -> list[Row]:
    """A row, or none where nothing was measured."""
    return [Row(quantity, paper, tuple(values), **more)] if len(values) else []


def number(value: float) -> str:
    """Four digits, in powers of ten where the number is small or large."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.1e}"
