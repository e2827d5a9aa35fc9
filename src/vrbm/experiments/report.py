"""Reports: the table, the figures and the page of a study, and the page of a single run."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from vrbm import stored
from vrbm.evaluation import effective_units, row_averages
from vrbm.experiments.catalogue import EXPERIMENTS
from vrbm.experiments.conduct import learning_curve, likelihood_looks
from vrbm.experiments.environment import environment
from vrbm.experiments.figures import FIGURES
from vrbm.experiments.folder import StudyFolder
from vrbm.experiments.results import Results, Row, number
from vrbm.files import atomic
from vrbm.model import storage
from vrbm.report import figures, plots
from vrbm.report.page import Page, Picture, write
from vrbm.training.run import Run


def report(folder: Path) -> Path:
    """Write FOLDER/report.html for a study or a run, with its figures beside it; the path."""
    if StudyFolder(folder).facts.exists():
        study_report(folder)
    elif Run(folder).facts.exists():
        _run_report(Run(folder))
    else:
        raise FileNotFoundError(
            f"{folder} has neither study.json nor run.json: pass the folder of vrbm reproduce or "
            "of vrbm train."
        )
    return folder / "report.html"


def study_report(folder: Path) -> list[Row]:
    """Write table, figures and page of a study; the rows of the table."""
    results = Results(folder)
    facts = results.facts
    experiment = EXPERIMENTS[facts["experiment"]]
    if not results.numbers:
        raise ValueError(f"{folder} has no measured member yet: go on with vrbm reproduce.")
    rows = experiment.table(results)
    with atomic(folder / "table.json") as temporary:
        temporary.write_text(json.dumps([row.facts() for row in rows], indent=1))
    with atomic(folder / "table.md") as temporary:
        temporary.write_text(markdown(rows), encoding="utf-8")
    pictures = []
    for name, (figure, caption) in FIGURES[facts["experiment"]](results).items():
        png, _ = figures.save(figure, folder / "figures" / name)
        pictures.append(Picture(png, caption))
    measured = sum(map(len, results.numbers.values()))
    planned = sum(len(member["seeds"]) for member in facts["members"].values())
    summary = [
        f"The {facts['preset']} preset of the paper's experiment, on {facts['train_rows']:,} "
        f"training and {facts['test_rows']:,} test rows: {len(results.numbers)} kinds of model, "
        f"{measured} trainings."
    ]
    if measured < planned:
        summary.append(f"The study is not complete: {planned - measured} trainings are missing.")
    settings = {
        f"{name}: {member['title']}, K = {member['max_hidden']:,}": _flat(member)
        for name, member in facts["members"].items()
    }
    page = Page(
        title=experiment.TITLE,
        summary=summary,
        rows=[row.facts() for row in rows],
        pictures=pictures,
        notes=_notes(results),
        settings=settings,
        environment=_flat(facts["environment"]),
        commands=[
            f"vrbm reproduce {facts['experiment']} --preset {facts['preset']} "
            f"--out {folder.resolve().name}"
        ],
    )
    write(page, folder / "report.html")
    return rows


def markdown(rows: list[Row]) -> str:
    """The table for a page of documentation."""
    lines = ["| quantity | paper | ours | counts as agreeing | verdict |", "| --- " * 5 + "|"]
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            lines.append(f"| **{group}** | | | | |")
        ours = f"{row.ours}; {row.remark}" if row.remark else row.ours
        cells = (row.quantity, row.paper, ours, row.accepted, row.verdict)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def export(folder: Path, target: Path) -> None:
    """Copy what the report of a study is made from, without models, and the report's parts."""
    if not StudyFolder(folder).facts.exists():
        raise ValueError(f"{folder} is no study: only a study has records to export.")
    wanted = ("study.json", "table.json", "table.md", "figures/*.png", "runs/*/measures.json")
    for pattern in (*wanted, "runs/*/arrays.npz"):
        for path in sorted(folder.glob(pattern)):
            with atomic(target / path.relative_to(folder)) as temporary:
                temporary.write_bytes(path.read_bytes())


def _notes(results: Results) -> list[str]:
    """Doubts about likelihoods, and trainings that did not end in the regular phase."""
    notes = []
    for name, seeds in results.numbers.items():
        for seed, numbers in seeds.items():
            notes += [f"{name}, seed {seed}: {remark}" for remark in numbers["remarks"]]
            if numbers["training"]["phase"] in ("collapsed", "saturated"):
                notes.append(f"{name}, seed {seed}: {numbers['training']['phase']}.")
    return notes


