"""`vrbm reproduce` and `vrbm demo`: the experiments of the paper by one command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional

from vrbm.cli import process
from vrbm.cli.console import PlainConsole
from vrbm.printable import plain


@dataclass(frozen=True)
class Reproduce:
    """Train and measure everything of an experiment, and write table, figures and report.

    A study that was stopped goes on where it was when the command is given again.
    """

    experiment: Positional[Literal["ising", "mnist", "sizing"]]
    """Which experiment: two of the paper, and how the size that is found depends on settings."""
    preset: Literal["quick", "paper"] = "quick"
    """quick: minutes on two CPU cores. paper: the sizes and epochs of the paper, for a GPU."""
    out: Path | None = None
    """Folder of the study; by default reproduce-EXPERIMENT-PRESET."""
    members: tuple[str, ...] = ()
    """Only these models of the preset; all by default."""
    seeds: tuple[int, ...] = ()
    """Only these seeds; all by default."""

    def run(self) -> None:
        """Conduct the study with a progress line, print the table and the report's path."""
        from vrbm.experiments.catalogue import EXPERIMENTS
        from vrbm.experiments.conduct import conduct
        from vrbm.experiments.presets import PRESETS
        from vrbm.experiments.report import study_report

        process.advice = "To resume, repeat the command.".format
        preset = PRESETS[self.experiment, self.preset]
        folder = self.out or Path(f"reproduce-{self.experiment}-{self.preset}")
        console = PlainConsole()
        data = EXPERIMENTS[self.experiment].load(preset)
        line = _Line(console)
        try:
            conduct(
                preset,
                folder,
                data,
                members=self.members or None,
                seeds=self.seeds or None,
                progress=line,
            )
        finally:
            line.stop()
        rows = study_report(folder)
        table = Table(title=f"{EXPERIMENTS[self.experiment].TITLE}: {self.preset} preset")
        for name in ("quantity", "paper", "ours", "verdict"):
            table.add_column(name, overflow="fold")
        for row in rows:
            if not row.group:
                table.add_row(row.quantity, row.paper, row.ours, row.verdict)
        table.add_section()
        for row in rows:
            if row.group and row.unit == "nats" and row.quantity.startswith("test"):
                table.add_row(f"{row.quantity}: {row.group}", "", row.ours, "")
        console.print(table)
        console.print(f"wrote {folder / 'report.html'}, with more", soft_wrap=True)


class _Line:
    """A progress line on a terminal; elsewhere a line of text for each training."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.status = console.status("") if console.is_terminal else None
        if self.status is not None:
            self.status.start()

    def __call__(self, name: str, share: float, words: str) -> None:
        if self.status is not None:
            self.status.update(Text(plain(f"{name}: {share:4.0%}  {words}")))
        elif share == 1:
            self.console.print(f"{name}: {words}", highlight=False)

    def stop(self) -> None:
        if self.status is not None:
            self.status.stop()


@dataclass(frozen=True)
class Demo:
    """The quick Ising study: about two minutes on two CPU cores, no files needed."""

    out: Path = Path("demo")
    """Folder of the study."""

    def run(self) -> None:
        """As vrbm reproduce ising --preset quick."""
        Reproduce("ising", "quick", self.out).run()
