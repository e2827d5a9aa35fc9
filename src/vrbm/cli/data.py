"""`vrbm data`: make a data set, or describe one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, subcommand

from vrbm.printable import plain

if TYPE_CHECKING:
    from rich.console import Console

    from vrbm.data.dataset import Dataset, Domain
    from vrbm.data.download import Progress

DomainName = Literal["spin", "binary", "unit"]


@dataclass(frozen=True, kw_only=True)
class Output(ABC):
    """What all of `vrbm data` has in common: a table, and files if asked for."""

    out: Path | None = None
    """Write the set to this npz file, which every vrbm command reads."""
    picture: Path | None = None
    """Write a picture of the set to this file (png, pdf, svg); with --out FILE.npz, FILE.png by
    default, unless there is such a file."""

    @abstractmethod
    def make(self, progress: "Progress") -> "Dataset":
        """The data set, telling of downloads by `progress`."""

    def run(self) -> None:
        """Make the set, print its table, and write what was asked for."""
        from vrbm.cli.console import PlainConsole

        if self.out is not None and self.out.suffix != ".npz":
            raise ValueError(f"--out is {self.out}: the file must end in .npz.")
        picture = self.picture
        if picture is not None and picture.suffix not in (".png", ".pdf", ".svg"):
            raise ValueError(f"--picture is {picture}: the file must end in .png, .pdf or .svg.")
        console = PlainConsole()
        with _progress(console, "preparing the data") as progress:
            data = self.make(progress)
        _print(console, data)
        if self.out is not None:
            with _progress(console, f"writing {self.out}"):
                data.save(self.out)
            console.print(f"wrote {self.out}", soft_wrap=True)
            beside = self.out.with_suffix(".png")
            if picture is None and beside.exists():
                console.print(f"{beside} is there already, and is left as it is", soft_wrap=True)
            elif picture is None:
                picture = beside
        if picture is not None:
            from vrbm.report import figures, gallery

            figures.save_as(gallery.gallery(data), picture)
            console.print(f"wrote {picture}", soft_wrap=True)


@dataclass(frozen=True)
class Ising(Output):
    """Exact configurations of the 2D Ising torus, labelled by temperature."""

    temperatures: tuple[float, ...] | None = None
    """Temperatures T; the paper's 0.1, 0.2, …, 4.5 by default."""
    L: int | None = None
    """Side of the lattice; the paper's 8 by default."""
    J: float | None = None
    """Coupling between neighbours; the paper's 1 by default."""
    n_train: int | None = None
    """Training configurations; the paper's 60,000 by default."""
    n_test: int | None = None
    """Test configurations; the paper's 10,000 by default."""
    seed: int | None = None
    """Seed of the draws."""

    def make(self, progress: "Progress") -> "Dataset":
        """Draw the configurations; what is not given is left to `mixture_set`."""
        from vrbm.data import ising

        names = ("temperatures", "L", "J", "n_train", "n_test", "seed")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return ising.mixture_set(**given)


@dataclass(frozen=True)
class Mnist(Output):
    """MNIST as the paper has it (14×14, ±1), or one of its relatives; downloaded if need be."""

    variant: Literal["paper", "mnist", "fashion", "binarized"] = "paper"
    """The paper's 14×14 set, MNIST or Fashion-MNIST at 28×28, or the fixed binarized MNIST."""
    folder: Path | None = None
    """Folder with the files; by default $VRBM_DATA/mnist (or fashion_mnist, binarized_mnist) if
    there is one, else the user's cache."""
    pooling: Literal["mean", "max"] | None = None
    """How 2×2 pixels become one (only for paper; mean by default)."""
    smooth: bool = False
    """Apply the paper's smoothing filter (only for paper)."""
    domain: DomainName | None = None
    """Values: ±1, 0/1, or grey in [0, 1] (only for mnist and fashion; unit by default)."""

    def make(self, progress: "Progress") -> "Dataset":
        """Read the files, and download them first if they are nowhere."""
        from vrbm.data import binarized_mnist, mnist

        if self.variant != "paper" and (self.pooling is not None or self.smooth):
            raise ValueError(f"--pooling and --smooth do not apply to --variant {self.variant}.")
        if self.variant in ("paper", "binarized") and self.domain is not None:
            raise ValueError(f"--domain does not apply to --variant {self.variant}: leave it out.")
        domain = _domain(self.domain or "unit")
        match self.variant:
            case "paper":
                return mnist.paper_set(
                    self.folder, self.pooling or "mean", self.smooth, progress=progress
                )
            case "mnist":
                return mnist.mnist(self.folder, domain, progress)
            case "fashion":
                return mnist.fashion_mnist(self.folder, domain, progress)
            case "binarized":
                return binarized_mnist.binarized_mnist(self.folder, progress)


