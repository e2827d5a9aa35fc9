"""`vrbm demo`: p(z|v) of a small model on embedded handwriting."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Demo:
    """Build a small model on embedded digits and show how its size depends on the image."""

    out: Path = Path("demo")
    """Folder for the figure."""

    def run(self) -> None:
        """Print the sizes that each digit asks for, and write the figure."""
        from rich.console import Console
        from rich.table import Table

        from vrbm.experiments.demo import template_model
        from vrbm.report import figures

        demo = template_model()
        table = Table(title="Size of the hidden layer, by digit")
        for column in ("digit", "images", "mean size ⟨z⟩", "most probable size"):
            table.add_column(column, justify="right")
        for digit, images, mean, probable in demo.rows():
            table.add_row(str(digit), str(images), f"{mean:.2f}", str(probable))
        console = Console()
        console.print(table)
        console.print(
            f"{demo.model.max_hidden} hidden units at chemical potential "
            f"μ = {float(demo.model.chemical_potential()):.3f}"
        )
        figure = figures.size_profiles(demo.probabilities, demo.survival)
        for path in figures.save(figure, self.out / "size_by_digit"):
            console.print(f"wrote {path}")
