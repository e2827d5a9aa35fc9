"""Likelihoods of the estimators as a user calls them, beside baselines.

    python benchmarks/trust.py FOLDER [--debd FOLDER] [--data NAME …] [--models NAME …] [--seeds N]

For each set and seed, `VRBM()`, `VRBM(potential=0.2)`, `RBM(128)` and
`RBM(128, early_stopping=True)` are fitted to the training rows and scored on the test rows; the
validation rows are what the last one stops by.
FOLDER/trust.jsonl gets a line for each fit, and what is there is not done again; FOLDER/trust.md is
the table. The sets of the DEBD collection are read from NAME.npz with x_train, x_valid and x_test,
in $VRBM_DATA/debd or the folder of --debd.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from vrbm import RBM, VRBM
from vrbm.data import ising
from vrbm.data.dataset import Domain
from vrbm.data.digits import digits
from vrbm.estimator import ImpossibleLikelihood
from vrbm.evaluation.likelihood import LikelihoodWarning
from vrbm.files import atomic

DEBD = (
    "nltcs",
    "plants",
    "mushrooms",
    "dna",
    "baudio",
    "jester",
    "accidents",
    "tretail",
    "kosarek",
    "cwebkb",
)
MADE = ("digits", "ising", "copies", "planted")
MODELS: dict[str, Any] = {
    "VRBM()": lambda seed: VRBM(random_state=seed),
    "VRBM(potential=0.2)": lambda seed: VRBM(potential=0.2, random_state=seed),
    "RBM(128)": lambda seed: RBM(128, random_state=seed),
    "RBM(128, early_stopping=True)": lambda seed: RBM(128, early_stopping=True, random_state=seed),
}


def load(name: str, debd: Path) -> list[np.ndarray]:
    """Training, validation and test rows."""
    if name == "copies":  # ten copies of one bit: the entropy is log 2
        bits = np.random.RandomState(0).randint(0, 2, (3000, 1))
        return np.split(np.repeat(bits, 10, axis=1).astype(np.int8), [1000, 2000])
    if name == "planted":  # five factors, each behind six of thirty items
        random = np.random.RandomState(0)
        factors = np.repeat(random.randint(0, 2, (4000, 5)), 6, axis=1)
        items = random.rand(4000, 30) < np.where(factors, 0.9, 0.1)
        return np.split(items.astype(np.int8), [2000, 3000])
    if name in ("digits", "ising"):
        data = digits(Domain.BINARY) if name == "digits" else ising.paper_set()
        train, valid = np.split(data.train, [len(data.train) * 9 // 10])
        assert data.test is not None
        return [train, valid, data.test]
    with np.load(debd / f"{name}.npz") as file:
        return [file[f"x_{split}"].astype(np.int8) for split in ("train", "valid", "test")]


def fitted(name: str, model: str, seed: int, debd: Path) -> dict[str, Any]:
    """One fit and its score on test rows, with what the library says of it."""
    train, valid, test = load(name, debd)
    machine = MODELS[model](seed)
    found: dict[str, Any] = {"data": name, "model": model, "seed": seed}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        machine.fit(train, X_val=valid if machine.early_stopping else None)
        found |= {"fit_seconds": time.perf_counter() - began, "size": machine.n_hidden_}
        began = time.perf_counter()
        try:
            found["score"] = machine.score(test)
            found["bracket"] = machine.score_bracket(test)
        except ImpossibleLikelihood as error:
            found["refused"] = str(error)
        found["score_seconds"] = time.perf_counter() - began
    found["baselines"] = machine.baselines(test)
    found["warnings"] = [
        str(one.message) for one in caught if issubclass(one.category, LikelihoodWarning)
    ]
    last = machine.history_[-1]
    found["epochs"], found["kept_epoch"] = machine.n_iter_, last["kept_epoch"]
    found["replicas"] = bool(last["swap_rates"])
    return found


def table(lines: list[dict[str, Any]]) -> str:
    """Seeds side by side: scores and their lower ends, the widest bracket, and what was said."""
    text = "| data | model | units | test rows (lower end) | bracket | tree | said |\n"
    text += "| --- | --- | ---: | --- | ---: | ---: | --- |\n"
    for name in (*DEBD, *MADE):
        for model in MODELS:
            mine = [one for one in lines if (one["data"], one["model"]) == (name, model)]
            mine.sort(key=lambda one: one["seed"])
            if not mine:
                continue
            scores = [
                f"{one['score']:.2f} ({one['bracket'][0]:.2f})" if "score" in one else "refused"
                for one in mine
            ]
            widths = [np.ptp(one["bracket"]) for one in mine if "bracket" in one]
            tree = mine[0]["baselines"].get("a Chow-Liu tree", np.nan)
            said = sum(bool(one["warnings"]) or "refused" in one for one in mine)
            text += (
                f"| {name} | `{model}` | {', '.join(str(one['size']) for one in mine)} | "
                f"{', '.join(scores).replace('-', '−')} | {max(widths, default=np.nan):.2f} | "
                f"{tree:.2f} | {f'{said} of {len(mine)} warned' if said else ''} |\n"
            )
    return text


def main() -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--debd", type=Path)
    parser.add_argument("--data", nargs="+", choices=(*DEBD, *MADE), default=(*DEBD, *MADE))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    debd = given.debd or Path(os.environ.get("VRBM_DATA", "data")) / "debd"
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / "trust.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(one["data"], one["model"], one["seed"]) for one in lines}
    for seed in range(given.seeds):
        for name in given.data:
            for model in given.models:
                if (name, model, seed) in done:
                    continue
                lines.append(fitted(name, model, seed, debd))
                print(json.dumps(lines[-1]), flush=True)
                with atomic(path) as temporary:
                    temporary.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    with atomic(given.folder / "trust.md") as temporary:
        temporary.write_text(table(lines))


if __name__ == "__main__":
    main()
