"""`vrbm sample`: draw from the model of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from tyro.conf import Positional, arg

from vrbm.cli.console import PlainConsole
from vrbm.cli.run_folder import model_of
from vrbm.data.text import read_text
from vrbm.evaluation.sampling import sample
from vrbm.files import atomic
from vrbm.model import checks
from vrbm.printable import brief
from vrbm.reading import map_npy


@dataclass(frozen=True)
class Sample:
    """Draw samples from the model of a run, and write them to an npy file."""

    folder: Positional[Path]
    """The run folder."""
    out: Path
    """npy file for the samples: an array (n, N) of the values of the visible units, as int8."""
    n: Annotated[int, arg(aliases=["-n"])] = 100
    """How many samples, each from a chain of its own."""
    clamp: Path | None = None
    """npy or csv file with the values of visible units that are fixed, and nan for the free ones:
    N of them, or a row for each sample."""
    method: Literal["gibbs", "tempered", "annealed"] = "annealed"
    """Gibbs chains, annealed runs from the base rates, or replica exchange."""
    steps: int = 1000
    """Steps of each chain: the last one is the sample."""
    replicas: int = 20
    """Temperatures of replica exchange."""
    seed: int = 0
    """Seed of the draws."""

    def run(self) -> None:
        """Draw and write."""
        import jax

        if self.out.suffix != ".npy":
            raise ValueError(f"--out is {self.out}: the file must end in .npy.")
        model, _ = model_of(self.folder)
        drawn = sample(
            model,
            self.n,
            jax.random.key(checks.seed(self.seed)),
            self.method,
            steps=self.steps,
            replicas=self.replicas,
            clamp=None if self.clamp is None else _read(self.clamp),
        )
        with atomic(self.out) as temporary, temporary.open("wb") as file:
            np.save(file, drawn.astype(np.int8))
        wrote = f"wrote {self.n} samples to {self.out}"
        PlainConsole().print(wrote, soft_wrap=True, highlight=False)


def _read(path: Path) -> np.ndarray:
    """The numbers of an npy or csv file; one line or one column of a csv file is one row."""
    if not path.exists():
        raise FileNotFoundError(f"--clamp is {path}, which is no file.")
    if path.suffix == ".npy":
        values = np.asarray(map_npy(path))
        if values.dtype.kind not in "biuf":
            raise ValueError(f"--clamp is {path}, which holds {values.dtype}: pass numbers.")
        return values
    if path.suffix != ".csv":
        raise ValueError(f"--clamp is {path}: pass a file that ends in .npy or .csv.")
    rows = read_text(path).rows
    if rows.columns is not None:
        raise ValueError(
            f"--clamp is {path}, whose first line is {brief(', '.join(rows.columns), 60)}: pass "
            "numbers and nan alone, without a header."
        )
    values = rows.read(0, rows.shape[0])
    return values.ravel() if 1 in values.shape else values
