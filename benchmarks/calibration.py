"""How often log Z lies where annealed importance sampling says, on models that are enumerated.

`python benchmarks/calibration.py --out table.md`; a few minutes on two cores.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

import vrbm
from vrbm.estimator.base import Machine
from vrbm.evaluation.likelihood import FEW, LikelihoodWarning, LogPartition, log_partition

#: (visible, hidden) units; models of one shape share their compiled programs.
SHAPES = ((8, 6), (12, 10), (6, 12))
SCALES = (0.3, 1.0, 2.0)
UNITS: tuple[vrbm.Unit, ...] = (vrbm.Binary(), vrbm.Spin())
POTENTIALS: tuple[vrbm.Potential, ...] = (
    vrbm.FixedSize(),
    vrbm.Penalizing(),
    vrbm.Constant(mu=0.7),
)
COLUMNS = (8, 12)
CHAINS, TEMPERATURES = 100, 200


@dataclass(frozen=True)
class Case:
    """A model, and the rows where backward runs start; None for the ends of forward runs."""

    model: vrbm.GrandCanonicalRBM
    starts: np.ndarray | None
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What annealing found beside the truth."""

    found: LogPartition
    truth: float

    @property
    def deviation(self) -> float:
        """(log Ẑ − log Z) / standard error."""
        return (self.found.log_partition - self.truth) / self.found.standard_error

    @property
    def is_in_bracket(self) -> bool:
        """lower ≤ log Z ≤ upper."""
        return self.found.lower <= self.truth <= self.found.upper


def random_cases(count: int) -> Iterator[Case]:
    """Models with normal weights and biases; shapes, scales, units and potentials in turn."""
    kinds = itertools.cycle(itertools.product(SCALES, SHAPES, UNITS, POTENTIALS))
    for seed, (scale, (n, k), units, potential) in zip(range(count), kinds, strict=False):
        rng = np.random.default_rng(seed)
        W = (scale * rng.normal(size=(k, n))).astype(np.float32)
        b, c = rng.normal(size=k).astype(np.float32), rng.normal(size=n).astype(np.float32)
        yield Case(vrbm.GrandCanonicalRBM(W, b, c, units, units, potential), None, seed)


def trained_cases(count: int) -> Iterator[Case]:
    """Estimators after a few epochs on tables of 300 rows near four random ones."""
    kinds = itertools.cycle(itertools.product(COLUMNS, (vrbm.RBM, vrbm.VRBM)))
    for seed, (columns, kind) in zip(range(count), kinds, strict=False):
        rng = np.random.default_rng(1000 + seed)
        centres = rng.integers(0, 2, (4, columns))
        flips = rng.random((300, columns)) < 0.1
        rows = (centres[rng.integers(0, 4, 300)] ^ flips).astype(np.float32)
        machine: Machine = kind(8, n_iter=50, learning_rate=0.1, random_state=seed)
        yield Case(machine.fit(rows).model_, rows, seed)


def outcome(case: Case, chains: int = CHAINS, temperatures: int = TEMPERATURES) -> Outcome:
    """Annealing of a model whose log Z is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikelihoodWarning)
        found = log_partition(
            case.model,
            jax.random.key(case.seed),
            chains=chains,
            temperatures=temperatures,
            starts=case.starts,
            enumerate_small=False,
        )
    return Outcome(found, float(vrbm.exact.log_partition(case.model)))


def row(name: str, outcomes: list[Outcome]) -> str:
    """One line of the table."""
    t = np.abs([one.deviation for one in outcomes])
    few = sum(one.found.effective_sample_size < FEW for one in outcomes)
    cells = [
        name,
        str(len(t)),
        *(f"{np.mean(t <= errors):.1%}" for errors in (1, 2, 3)),
        f"{t.max():.1f}",
        f"{np.mean([one.is_in_bracket for one in outcomes]):.1%}",
        str(few),
    ]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| models | number | within 1 error | 2 errors | 3 errors | furthest, errors | in the bracket "
    "| fewer than 10 effective chains |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    "| nominal | | 68.3% | 95.4% | 99.7% | | ≥ 95.4% | |"
)


def table(random: list[Outcome], trained: list[Outcome]) -> str:
    """Both kinds, and the random models by the scale of their weights and if they are trusted."""
    size = len(SHAPES) * len(UNITS) * len(POTENTIALS)
    lines = [HEAD, row("random", random)]
    for at, scale in enumerate(SCALES):
        same = [one for i, one in enumerate(random) if i // size % len(SCALES) == at]
        lines += [row(f"– weights of standard deviation {scale}", same)] if same else []
    trusted = [one for one in random if one.found.effective_sample_size >= FEW]
    lines += [row("– with 10 effective chains or more", trusted)]
    return "\n".join([*lines, row("trained", trained)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=500, help="random models")
    parser.add_argument("--trained", type=int, default=50, help="trained models")
    parser.add_argument("--chains", type=int, default=CHAINS)
    parser.add_argument("--temperatures", type=int, default=TEMPERATURES)
    parser.add_argument("--out", type=Path, help="a markdown file for the table")
    given = parser.parse_args()
    began = time.perf_counter()
    random, trained = (
        [outcome(case, given.chains, given.temperatures) for case in cases]
        for cases in (random_cases(given.random), trained_cases(given.trained))
    )
    found = table(random, trained)
    print(found)
    print(f"{time.perf_counter() - began:.0f} s")
    if given.out is not None:
        given.out.write_text(f"{found}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
