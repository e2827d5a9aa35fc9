"""`vrbm train` and `vrbm resume`."""

import shlex
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from tyro.conf import Positional, arg

from vrbm import lock
from vrbm.cli import process
from vrbm.cli.console import PlainConsole
from vrbm.cli.run_folder import data_of
from vrbm.data.catalogue import NAMES, find
from vrbm.data.dataset import Dataset, Domain
from vrbm.model import (
    Binary,
    Constant,
    FixedSize,
    GrandCanonicalRBM,
    Local,
    Penalizing,
    Reservoir,
    Spin,
    Unbounded,
    checks,
)
from vrbm.training import Config, EarlyStopping, Record, beginning, growth
from vrbm.training.config import VALIDATION_FRACTION
from vrbm.training.progress import ProgressLine
from vrbm.training.run import Run

UNITS = {"spin": Spin(), "binary": Binary()}


@dataclass(frozen=True)
class Train:
    """Train a model, and write settings, records, checkpoints and the model to a folder."""

    data: str
    """ising, mnist, binarized-mnist or digits, or a file of your own."""
    out: Path
    """The run folder, new or empty."""
    max_hidden: int | None = None
    """K, the largest size of the hidden layer. By default a reservoir has at most seven units a
    column and 512, the unbounded potential has no largest size, and others have 200."""
    potential: Literal["reservoir", "unbounded", "penalizing", "constant", "fixed", "local"] = (
        "reservoir"
    )
    """What decides the size: held-out rows, which lose next to nothing under the smallest layer,
    as VRBM does; a --price for each unit of a layer without an end (--max-units limits it); the
    paper's potential; a constant --price; nothing (an ordinary RBM); or --price times Γ(b) for each
    unit."""
    price: float | None = None
    """μ of the constant or unbounded potential (0.2 by default for the latter, 1 where log 2 is
    absorbed), or β of the local one."""
    p: float | None = None
    """Power of the norm in the paper's potential; 1 by default."""
    smooth: bool = False
    """The smooth form of the paper's potential."""
    keep_log2: bool = False
    """Let units earn log 2, in place of absorbing it in μ; the unbounded and the local potential
    do."""
    absorb_log2: bool = False
    """Absorb log 2 in the μ of the unbounded and the local potential too: then an unbounded layer
    grows from almost nothing."""
    visible: Literal["binary", "spin"] | None = None
    """Visible units 0/1 or ±1; those of the data by default, which are mapped otherwise."""
    hidden: Literal["binary", "spin"] = "binary"
    """Hidden units 0/1 or ±1."""
    weight_scale: float = beginning.WEIGHT_SCALE
    """Standard deviation of the initial weights."""
    bias_scale: float = 0.0
    """Standard deviation of the initial hidden biases."""
    seed: int = 0
    """Seed of initial weights, order of rows and chains."""
    validation_fraction: float | None = None
    """Part of the training rows that is set apart as validation rows; 0.1 by default with
    --early-stopping, where the data have none."""
    patience: int | None = None
    """Stop when the held-out error has not fallen for so many epochs."""
    checkpoint_seconds: float = 30.0
    """How old the newest checkpoint may be."""
    config: Annotated[Config, arg(name="")] = field(default_factory=Config)
    """Settings of the training."""

    def run(self) -> None:
        """Train, with a progress line, and print the last record."""
        import jax

        run = Run(self.out)
        run.check_new()
        data = find(self.data)
        fraction = self.validation_fraction
        if fraction is None and self.config.early_stopping and data.validation is None:
            fraction = VALIDATION_FRACTION
        if fraction is not None:
            data = data.with_validation(fraction, checks.seed(self.seed))
        key = jax.random.key(checks.seed(self.seed))
        model = self._model(data)
        source = self.data if self.data in NAMES else str(Path(self.data).resolve())
        about = {
            "source": source,
            "seed": self.seed,
            "patience": self.patience,
            "validation_fraction": fraction,
        }
        stop = None if self.patience is None else EarlyStopping(self.patience)
        options = {"every_seconds": self.checkpoint_seconds, "stop": stop}
        config = self._config.resolved(model, len(data.train))
        records = run.begin(model, data, config, key, about, **options)
        _follow(run, records, config.n_epochs)

    def _model(self, data: Dataset) -> GrandCanonicalRBM:
        """The model to begin with, with visible biases from the means of the columns."""
        potential, is_spin = self._potential(), data.domain is Domain.SPIN
        random = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(self.seed)))
        rows = np.asarray(data.train[: beginning.MEAN_ROWS], np.float32)
        model = beginning.initial(
            (rows + 1) / 2 if is_spin else rows,
            self._units(data.n_visible),
            potential,
            random,
            visible=UNITS[self.visible or ("spin" if is_spin else "binary")],
            hidden=UNITS[self.hidden],
            weight_scale=checks.number("weight_scale", self.weight_scale, 0.0),
            bias_scale=checks.number("bias_scale", self.bias_scale, 0.0),
        )
        if potential.idle_is_off:
            model = beginning.with_spare_units(model, random, self.config.max_units)
        return model

    @property
    def _config(self) -> Config:
        """The settings, with --max-hidden as the limit of a layer in exchange with a reservoir."""
        if self.potential != "reservoir" or self.max_hidden is None:
            return self.config
        return replace(self.config, max_units=self.max_hidden)

    @property
    def _keeps_log2(self) -> bool:
        keeps_by_default = self.potential in ("unbounded", "local")
        return self.keep_log2 or (keeps_by_default and not self.absorb_log2)

    def _units(self, columns: int) -> int:
        """Units to begin with."""
        if self.max_hidden is not None:
            return self.max_hidden
        if self.potential not in ("unbounded", "reservoir"):
            return 200
        if self.potential == "unbounded" and not self._keeps_log2:
            return growth.FIRST
        most = self.config.max_units
        first = beginning.first_units(columns)
        return first if most is None else min(first, most)

    def _potential(self) -> Any:
        """The potential that the flags describe; a flag that does not apply is an error."""
        needs = {"constant": ("price",)}
        takes = {
            "unbounded": ("price", "absorb_log2"),
            "constant": ("price", "keep_log2"),
            "local": ("price", "absorb_log2"),
            "fixed": (),
            "reservoir": (),
            "penalizing": ("p", "smooth", "keep_log2"),
        }
        for name in ("price", "p", "smooth", "keep_log2", "absorb_log2"):
            value = getattr(self, name)
            is_given = value is not None and value is not False
            if is_given and name not in takes[self.potential]:
                raise ValueError(
                    f"--{name.replace('_', '-')} does not apply to --potential {self.potential}: "
                    "leave it out."
                )
            if value is None and name in needs.get(self.potential, ()):
                raise ValueError(f"--potential {self.potential} needs --{name}: pass a number.")
        absorb = not self._keeps_log2
        match self.potential:
            case "constant":
                return Constant(mu=self.price, absorb_log2=absorb)
            case "unbounded":
                price = self.price
                if price is None:
                    price = 1.0 if absorb else beginning.PRICE
                if self.max_hidden is not None:  # as VRBM(max_hidden) has it
                    return Constant(mu=price, absorb_log2=absorb)
                return Unbounded(mu=price, absorb_log2=absorb)
            case "local":
                settings = {} if self.price is None else {"beta": self.price}
                return Local(**settings, absorb_log2=absorb)
            case "fixed":
                return FixedSize()
            case "reservoir":
                return Reservoir()
            case "penalizing":
                settings = {} if self.p is None else {"p": self.p}
                return Penalizing(**settings, smooth=self.smooth, absorb_log2=absorb)


