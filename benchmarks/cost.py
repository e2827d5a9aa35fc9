"""How the time of a step grows with N, K, batch and k, and the curves through it."""

from typing import Any

import numpy as np

import vrbm
from problems import fresh, phase, rows_of, training
from timing import interleaved

BASE = {"N": 196, "K": 512, "batch": 100, "k": 2}
GRID = {
    "N": (49, 98, 196, 392, 784),
    "K": (64, 128, 256, 512, 1024, 2048),
    "batch": (10, 30, 100, 300, 1000),
    "k": (1, 2, 4, 8),
}


def measure(repeats: int = 5, steps: int = 20) -> dict[str, Any]:
    """Medians for each axis around the base, and one formula fitted to all of them.

    t = t₀ + (2k + 3) B N K p + (k + 1) B K s + N K u: matrix products, scans along the hidden
    axis, and passes over the weights.
    """
    points = []
    for axis, values in GRID.items():
        shapes = [BASE | {axis: value} for value in values]
        calls = {str(shape[axis]): _call(shape, steps) for shape in shapes}
        times = interleaved(calls, steps, repeats)
        points += [{"axis": axis, **shape, **times[str(shape[axis])]} for shape in shapes]
    terms = np.array([_terms(point) for point in points])
    seconds = np.array([point["median"] for point in points])
    # Relative errors count: small shapes matter as much as large ones.
    from scipy.optimize import nnls

    coefficients, _ = nnls(terms / seconds[:, None], np.ones(len(points)))
    fitted = terms @ coefficients
    for point, value in zip(points, fitted, strict=True):
        point["fitted"] = float(value)
    names = ("start", "product", "scan", "weights")
    return {
        "base": BASE,
        "points": points,
        "coefficients": dict(zip(names, coefficients.tolist(), strict=True)),
        "largest_relative_error": float(np.abs(fitted / seconds - 1).max()),
    }


def _terms(point: dict[str, Any]) -> list[float]:
    n, size, batch, k = (float(point[name]) for name in ("N", "K", "batch", "k"))
    return [1.0, (2 * k + 3) * batch * n * size, (k + 1) * batch * size, n * size]


def _call(shape: dict[str, int], steps: int) -> Any:
    rows = rows_of(shape["N"], 2000)
    model = fresh(shape["N"], shape["K"], vrbm.Penalizing(), rows)
    return training(
        model, rows, phase(f"mean-field CD-{shape['k']}", shape["batch"]), shape["batch"], steps
    )
