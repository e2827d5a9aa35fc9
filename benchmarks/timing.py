"""Interleaved timing: all candidates take turns, so that a busy moment hits them alike."""

import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], Any]


def interleaved(calls: dict[str, Call], steps: int, repeats: int) -> dict[str, dict[str, float]]:
    """Seconds per step of each call: the median of the repeats and its quartiles."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append((time.perf_counter() - start) / steps)
    return {name: spread(values) for name, values in seconds.items()}


def spread(values: list[float]) -> dict[str, float]:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return {"median": float(median), "low": float(low), "high": float(high)}


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    import jax

    versions = {name: _version(name) for name in ("jax", "numpy", "scikit-learn", "torch")}
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load": os.getloadavg()[0],
        "device": jax.devices()[0].device_kind,
        "python": platform.python_version(),
        **versions,
    }


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
