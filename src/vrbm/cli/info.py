"""`vrbm info`: what a bug report should say about the installation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Info:
    """Print versions and devices."""

    def run(self) -> None:
        """Print one line for each fact."""
        import platform
        from importlib.metadata import version

        import jax

        from vrbm.experiments.environment import PACKAGES

        print(f"vrbm {version('vrbm')}, Python {platform.python_version()}, {platform.platform()}")
        for package in PACKAGES:
            print(f"{package} {version(package)}")
        for device in jax.devices():
            print(f"device {device.id}: {device.platform} {device.device_kind}")
