"""What a result was computed with."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import jax

PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "scikit-learn")


def environment() -> dict[str, Any]:
    """Versions and devices, as plain facts."""
    from vrbm import __version__

    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed as a package"
    return {
        "vrbm": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "devices": [device.device_kind for device in jax.devices()],
        **versions,
    }
