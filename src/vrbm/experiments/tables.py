"""Parts of the table that both experiments share."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vrbm.experiments.results import Results, Row, row
from vrbm.training import MeanField

#: Observables of samples, for one spin of the mixture of temperatures.
THERMODYNAMICS = {
    "energy": "energy",
    "abs_magnetization": "magnetization |m|",
    "energy_variance": "variance of the energy",
}


def title(results: Results, name: str) -> str:
    """The member's title, with its number of units."""
    member = results.member(name)
    return f"{member['title']}, K = {member['max_hidden']:,}"


def likelihood_members(results: Results) -> list[str]:
    """Members whose likelihood is reported: the main ones, and all that are trained for it."""
    names = [
        name
        for name in results.numbers
        if name in ("vrbm", "rbm")
        or results.member(name)["config"]["negative"]["name"] != MeanField.__name__
    ]
    return sorted(names, key=lambda name: name.startswith("rbm"))


def likelihood(results: Results, name: str) -> list[Row]:
    """What the paper does not report: likelihood with its bracket, gap, thermodynamics."""
    of, heading = results.values, title(results, name)
    test, train = of(name, "test", "log_likelihood"), of(name, "train", "log_likelihood")
    remarks = bracket(results, name)
    if optimum := of(name, "test", "gap", "optimum"):
        remarks.append(f"exact optimum of these rows {optimum[0]:.3f}")
    overfit = [a - b for a, b in zip(train, test, strict=True)]
    rows = [
        *row("test log-likelihood", "", test, unit="nats", remark="; ".join(remarks)),
        *row("gap to the exact optimum", "", of(name, "test", "gap", "mean"), unit="nats"),
        *row("training less test log-likelihood", "", overfit, unit="nats"),
        *row("test error ε", "", of(name, "test", "error")),
        *row("mean size ⟨z⟩", "", of(name, "mean_size")),
    ]
    for quantity, label in THERMODYNAMICS.items():
        off = of(name, "thermodynamics", quantity, "relative")
        rows += row(f"{label} of samples, off by", "", off, unit="%")
    for quantity, label in THERMODYNAMICS.items():
        off = of(name, "weighted", quantity, "relative")
        if len(off) == len(test):
            rows += row(f"{label} by weighted exact draws, off by", "", off, unit="%")
    return [replace(one, group=heading) for one in rows]


def bracket(results: Results, name: str) -> list[str]:
    """Remarks on the test log-likelihood of a member: its bounds, and the seeds to doubt."""
    of = results.values
    test = of(name, "test", "log_likelihood")
    lower, upper = of(name, "test", "lower"), of(name, "test", "upper")
    ends = (*test, *lower, *upper)  # where annealing fails, its bounds may cross
    remarks = [f"between {min(ends):.2f} and {max(ends):.2f}"] if lower else []
    doubtful = sum(bool(numbers["remarks"]) for numbers in results.numbers[name].values())
    if doubtful:
        remarks.append(f"doubts for {doubtful} of {len(test)} seeds: see the notes")
    return remarks


def widths(results: Results, names: Sequence[str]) -> list[Row]:
    """The width of p(z|v), member by member; each is to be below the one before."""
    rows: list[Row] = []
    before = None
    for name in (name for name in names if results.has(name)):
        member = results.member(name)
        K, epochs = member["max_hidden"], member["config"]["epochs"]
        values = results.values(name, "size_width")
        rows += row(
            f"width of p(z|v), K = {K:,}",
            "narrower with larger K" if before is not None else "",
            values,
            high=before,
            remark=f"after {epochs:,} epochs",
        )
        before = float(np.mean(values))
    return rows


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Ratios, seed by seed."""
    return [a / b for a, b in zip(above, below, strict=True)]
