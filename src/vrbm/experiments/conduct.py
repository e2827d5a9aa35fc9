"""Conduct a study: train every member with every seed, measure it, keep it all in a folder."""

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from vrbm import stored
from vrbm.data.dataset import Dataset
from vrbm.experiments import catalogue, measure
from vrbm.experiments.environment import environment
from vrbm.experiments.folder import StudyFolder
from vrbm.experiments.study import Member, Preset
from vrbm.files import atomic, finite
from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training.run import Run

#: Told what is done, and how far it is: a name, a share from 0 to 1, a few words.
Progress = Callable[[str, float, str], None]


def conduct(
    preset: Preset,
    folder: Path,
    data: Dataset,
    *,
    members: Iterable[str] | None = None,
    seeds: Iterable[int] | None = None,
    progress: Progress = lambda name, share, line: None,
) -> None:
    """Train and measure what is not done yet. A study that was stopped goes on where it was.

    Several processes may work on one folder at once if `members` or `seeds` keep them apart.
    """
    study = StudyFolder(Path(folder))
    chosen = list(preset.members) if members is None else list(members)
    for name in chosen:
        if name not in preset.members:
            raise ValueError(f"members names {name!r}: choose from {', '.join(preset.members)}.")
    known = {seed for name in chosen for seed in preset.members[name].seeds}
    wanted = known if seeds is None else set(seeds)
    if strange := wanted - known:
        raise ValueError(f"seeds names {sorted(strange)}: choose from {sorted(known)}.")
    _begin(study, preset, data)
    for name in chosen:
        member = preset.members[name]
        for seed in (seed for seed in member.seeds if seed in wanted):
            if study.measures(name, seed).exists():
                continue
            tell = partial(progress, f"{name}, seed {seed}")
            _train(study.run(name, seed), member, seed, data, tell)
            tell(1.0, "measuring")
            measured = replace(preset, annealing=member.annealing or preset.annealing)
            _measure(study, name, seed, measured, data)


def _begin(study: StudyFolder, preset: Preset, data: Dataset) -> None:
    """Write the settings, or compare them with those that are there."""
    facts = {**preset.facts(), "data": {"name": data.name, "hash": data.content_hash}}
    facts = json.loads(json.dumps(facts))
    found_files = study.path.exists() and any(
        path.suffix != ".part" for path in study.path.iterdir()
    )
    if study.facts.exists():
        found = stored.read_json(study.facts)
        if any(found.get(name) != value for name, value in facts.items()):
            raise ValueError(
                f"{study.path} holds a study with other settings or data: choose a new folder."
            )
        return
    if found_files:  # looked for first: another process may just have written the settings
        raise ValueError(f"{study.path} is not empty and holds no study: choose a new folder.")
    with atomic(study.facts) as temporary:
        temporary.write_text(json.dumps({**facts, "environment": environment()}, indent=1))


def _train(
    run: Run, member: Member, seed: int, data: Dataset, progress: Callable[[float, str], None]
) -> None:
    if run.model.exists():
        return
    if run.checkpoint.exists():
        records = run.resume(data)
    else:
        start_key, key = jax.random.split(jax.random.key(seed))
        model = GrandCanonicalRBM.initialize(
            start_key,
            data.n_visible,
            member.max_hidden,
            data=data.train if member.bias_from_data else None,
            weight_scale=member.weight_scale,
            bias_scale=member.bias_scale,
            potential=member.potential,
        )
        about = {"source": data.name, "seed": seed, "patience": None}
        records = run.begin(model, data, member.config, key, about)
    with closing(records):
        for record in records:
            line = f"ε {record.error_train:.2g}  ⟨z⟩ {record.mean_size:.1f}  μ {record.mu:.3f}"
            progress(record.epoch / member.config.n_epochs, line)


def _measure(study: StudyFolder, name: str, seed: int, preset: Preset, data: Dataset) -> None:
    run = study.run(name, seed)
    model = storage.load(run.model)
    key, own_key = jax.random.split(jax.random.key(seed))
    numbers, arrays = measure.measures(model, data, preset, key)
    own_numbers, own_arrays = catalogue.EXPERIMENTS[preset.experiment].measures(
        model, data, preset, own_key
    )
    numbers |= own_numbers
    records = run.read_records()
    numbers["training"] = {
        "epochs": records[-1]["epoch"],
        "seconds": sum(record["seconds"] for record in records),
        "phase": records[-1]["phase"],
    }
    arrays |= own_arrays | learning_curve(records)
    with atomic(study.arrays(name, seed)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    with atomic(study.measures(name, seed)) as temporary:
        temporary.write_text(json.dumps(finite(numbers), indent=1))


def likelihood_looks(records: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Epoch, log-likelihood of training and held-out rows, and its error, of each look.

    NaN where it could not be trusted, or where there are no such rows.
    """
    looks = [record for record in records if record.get("chain_correlation") is not None]
    names = {
        "epoch": "epoch",
        "train": "log_likelihood_train",
        "heldout": "log_likelihood_heldout",
        "error": "log_likelihood_error",
    }
    return {
        key: np.array([look[name] for look in looks], np.float64) for key, name in names.items()
    }


def learning_curve(records: list[dict[str, Any]], points: int = 200) -> dict[str, np.ndarray]:
    """Epoch, ε_train, ε_test and ⟨z⟩ at most `points` epochs, evenly spaced in log epoch."""
    chosen = np.unique(np.geomspace(1, len(records), points).round().astype(int)) - 1
    names = {
        "curve_epoch": "epoch",
        "curve_error_train": "error_train",
        "curve_error_test": "error_heldout",
        "curve_mean_size": "mean_size",
        "curve_mu": "mu",
    }
    return {
        key: np.array([records[i][name] for i in chosen], np.float64) for key, name in names.items()
    }
