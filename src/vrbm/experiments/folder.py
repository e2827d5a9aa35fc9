"""Where the parts of a study are.

STUDY/study.json                 settings and environment
STUDY/runs/MEMBER-SEED/          a run folder, with measures.json and arrays.npz
STUDY/table.json, figures/, report.html
"""

from dataclasses import dataclass
from pathlib import Path

from vrbm.training.run import Run


@dataclass(frozen=True)
class StudyFolder:
    """The paths of a study."""

    path: Path

    @property
    def facts(self) -> Path:
        """Settings and environment."""
        return self.path / "study.json"

    def run(self, name: str, seed: int) -> Run:
        """The run of a member with a seed."""
        return Run(self.path / "runs" / f"{name}-{seed}")

    def measures(self, name: str, seed: int) -> Path:
        """The numbers of that run."""
        return self.run(name, seed).folder / "measures.json"

    def arrays(self, name: str, seed: int) -> Path:
        """The arrays of that run, for figures."""
        return self.run(name, seed).folder / "arrays.npz"
