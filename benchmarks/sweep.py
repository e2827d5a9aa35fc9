"""One layer that finds its size against a sweep of ordinary RBMs, by test log-likelihood.

    python benchmarks/sweep.py FOLDER [--debd FOLDER] [--data NAME …] [--scale X] [--train-only]

Same trainer and same epochs for all; the best of the sweep is chosen by its test likelihood, which
favours the sweep. Models and FOLDER/sweep.json are written after each training and each scoring,
and what is there is not done again, so that one machine may train (--train-only) and another one
score; FOLDER/sweep.md is the table. The sets nltcs, plants, mushrooms and dna are read from
NAME.npz with x_train, x_valid and x_test, in $VRBM_DATA/debd or the folder of --debd. --scale
multiplies epochs, chains and temperatures, for a trial.
"""

import argparse
import json
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

import vrbm
from timing import machine
from vrbm.data import ising
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.digits import digits
from vrbm.evaluation.scores import scores
from vrbm.files import atomic
from vrbm.model import storage
from vrbm.training import Config, Optimizer, Persistent, Tempered, train

SIZES = (16, 32, 64, 128, 256, 512)
#: The most units of the layer that finds its size, for each column and in all: so many cost less
#: than two runs of the sweep.
MOST_PER_COLUMN, MOST = 3, 192
#: Standard deviation of a normal prior of the weights, for all models.
PRIOR = 0.2
#: Epochs by data set, with about as many steps where rows are few.
EPOCHS = {"ising": 60, "digits": 500, "nltcs": 100, "plants": 100, "mushrooms": 500, "dna": 500}
#: Chains, for all models of a set. Those of mushrooms must cross between modes: with plain ones the
#: end of a training is a matter of chance.
CHAINS = dict.fromkeys(EPOCHS, Persistent(k=5, chains=500)) | {
    "mushrooms": Tempered(k=2, betas=10, chains=100)
}
#: Sets that are made, or come with the package.
AT_HAND: dict[str, Callable[[], Dataset]] = {"ising": ising.paper_set, "digits": digits}


def load(name: str, debd: Path) -> Dataset:
    if name in AT_HAND:
        return AT_HAND[name]()
    with np.load(debd / f"{name}.npz") as file:
        train_rows, valid, test = (
            file[f"x_{split}"].astype(np.int8) for split in ("train", "valid", "test")
        )
    return Dataset(name=name, domain=Domain.BINARY, train=train_rows, validation=valid, test=test)


def price(data: Dataset) -> float:
    """N / 2n nats for n rows: what N weights gain in likelihood from noise alone."""
    return data.n_visible / (2 * len(data.train))


def trained(data: Dataset, size: int | None, scale: float, path: Path) -> dict[str, Any]:
    """One training: its seconds and mean size; the model is saved."""
    potential = vrbm.Constant(mu=price(data)) if size is None else vrbm.FixedSize()
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0),
        data.n_visible,
        min(MOST_PER_COLUMN * data.n_visible, MOST) if size is None else size,
        data=data.train,
        weight_scale=1e-2,
        potential=potential,
    )
    chains = CHAINS[data.name]
    config = Config.paper(
        epochs=max(1, round(scale * EPOCHS[data.name])),
        batch_size=100,
        negative=replace(chains, chains=max(1, round(scale * chains.chains))),
        optimizer=Optimizer.paper("sgd", 0.03, decay_from=0.3),
        centred=True,
        penalty=1 / (2 * len(data.train) * PRIOR**2),
        penalty_power=2.0,
    )
    began = time.perf_counter()
    (record,) = deque(train(model, data, config, jax.random.key(1)), maxlen=1)
    seconds = time.perf_counter() - began
    storage.save(record.state.model, path)
    return {"units": model.max_hidden, "mean_size": record.mean_size, "seconds": seconds}


def scored(data: Dataset, scale: float, path: Path) -> dict[str, Any]:
    """The log-likelihoods of a saved model, with the bracket of that of the test rows."""
    found = scores(
        storage.load(path),
        data,
        jax.random.key(2),
        chains=max(2, round(500 * scale)),
        temperatures=max(10, round(5000 * scale)),
    )
    by_split = {one.split: one for one in found.splits}
    test, train_likelihood = by_split["test"].likelihood, by_split["train"].likelihood
    assert test is not None
    assert train_likelihood is not None
    gap = by_split["test"].gap
    return {
        "test": test.mean,
        "lower": test.lower,
        "upper": test.upper,
        "train": train_likelihood.mean,
        "gap": None if gap is None else gap.mean,
        "remarks": found.remarks,
    }


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| data | best RBM | its units | self-sized | bounds | ⟨z⟩ of units | difference | cost |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, found in results.items():
        sweep = [one for key, one in found.items() if key != "self" and "test" in one]
        own = found.get("self")
        if own is None or "test" not in own or not sweep:
            continue
        best = max(sweep, key=lambda one: one["test"])
        cost = own["seconds"] / float(np.mean([one["seconds"] for one in sweep]))
        ends = [own[key] for key in ("test", "lower", "upper")]  # they cross where annealing fails
        lines.append(
            f"| {name} | {best['test']:.3f} | {best['units']} | {own['test']:.3f} | "
            f"{min(ends):.2f} … {max(ends):.2f} | {own['mean_size']:.1f} of {own['units']} | "
            f"{own['test'] - best['test']:+.3f} | {cost:.2f} runs |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--debd", type=Path, default=Path(os.environ.get("VRBM_DATA", "."), "debd"))
    parser.add_argument("--data", nargs="+", choices=list(EPOCHS), default=list(EPOCHS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--train-only", action="store_true", help="leave the scores to a later run")
    options = parser.parse_args()
    files = [options.debd / f"{name}.npz" for name in options.data if name not in AT_HAND]
    if missing := [str(file) for file in files if not file.exists()]:
        parser.error(f"{', '.join(missing)} not found: pass --debd, or choose sets by --data.")
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "sweep.json"
    settings = {
        "scale": options.scale,
        "most": [MOST_PER_COLUMN, MOST],
        "prior": PRIOR,
        "price": "N / 2n",
        "chains": {name: asdict(chains) for name, chains in CHAINS.items()},
        "epochs": EPOCHS,
    }
    known = {"machine": machine(), "settings": settings, "results": {}}
    if path.exists():
        known = json.loads(path.read_text())
        if known["settings"] != settings:
            parser.error(f"{path} was made with {known['settings']}: choose a new folder.")
    results = known["results"]

    def note(name: str, key: str, facts: dict[str, Any]) -> None:
        print(f"{name} {key}: {facts}", flush=True)
        results.setdefault(name, {}).setdefault(key, {}).update(facts)
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(known, indent=1) + "\n")

    for name in options.data:
        data = load(name, options.debd)
        for size in (None, *SIZES):
            key = "self" if size is None else str(size)
            model = options.folder / f"{name}-{key}.safetensors"
            if key not in results.get(name, {}):
                note(name, key, trained(data, size, options.scale, model))
            if not options.train_only and "test" not in results[name][key]:
                note(name, key, scored(data, options.scale, model))
    (options.folder / "sweep.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