@dataclass(frozen=True)
class Resume:
    """Resume a run from its newest checkpoint, bit for bit as if there had been no pause."""

    folder: Positional[Path]
    """The run folder."""
    data: str | None = None
    """The data, if they are no longer where the run began with them."""
    checkpoint_seconds: float = 30.0
    """How old the newest checkpoint may be."""

    def run(self) -> None:
        """Train on, with a progress line, and print the last record."""
        run = Run(self.folder)
        facts = run.read_facts()
        if not run.checkpoint.exists():
            raise FileNotFoundError(
                f"{self.folder} has no checkpoint yet: begin anew with vrbm train and this folder."
            )
        lock.check_free(self.folder)
        patience = facts.get("patience")
        stop = None if patience is None else EarlyStopping(patience)
        options = {"every_seconds": self.checkpoint_seconds, "stop": stop}
        records = run.resume(data_of(facts, self.data), **options)
        _follow(run, records, facts["config"]["epochs"])


def _advice(run: Run, total: int, last: Record | None) -> str:
    """How far the run came, and how to resume it."""
    if run.model.exists():
        return f"The run has ended and its model is written: {run.model}"
    resume = f"vrbm resume {shlex.quote(str(run.folder))}"
    if run.saved_epoch is None:
        exists = run.checkpoint.exists()
        return f"To resume: {resume}" if exists else "To begin again, repeat the command."
    reached = run.saved_epoch if last is None else last.epoch
    return (
        f"Epoch {reached} of {total} was done; to resume from the checkpoint of epoch "
        f"{run.saved_epoch}: {resume}"
    )


