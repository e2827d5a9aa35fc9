"""Datasets of an HDF5 file (h5py), read range by range, each read guarded against damage."""

import math
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vrbm import memory
from vrbm.printable import brief
from vrbm.reading import check_regular, damage

#: A dataset may be larger than what the file stores of it by this factor at most: more than any
#: useful data compress, and less than a file that only claims to hold values.
EXPANSION = 2000

_DAMAGE = (OSError, ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)


class Stored:
    """A dataset that is read by slices of its first axis, as an array would be."""

    def __init__(self, dataset: h5py.Dataset, path: Path):
        self.dataset, self.path = dataset, path
        with _damage(path):
            self.shape: tuple[int, ...] = dataset.shape or ()  # null dataspaces have none
            self.dtype: np.dtype = dataset.dtype
            self.name = brief(dataset.name)
        self.size = math.prod(self.shape)

    def __getitem__(self, rows: Any) -> np.ndarray:
        self.check()
        with _damage(self.path):
            return np.asarray(self.dataset[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:] if self.shape else self[()], dtype)

    @cache  # noqa: B019
    def check(self) -> None:
        """Raise an error where values are in other files, absent, or in chunks beyond memory."""
        with _damage(self.path):
            elsewhere = self.dataset.is_virtual or self.dataset.external is not None
            chunk = math.prod(self.dataset.chunks or ()) * self.dtype.itemsize
            stored = self.dataset.id.get_storage_size()
        if elsewhere:
            raise ValueError(
                f"{self.path} keeps the values of {self.name} in other files: copy them into it."
            )
        if self.size * self.dtype.itemsize > EXPANSION * max(stored, 1):
            raise ValueError(
                f"{self.path} claims {self.size:,} values in {self.name} but stores {stored:,} "
                "bytes of them: write the values themselves."
            )
        memory.require(
            chunk, f"a chunk of {self.name} in {self.path}", "store it in smaller chunks"
        )


def datasets(path: Path) -> dict[str, Stored]:
    """All datasets of a file by name; links to other places are not followed."""
    check_regular(path)
    found: dict[str, h5py.Dataset] = {}
    with _damage(path):
        file = h5py.File(path, "r")
        file.visititems(
            lambda name, item: (
                found.update({name: item}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return {name: Stored(dataset, path) for name, dataset in found.items()}


def _damage(path: Path) -> AbstractContextManager[None]:
    return damage(path, "HDF5 file", "write it anew with h5py", *_DAMAGE)
