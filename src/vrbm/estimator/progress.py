"""The progress line of a fit."""

from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from vrbm.training import Record
from vrbm.training.progress import ProgressLine


def shown(records: Iterator[Record], name: str, total: int) -> Iterator[Record]:
    """The same records, with a line on the terminal; a line for each tenth where there is none."""
    console = Console()
    columns = (
        SpinnerColumn(),
        TextColumn(name + " epoch {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        describe = ProgressLine()
        for record in records:
            line = describe(record)
            bar.update(task, completed=record.epoch, description=line)
            if not console.is_terminal and record.epoch % max(1, total // 10) == 0:
                console.print(f"{name} epoch {record.epoch}/{total}  {line}", highlight=False)
            yield record
