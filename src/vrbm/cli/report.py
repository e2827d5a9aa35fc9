"""`vrbm report`: a run or a study as one HTML file."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Report:
    """Write RUN/report.html, which opens without a network, and figures beside it."""

    folder: Positional[Path]
    """The folder of vrbm train or of vrbm reproduce."""
    export: Path | None = None
    """Copy the records of a study, without its models, to this folder; vrbm report reads it too."""

    def run(self) -> None:
        """Write the report and print its path."""
        from vrbm.experiments.report import export, report
        from vrbm.printable import plain

        print(f"wrote {plain(report(self.folder))}")
        if self.export is not None:
            export(self.folder, self.export)
            print(f"wrote {plain(self.export)}")
