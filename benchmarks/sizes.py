"""Sizes that `VRBM()` finds, and their likelihoods, against what should not matter and what should.

    python benchmarks/sizes.py FOLDER [--debd FOLDER] [--data NAME …] [--seeds N] [--quick]

Each line of FOLDER/sizes.jsonl is a fit to the training rows of a set, scored on its validation
rows; what is there is not done again. The studies:

- seeds: defaults, with N seeds;
- early stopping by the validation rows, the rate times and divided by 3, batches of 50 and 500,
  half and a quarter of the rows: each with a seed of its own;
- planted: 1, 5, 10, 20 and 40 factors of six noisy columns each, independent columns, copies of a
  bit;
- sweep: ordinary RBMs of 16 to 512 units with early stopping by the validation rows.

FOLDER/sizes.md and FOLDER/sizes.svg are made from the lines. --quick leaves out all but seeds and
planted.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from trust import DEBD, load
from vrbm import RBM, VRBM
from vrbm.estimator import ImpossibleLikelihood
from vrbm.files import atomic

SETS = (*DEBD, "digits", "ising")
PLANTED = {f"planted {k}": k for k in (1, 5, 10, 20, 40)}
MADE = (*PLANTED, "independent", "copies")
SWEEP = (16, 32, 64, 128, 256, 512)
VARIED: dict[str, dict[str, Any]] = {
    "early stopping": {"early_stopping": True},
    "rate ÷ 3": {"rate": 1 / 3},
    "rate × 3": {"rate": 3.0},
    "batches of 50": {"batch_size": 50},
    "batches of 500": {"batch_size": 500},
    "half the rows": {"part": 0.5},
    "a quarter of the rows": {"part": 0.25},
}


def rows_of(name: str, debd: Path) -> tuple[np.ndarray, np.ndarray]:
    """Training and validation rows."""
    random = np.random.RandomState(7)
    if name in PLANTED:
        factors = np.repeat(random.randint(0, 2, (6000, PLANTED[name])), 6, axis=1)
        rows = random.rand(*factors.shape) < np.where(factors, 0.9, 0.1)
        return np.split(rows.astype(np.int8), [4000])[0], rows[4000:].astype(np.int8)
    if name == "independent":
        rows = random.rand(6000, 50) < random.rand(50)
        return rows[:4000].astype(np.int8), rows[4000:].astype(np.int8)
    train, valid, _ = load(name, debd)
    return train, valid


def fitted(job: dict[str, Any], debd: Path) -> dict[str, Any]:
    """One fit and its score on validation rows."""
    train, valid = rows_of(job["data"], debd)
    settings = dict(VARIED.get(job["study"], {}))
    train = train[: int(settings.pop("part", 1.0) * len(train))]
    rate = settings.pop("rate", None)
    if rate is not None:  # the default is √(B/100) for batches of B rows
        settings["learning_rate"] = rate * min(1.0, (max(10, len(train) // 20) / 100) ** 0.5)
    if "units" in job:
        machine: Any = RBM(job["units"], early_stopping=True, random_state=job["seed"])
    else:
        machine = VRBM(random_state=job["seed"], **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        machine.fit(train, X_val=valid if machine.early_stopping else None)
        seconds = time.perf_counter() - began
        found = job | {"size": machine.n_hidden_, "seconds": seconds}
        try:
            found["score"] = machine.score(valid)
            found["bracket"] = machine.score_bracket(valid)
        except ImpossibleLikelihood as error:
            found["refused"] = str(error)
    found["warnings"] = [f"{one.category.__name__}: {one.message}" for one in caught]
    return found


def jobs(names: list[str], seeds: int, is_quick: bool) -> list[dict[str, Any]]:
    """What there is to do, seeds first."""
    made = [name for name in names if name in MADE]
    real = [name for name in names if name not in MADE]
    todo = [
        {"study": "seeds", "data": name, "seed": seed}
        for seed in range(seeds)
        for name in (*made, *real)
    ]
    if is_quick:
        return todo
    todo += [
        {"study": "sweep", "data": name, "seed": 0, "units": units}
        for units in SWEEP
        for name in real
    ]
    return todo + [
        {"study": study, "data": name, "seed": seeds + number}
        for number, study in enumerate(VARIED)
        for name in real
    ]


def table(lines: list[dict[str, Any]]) -> str:
    """Sizes and likelihoods by set: over seeds, with other settings, and the best of the sweep.

    *Spread* is the largest size over the smallest, by seeds; *cost* the time of a fit over that of
    an average one of the sweep, of fits whose lines have a time: those made side by side.
    """
    studies = [s for s in VARIED if any(one["study"] == s for one in lines)]
    text = "| data | sizes by seed | spread | validation rows | best of the sweep (units) | cost |"
    text += "".join(f" {study} |" for study in studies) + "\n"
    text += "| --- " * (6 + len(studies)) + "|\n"
    for name in (*MADE, *SETS):
        mine = [one for one in lines if one["data"] == name]
        seeds = sorted((x for x in mine if x["study"] == "seeds"), key=lambda one: one["seed"])
        if not seeds:
            continue
        sweep = [x for x in mine if x["study"] == "sweep" and "score" in x]
        best = max(sweep, key=lambda one: one["score"], default=None)
        by_study = {x["study"]: x for x in mine if x["study"] in studies}
        sizes = [x["size"] for x in seeds]
        measured = [[x["seconds"] for x in part if x["seconds"]] for part in (seeds, sweep)]
        times = [np.mean(part) for part in measured if part]
        cells = [
            name,
            ", ".join(str(one["size"]) for one in seeds),
            f"{max(sizes) / min(sizes):.2f} ({len(sizes)})",
            ", ".join(_score(one) for one in seeds),
            "" if best is None else f"{_score(best)} ({best['units']})",
            f"{times[0] / times[1]:.1f}" if len(times) == 2 else "",
            *(
                f"{by_study[s]['size']}, {_score(by_study[s])}" if s in by_study else ""
                for s in studies
            ),
        ]
        text += "| " + " | ".join(cells) + " |\n"
    return text


def _score(one: dict[str, Any]) -> str:
    """The score, and the lower end of its bracket."""
    if "score" not in one:
        return "refused"
    return f"{one['score']:.2f} ({one['bracket'][0]:.2f})".replace("-", "−")


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """The sizes found against those planted, and the likelihood beside that of the sweep."""
    mpl.use("svg")
    import matplotlib.pyplot as plt

    real = [x for x in SETS if any((x, "sweep") == (one["data"], one["study"]) for one in lines)]
    figure, axes = plt.subplots(
        1, 1 + bool(real), figsize=(5 + 5 * bool(real), 4), layout="constrained", squeeze=False
    )
    left = axes[0, 0]
    found = [one for one in lines if one["data"] in PLANTED and one["study"] == "seeds"]
    ends = (0.8, 55)
    left.plot(ends, ends, color="0.8", zorder=0)
    sizes = [one["size"] for one in found]
    left.plot([PLANTED[one["data"]] for one in found], sizes, "o", alpha=0.6)
    left.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    left.set(xlabel="planted factors", ylabel="units found")
    if real:
        _draw_sweep(lines, real, axes[0, 1])
    with atomic(path) as temporary:
        figure.savefig(temporary, format="svg")


def _draw_sweep(lines: list[dict[str, Any]], real: list[str], right: Any) -> None:
    """Likelihoods of validation rows less that of the best RBM of the sweep, against sizes."""
    for name in real:
        mine = [one for one in lines if one["data"] == name and "score" in one]
        best = max(x["score"] for x in mine if x["study"] == "sweep")
        for study, marker, colour in (("sweep", ".", "0.6"), ("seeds", "o", "C0")):
            chosen = [one for one in mine if one["study"] == study]
            gaps = [one["score"] - best for one in chosen]
            right.plot([one["size"] for one in chosen], gaps, marker, color=colour, alpha=0.7)
            if study == "seeds" and chosen:
                right.annotate(name, (chosen[0]["size"], gaps[0]), fontsize=7)
    right.axhline(0, color="0.8", zorder=0)
    right.set(
        xscale="log", ylim=(-1.5, 0.7), xlabel="units", ylabel="nats beside the best of the sweep"
    )


def main() -> None:
    """Run what is missing, and write table and figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--debd", type=Path)
    parser.add_argument("--data", nargs="+", choices=(*MADE, *SETS), default=[*MADE, *SETS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    debd = given.debd or Path(os.environ.get("VRBM_DATA", "data")) / "debd"
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / "sizes.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    keys = ("study", "data", "seed", "units")
    done = {tuple(one.get(key) for key in keys) for one in lines}
    for job in jobs(given.data, given.seeds, given.quick):
        if tuple(job.get(key) for key in keys) in done:
            continue
        lines.append(fitted(job, debd))
        print(json.dumps(lines[-1]), flush=True)
        with atomic(path) as temporary:
            temporary.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    with atomic(given.folder / "sizes.md") as temporary:
        temporary.write_text(table(lines))
    draw(lines, given.folder / "sizes.svg")


if __name__ == "__main__":
    main()
