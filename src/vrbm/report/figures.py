"""Figures as functions of records: nothing is computed or read here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from vrbm.files import atomic

#: Colours that people with colour-blindness can tell apart (Wong 2011, with two of Tol's).
COLOURS = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442",
    "#0072b2", "#d55e00", "#cc79a7", "#882255", "#999999",
)  # fmt: skip

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": f"cycler('color', {[c[1:] for c in COLOURS]})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "savefig.dpi": 160,
}


def size_profiles(
    probabilities: np.ndarray,
    survival: np.ndarray,
    labels: Sequence[str] | None = None,
    title: str = "digit",
) -> Figure:
    """p(z|v) (lines) and P(z ≥ a|v) (dashed) against the size, a colour for each row, (rows, K)."""
    labels = [str(row) for row in range(len(probabilities))] if labels is None else labels
    sizes = np.arange(1, probabilities.shape[1] + 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 5.2), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
        for label, p, s in zip(labels, probabilities, survival, strict=True):
            upper.plot(sizes, p, marker="o", markersize=3, label=label)
            lower.plot(sizes, s, linestyle="--", label=label)
        upper.set_ylabel("$p(z\\,|\\,v)$")
        lower.set_ylabel("$P(z\\geq a\\,|\\,v)$")
        lower.set_xlabel("size of the hidden layer $z$, unit $a$")
        upper.legend(title=title, ncols=2, loc="upper right", fontsize=8)
    return figure


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write the figure as PNG and PDF; return the paths."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "pdf")]
    for path in paths:
        save_as(figure, path)
    return paths


def save_as(figure: Figure, path: Path) -> None:
    """Write the figure in the format of the path's suffix, whole or not at all."""
    with atomic(path) as temporary, matplotlib.rc_context(STYLE):
        figure.savefig(temporary, format=path.suffix[1:])
