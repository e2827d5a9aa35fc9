"""Data sets by name, as the command line knows them."""

from collections.abc import Callable
from pathlib import Path

from vrbm.data.dataset import Dataset


def _ising() -> Dataset:
    from vrbm.data import ising

    return ising.paper_set()


def _mnist() -> Dataset:
    from vrbm.data import mnist

    return mnist.paper_set()


def _binarized_mnist() -> Dataset:
    from vrbm.data import binarized_mnist

    return binarized_mnist.binarized_mnist()


def _digits() -> Dataset:
    from vrbm.data import digits

    return digits.digits()


NAMES: dict[str, Callable[[], Dataset]] = {
    "ising": _ising,
    "mnist": _mnist,
    "binarized-mnist": _binarized_mnist,
    "digits": _digits,
}


def find(source: str) -> Dataset:
    """The set of that name, with the paper's settings, or else the file of that path."""
    if source in NAMES:
        return NAMES[source]()
    if not Path(source).exists():
        raise FileNotFoundError(
            f"--data is {source}: neither a file nor one of the sets {', '.join(NAMES)}."
        )
    from vrbm.data.arrays import load

    return load(source)
