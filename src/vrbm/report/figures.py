"""Figures as functions of records: nothing is computed or read here."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from vrbm.files import atomic
from vrbm.printable import brief

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


def literal(text: object) -> str:
    """A string from outside as the text of a figure: a dollar sign begins no formula."""
    return brief(text, 100).replace("$", r"\$")


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
