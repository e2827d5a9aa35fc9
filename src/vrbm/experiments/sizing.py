"""The size found, against settings that should not matter: rate, batch, initial scale, K, seed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.experiments import ising
from vrbm.experiments.results import Results, Row, row
from vrbm.experiments.study import Preset
from vrbm.experiments.tables import bracket
from vrbm.model import GrandCanonicalRBM
from vrbm.typing import RandomKey

TITLE = "The size that is found, by settings"
#: The two kinds of layer, and what their members are called by.
KINDS = {"ours": "layer without an end, μ = 1", "ansatz": "the paper's ansatz"}
#: What the sizes are to be near, and by how much they may differ.
EXPECTED, WITHIN, SPREAD = ising.N, 6, 0.1

#: The measures of the likelihood, and of the highest that there can be.
LIKELIHOOD, OPTIMUM = ("test", "log_likelihood"), ("test", "gap", "optimum")

load = ising.load


def measures(
    model: GrandCanonicalRBM, data: Dataset, preset: Preset, key: RandomKey
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Nothing beside what is measured on every member."""
    return {}, {}


def members(results: Results, kind: str) -> list[str]:
    """The members of a kind that are measured."""
    return [name for name in results.numbers if name.split("-")[0] == kind]


def label(results: Results, name: str) -> str:
    """Rate, batch, scale and the largest size of a member."""
    member = results.member(name)
    config, most = member["config"], member["max_hidden"]
    most = config["max_units"] if member["potential"]["name"] == "Unbounded" else most
    return (
        f"rate {config['optimizer']['learning_rate']:g}, batch {config['batch_size']}, "
        f"scale {member['weight_scale']:g}" + (f", K = {most:,}" if most else "")
    )


def all_values(results: Results, kind: str, *path: str) -> list[float]:
    """A measure of all trainings of a kind."""
    return [value for name in members(results, kind) for value in results.values(name, *path)]


def spread(sizes: Sequence[float]) -> float:
    """(max − min) / median."""
    return float((max(sizes) - min(sizes)) / np.median(sizes))


def table(results: Results) -> list[Row]:
    """Median and spread over all settings and seeds, then each setting."""
    rows: list[Row] = []
    for kind, title in KINDS.items():
        if sizes := all_values(results, kind, "mean_size"):
            low, high = EXPECTED - WITHIN, EXPECTED + WITHIN
            count = f"{len(sizes)} trainings"
            rows += row(
                f"median of ⟨z⟩, {title}",
                f"about {EXPECTED}",
                [float(np.median(sizes))],
                low=low,
                high=high,
                remark=count,
            )
            rows += row(
                f"(max − min) / median, {title}",
                "",
                [spread(sizes)],
                unit="%",
                high=SPREAD,
                remark=count,
            )
            last = all_values(results, kind, "last_active_unit")
            rows += row(f"last unit with weights, {title}", str(EXPECTED), last)
        if likelihoods := all_values(results, kind, *LIKELIHOOD):
            rows += row(
                f"median test log-likelihood, {title}",
                "",
                [float(np.median(likelihoods))],
                unit="nats",
                remark=f"{len(likelihoods)} trainings",
            )
    for kind, title in KINDS.items():
        for name in members(results, kind):
            member = results.member(name)
            test = max(results.values(name, "test", "error"))
            rows += [
                replace(one, group=f"⟨z⟩: {title}")
                for one in row(
                    label(results, name),
                    "",
                    results.values(name, "mean_size"),
                    remark=f"{member['config']['epochs']:,} epochs, ε_test up to {test:.1e}",
                )
            ]
    for kind, title in KINDS.items():
        for name in members(results, kind):
            rows += [
                replace(one, group=f"test log-likelihood: {title}")
                for one in row(
                    label(results, name),
                    "",
                    results.values(name, *LIKELIHOOD),
                    unit="nats",
                    remark="; ".join(bracket(results, name)),
                )
            ]
    for name in members(results, "phase"):
        phases = [numbers["training"]["phase"] for numbers in results.numbers[name].values()]
        rows += [
            replace(one, group="⟨z⟩ by phase")
            for one in row(
                results.member(name)["title"],
                "",
                results.values(name, "mean_size"),
                remark=", ".join(phases),
            )
        ]
    return rows
