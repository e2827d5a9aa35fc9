"""`vrbm evaluate`: reconstruction and likelihood of a run side by side."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress
from rich.table import Table
from tyro.conf import Positional

from vrbm.cli import process
from vrbm.cli.console import PlainConsole
from vrbm.cli.run_folder import data_of, model_of
from vrbm.evaluation.likelihood import LogPartition
from vrbm.evaluation.scores import Scores, SplitScores, scores
from vrbm.files import atomic, finite
from vrbm.model import checks
from vrbm.training import checkpoint
from vrbm.training.run import Run


@dataclass(frozen=True)
class Evaluate:
    """Print reconstruction errors and likelihoods of a run, and write RUN/evaluation.json."""

    folder: Positional[Path]
    """The run folder."""
    data: str | None = None
    """ising, mnist, binarized-mnist or digits, or a file; the data of the run by default."""
    chains: int | None = None
    """Annealed chains that estimate log Z, where it cannot be enumerated; as many as needed by
    default, up to 400."""
    temperatures: int | None = None
    """Temperatures of the annealing ladder; as many as needed by default, up to 16,000."""
    seed: int = 0
    """Seed of chains and of sampled reconstructions."""

    def run(self) -> None:
        """Compute the scores, print them, and write them."""
        import jax

        facts = Run(self.folder).read_facts()
        model, file = model_of(self.folder)
        data = data_of(facts, self.data)
        config = checkpoint.restore(facts["config"], f"{self.folder}/run.json")
        kernel = config.negative.reconstruction()
        # A stopped evaluation resumes from the chains that it has done.
        process.advice = "To resume, repeat the command.".format
        identity = hashlib.sha256()
        for array in (model.W, model.b, model.c):  # a run beside may have replaced the file
            identity.update(np.asarray(array).tobytes())
        identity.update(f"{data.content_hash} {self.temperatures} {self.seed}".encode())
        chains = self.folder / f"annealing-{identity.hexdigest()[:12]}"
        console = PlainConsole()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
            task = bars.add_task("annealing", total=None)
            result = scores(
                model,
                data,
                jax.random.key(checks.seed(self.seed)),
                kernel=kernel,
                chains=self.chains,
                temperatures=self.temperatures,
                file=chains,
                progress=lambda done, total: bars.update(task, completed=done, total=total),
            )
        if data.content_hash != facts["data"]["hash"]:
            result.remarks.append("These are not the data that the run was trained on.")
        console.print(_table(result, f"{self.folder}: {data.name}"))
        for line in _notes(result):
            console.print(line, soft_wrap=True, highlight=False)
        written = {
            "model": file.name,
            "data": {"name": data.name, "hash": data.content_hash},
            "seed": self.seed,
            "reconstruction_kernel": checkpoint.describe_kernel(kernel),
            **asdict(result),
            "impossible": [
                one.split
                for one in result.splits
                if one.likelihood is not None and one.likelihood.is_impossible
            ],
        }
        path = self.folder / "evaluation.json"
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(finite(written), indent=1))
        for done in self.folder.glob(f"{chains.name}*"):
            done.unlink(missing_ok=True)  # another evaluation may have
        console.print(f"wrote {path}", soft_wrap=True)


def _table(result: Scores, title: str) -> Table:
    table = Table(title=title)
    table.add_column("")
    for one in result.splits:
        table.add_column(f"{one.split}, {one.reconstruction.rows:,} rows", justify="right")

    def row(name: str, cell: Any) -> None:
        table.add_row(name, *[cell(one) for one in result.splits])

    row(
        "reconstruction ε, mean-field", lambda one: f"{one.reconstruction.mean_field.quadratic:.4g}"
    )
    row("reconstruction ε, rounded", lambda one: f"{one.reconstruction.rounded.quadratic:.4g}")
    row("rows reproduced by rounding", lambda one: f"{one.reconstruction.reproduced:.2%}")
    if result.partition is not None:
        row("log-likelihood, nats", _likelihood)
        row("  between", _bracket)
        for name in result.splits[0].baselines:
            row(f"  {name}", lambda one, name=name: f"{one.baselines[name]:.3f}")
    if result.highest is not None:
        row("exact optimum of these rows", lambda one: f"{one.gap.optimum:.3f}")
        row("gap to it, paired", lambda one: f"{one.gap.mean:.3f} ± {one.gap.rows_error:.3f}")
    return table


def _likelihood(one: SplitScores) -> str:
    found = one.likelihood
    assert found is not None
    if found.is_impossible:
        return "not known"
    error = "" if found.partition_error == 0 else f" ± {found.partition_error:.3f} (log Z)"
    return f"{found.mean:.3f} ± {found.rows_error:.3f} (rows){error}"


def _bracket(one: SplitScores) -> str:
    found = one.likelihood
    assert found is not None
    if found.partition.chains == 0:
        return "exact"
    return f"{found.lower:.3f} and {min(found.upper, 0.0):.3f}"


def _notes(result: Scores) -> list[str]:
    lines = [] if result.partition is None else [_method(result.partition)]
    if result.highest is not None:
        lines.append(f"No model has a higher expected log-likelihood than {result.highest:.3f}.")
    if (units := result.contributions) is not None and units.mean:
        lines.append(
            f"{len(units.mean)} hidden units contribute from {units.mean[0]:.3g} ± "
            f"{units.error[0]:.1g} to {units.mean[-1]:.3g} ± {units.error[-1]:.1g} nats a row to "
            "the log pseudo-likelihood."
        )
    return [*lines, *(f"Note: {remark}" for remark in result.remarks)]


def _method(found: LogPartition) -> str:
    if found.chains == 0:
        return f"log Z = {found.log_partition:.4f}, by enumeration."
    return (
        f"log Z = {found.log_partition:.3f} ± {found.standard_error:.3f} by {found.method}, "
        f"{found.chains} chains ({found.effective_sample_size:.0f} effective), "
        f"{found.temperatures} temperatures; backward {found.backward:.3f} ± "
        f"{found.backward_error:.3f}."
    )