def _run_report(run: Run) -> None:
    """The page of one training."""
    facts, records = run.read_facts(), run.read_records()
    if not records:
        raise ValueError(f"{run.folder} has no records yet: train for one epoch at least.")
    last = records[-1]
    shown = {
        "ε, training rows": last["error_train"],
        "ε, held-out rows": last["error_heldout"],
        "mean size ⟨z⟩": last["mean_size"],
        "chemical potential μ": last["mu"],
        "active units, smooth count": last["active_units"],
        "seconds of training": sum(record["seconds"] for record in records),
    }
    pictures = []
    curve = learning_curve(records)
    curves = {0: {name.removeprefix("curve_"): value for name, value in curve.items()}}
    made = {"learning": (plots.learning_curves(curves), "Errors and mean size against epochs.")}
    looks = likelihood_looks(records)
    if np.isfinite(looks["train"]).any():
        caption = "The mean log-likelihood against epochs, in nats, by short annealing both ways."
        made["likelihood"] = (plots.likelihood_curve(looks), caption)
        for name, rows_of in (("train", "training"), ("heldout", "held-out")):
            known = np.flatnonzero(np.isfinite(looks[name]))
            if known.size:
                value, epoch = looks[name][known[-1]], int(looks["epoch"][known[-1]])
                shown[f"log-likelihood, {rows_of} rows, nats (epoch {epoch})"] = value
    if run.model.exists():
        model = storage.load(run.model)
        weights, biases = row_averages(model)
        shown["last unit with weights"] = effective_units(model).last_by_weights
        made["weights"] = (
            plots.weights_and_biases(weights, biases, most=len(weights)),
            "Row average of |w| and |b| of the hidden units.",
        )
    rows = [
        {"group": "", "quantity": quantity, "ours": number(value), "remark": ""}
        for quantity, value in shown.items()
        if value is not None and np.isfinite(value)
    ]
    notes: list[str] = []
    evaluation = run.folder / "evaluation.json"
    if evaluation.exists():
        found = stored.read_json(evaluation)
        _check_evaluation(found, str(evaluation))
        if found["data"]["hash"] == facts["data"]["hash"] and found["model"] == run.model.name:
            rows += _evaluated(found)
            notes = found["remarks"]
            if (units := found.get("contributions")) is not None:
                made["contributions"] = (
                    plots.contributions(np.array(units["mean"]), np.array(units["error"])),
                    "What each hidden unit contributes to the log pseudo-likelihood of training "
                    "rows.",
                )
        else:
            notes = ["evaluation.json is of other data or of an earlier model: evaluate again."]
    for stem, (figure, caption) in made.items():
        png, _ = figures.save(figure, run.folder / "figures" / stem)
        pictures.append(Picture(png, caption))
    name = run.folder.resolve().name
    state = "ended" if run.model.exists() else "not ended yet"
    page = Page(
        title=f"A training on {facts['data']['name']}",
        summary=[f"After {last['epoch']} epochs, {state}; phase: {last['phase']}."],
        rows=rows,
        pictures=pictures,
        notes=notes,
        settings={"Settings of the run": _flat({k: v for k, v in facts.items() if k != "data"})},
        environment=_flat(environment()),
        commands=[
            *([] if run.model.exists() else [f"vrbm resume {name}"]),
            f"vrbm evaluate {name}",
        ],
    )
    write(page, run.folder / "report.html")


def _check_evaluation(found: dict[str, Any], where: str) -> None:
    """Raise if this is not what `vrbm evaluate` writes."""
    stored.fact(stored.fact(found, "data", dict, where), "hash", str, where)
    for name, hint in (("model", str), ("remarks", list[str]), ("splits", list[dict])):
        stored.fact(found, name, hint, where)
    stored.fact({"impossible": [], **found}, "impossible", list[str], where)
    units = stored.fact({"contributions": None, **found}, "contributions", dict | None, where)
    if units is not None:
        means, errors = (stored.fact(units, n, list[float], where) for n in ("mean", "error"))
        if len(means) != len(errors):
            raise ValueError(f"{where} has {len(means)} contributions with {len(errors)} errors.")
    for split in found["splits"]:
        stored.fact(split, "split", str, where)
        stored.fact({"baselines": {}, **split}, "baselines", dict[str, float], where)
        likelihood = stored.fact(split, "likelihood", dict | None, where)
        for name in () if likelihood is None else ("mean", "lower", "upper"):
            stored.fact(likelihood, name, float if name == "mean" else float | None, where)


def _evaluated(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Likelihoods that `vrbm evaluate` has written."""
    rows = []
    for split in found["splits"]:
        if (likelihood := split["likelihood"]) is not None:
            ends = [likelihood["lower"], likelihood["upper"]]
            known = all(end is not None for end in ends)
            remark = f"between {ends[0]:.3f} and {ends[1]:.3f}" if known else ""
            rows.append(
                {
                    "group": "",
                    "quantity": f"log-likelihood, {split['split']} rows",
                    "ours": "not known"
                    if split["split"] in found.get("impossible", [])
                    else f"{likelihood['mean']:.3f} nats",
                    "remark": remark,
                }
            )
            rows += [
                {"group": "", "quantity": f"  {name}", "ours": f"{value:.3f} nats", "remark": ""}
                for name, value in split.get("baselines", {}).items()
            ]
    return rows


def _flat(facts: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested facts as one level, with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value is not None:
            listed = isinstance(value, list | tuple)
            flat[f"{prefix}{name}"] = ", ".join(map(str, value)) if listed else value
    return flat