@dataclass(frozen=True)
class Digits(Output):
    """The 8×8 digits that come with scikit-learn: real handwriting without a download."""

    domain: DomainName = "spin"
    """Values: ±1, 0/1, or grey in [0, 1]."""

    def make(self, progress: "Progress") -> "Dataset":
        """Read the embedded digits."""
        from vrbm.data.digits import digits

        return digits(_domain(self.domain))


@dataclass(frozen=True)
class Describe(Output):
    """Check a file of your own, and say what it holds."""

    path: Positional[Path]
    """npy, npz, csv, tsv, txt, parquet or HDF5 file, or a set that vrbm wrote."""
    key: str | None = None
    """Name of the array, where an npz or HDF5 file holds several."""
    labels: str | None = None
    """Name of the array or column with labels."""
    image_shape: tuple[int, int] | None = None
    """Height and width, where each row is an image."""
    domain: DomainName | None = None
    """The domain that the values must lie in; found by default."""

    def make(self, progress: "Progress") -> "Dataset":
        """Load the file; an npy file stays on disk unless it is to be written anew."""
        from vrbm.data.arrays import load

        return load(
            self.path,
            key=self.key,
            labels=self.labels,
            image_shape=self.image_shape,
            domain=None if self.domain is None else _domain(self.domain),
            memory_map=self.path.suffix == ".npy" and self.out is None,
        )


@dataclass(frozen=True)
class Data:
    """Make or describe a data set."""

    command: (
        Annotated[Ising, subcommand("ising")]
        | Annotated[Mnist, subcommand("mnist")]
        | Annotated[Digits, subcommand("digits")]
        | Annotated[Describe, subcommand("describe")]
    )

    def run(self) -> None:
        """Run the chosen subcommand."""
        self.command.run()


def _domain(name: DomainName) -> "Domain":
    from vrbm.data.dataset import Domain

    return Domain[name.upper()]


def _print(console: "Console", data: "Dataset") -> None:
    """A table of the splits, and the facts that hold for all of them."""
    from rich.table import Table

    from vrbm.data.describe import summarize

    table = Table(title=f"{data.name}: N = {data.n_visible}, domain {data.domain}")
    for column in ("split", "rows", "mean", "constant columns"):
        table.add_column(column, justify="left" if column == "split" else "right")
    table.add_column("labels")
    for one in summarize(data):
        labels = "none"
        if one.labels is not None:
            labels = f"{len(one.labels)}: {', '.join(list(one.labels)[:10])}"
            labels += ", …" if len(one.labels) > 10 else ""
        cells = (one.split, f"{one.rows:,}", f"{one.mean:.4f}", str(one.constant_columns), labels)
        table.add_row(*cells)
    console.print(table)
    if data.image_shape is not None:
        console.print(f"images of {data.image_shape[0]}×{data.image_shape[1]} pixels")
    console.print(f"SHA-256 {data.content_hash}", soft_wrap=True, highlight=False)


@contextmanager
def _progress(console: "Console", what: str) -> Iterator["Callable[[str, int, int], None]"]:
    """A spinner, with a bar for each download, gone when the work is done."""
    from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn

    description = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), description, BarColumn(), DownloadColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        bars.add_task(plain(what), total=None)
        tasks = {}

        def report(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(plain(name))
            bars.update(tasks[name], completed=done, total=total or None)

        yield report