def _likelihoods(last: Record) -> list[tuple[str, str]]:
    """Rows of the table about the last look."""
    if last.log_likelihood_error is None:
        return []
    if last.log_likelihood_train is None:
        return [("log-likelihood", f"not known: {last.log_likelihood_doubt}")]
    found = [("training", last.log_likelihood_train), ("held-out", last.log_likelihood_heldout)]
    return [
        (f"log-likelihood, {name} rows, nats", f"{value:.2f} ± {last.log_likelihood_error:.2f}")
        for name, value in found
        if value is not None
    ]


def _follow(run: Run, records: Generator[Record, None, None], total: int) -> None:
    """Show a progress line while the records come, then the last of them."""
    console = PlainConsole()
    columns = (
        SpinnerColumn(),
        TextColumn("epoch {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    last: Record | None = None
    process.advice = lambda: _advice(run, total, last)
    bars = Progress(*columns, console=console, disable=not console.is_terminal)
    with closing(records), bars as bar:
        task, describe = None, ProgressLine()
        for record in records:
            if task is None:
                task = bar.add_task("", total=total, completed=record.epoch - 1)
            last = record
            line = describe(record)
            bar.update(task, completed=record.epoch, description=line)
            if not console.is_terminal and record.epoch % max(1, total // 10) == 0:
                console.print(f"epoch {record.epoch}/{total}  {line}", highlight=False)
    if last is None:
        console.print("nothing to do: the run has ended.")
        return
    table = Table(title=f"after {last.epoch} epochs")
    table.add_column("")
    table.add_column("", justify="right")
    facts = (
        *_likelihoods(last),
        ("ε, training rows", f"{last.error_train:.4g}"),
        ("ε, held-out rows", "none" if last.error_heldout is None else f"{last.error_heldout:.4g}"),
        ("mean size ⟨z⟩", f"{last.mean_size:.2f}"),
        ("chemical potential μ", f"{last.mu:.4f}"),
        ("active units K_eff", f"{last.active_units:.1f}"),
        ("phase", last.phase),
    )
    for row in facts:
        table.add_row(*row)
    console.print(table)
    if last.kept_epoch != last.epoch:
        console.print(f"The model kept is that of epoch {last.kept_epoch}, the best look.")
    if last.phase == "collapsed":
        console.print("The model has collapsed to a few units: lower the price or the rate.")
    if last.phase == "saturated":
        console.print("All units are in use: raise --max-hidden, or the price.")
    console.print(f"wrote {run.folder}", soft_wrap=True)
