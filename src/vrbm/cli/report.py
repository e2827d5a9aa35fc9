"""`vrbm report`: a run or a study as one HTML file."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Report:
    """Write RUN/report.html, which opens without a network, and figures beside it."""

    folder: Positional[Path]
    """The folder of vrbm train or of vrbm reproduce."""

    def run(self) -> None:
        """Write the report and print its path."""
        from vrbm.experiments.report import report

        print(f"wrote {report(self.folder)}")
