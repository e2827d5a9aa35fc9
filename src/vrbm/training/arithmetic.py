"""What results depend on to the last bit, beside data, settings and key.

A run that is resumed where any of it differs is still a valid run, but not bit for bit the one that
would have been without the pause.
"""

import os
import platform
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

#: Settings of JAX that change programs or draws.
OPTIONS = (
    "jax_enable_x64",
    "jax_disable_jit",
    "jax_disable_most_optimizations",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
)


class ResumeWarning(UserWarning):
    """A run is resumed where its arithmetic is another one."""


def facts() -> dict[str, str]:
    """Versions, device, threads and settings of this process."""
    device = jax.devices()[0]
    return {
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "device": f"{device.platform} {device.device_kind}",
        "processor": _processor(),
        "threads": str(_threads()),
        **{name: os.environ.get(name, "") for name in ("XLA_FLAGS", "PJRT_NPROC", "NPROC")},
        **{name: str(_option(name)) for name in OPTIONS},
    }


def compare(stored: Any, path: Path | str) -> None:
    """Warn of each fact that differs from those that a checkpoint was written with."""
    if not isinstance(stored, dict):
        return  # written before checkpoints had them
    differ = [
        f"{name} was {str(stored[name])[:200]!r} and is {value!r}"
        for name, value in facts().items()
        if name in stored and stored[name] != value
    ]
    if differ:
        warnings.warn(
            f"{path} was written elsewhere: {', '.join(differ)}. The run is resumed, but will not "
            "be bit for bit what it would have been without the pause.",
            ResumeWarning,
            stacklevel=2,
        )


def _option(name: str) -> Any:
    """The value in this thread; options that no context sets are listed only."""
    return getattr(jax.config, name, jax.config.values.get(name))


def _threads() -> int:
    """Threads that XLA takes on a CPU: one for each core that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    """The kind of processor, and those of its instructions that programs are compiled for."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}".strip()
    found = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    known = {name.strip(): value.split() for name, value in found.items()}
    vectors = [flag for flag in known.get("flags", []) if flag.startswith(("avx", "amx", "fma"))]
    return " ".join([platform.machine(), *known.get("model name", []), *sorted(vectors)])
