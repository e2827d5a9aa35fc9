"""What the rest of the package knows about data."""

import hashlib
import json
import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vrbm.files import atomic
from vrbm.printable import brief
from vrbm.reading import read_npz


class Domain(StrEnum):
    """The values that a data set holds."""

    SPIN = "±1"
    BINARY = "0/1"
    UNIT = "[0, 1]"

    @property
    def dtype(self) -> np.dtype:
        """The type in which rows of this domain are kept: int8, or float32 for [0, 1]."""
        return np.dtype(np.float32 if self is Domain.UNIT else np.int8)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of N values, split for training, validation and test, with labels.

    Rows are int8 for ±1 and 0/1, float32 for [0, 1]; memory-mapped rows keep the type of the file.
    """

    name: str
    domain: Domain
    train: np.ndarray
    validation: np.ndarray | None = None
    test: np.ndarray | None = None
    train_labels: np.ndarray | None = None
    validation_labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None
    image_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ValueError(f"domain is {self.domain!r}: pass one of {list(Domain)}.")
        for split in ("validation", "test"):
            if getattr(self, split) is None and getattr(self, f"{split}_labels") is not None:
                raise ValueError(f"{split}_labels are given without {split}: pass both or none.")
        for split, rows, labels in self.splits():
            if rows.dtype.kind not in "biuf":
                raise ValueError(
                    f"{split} of data set {self.name!r} has dtype {rows.dtype}: pass numbers."
                )
            if rows.ndim != 2 or 0 in rows.shape or rows.shape[1] != self.n_visible:
                raise ValueError(
                    f"{split} of data set {self.name!r} has shape {rows.shape}: pass at least "
                    f"one row, with {self.n_visible} values in each, as in train."
                )
            if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "biufU"):
                raise ValueError(
                    f"{split} labels of data set {self.name!r} have shape {labels.shape} and dtype "
                    f"{labels.dtype}: pass one number or one text for each row."
                )
            if labels is not None and len(labels) != len(rows):
                raise ValueError(
                    f"{split} of data set {self.name!r} has {len(rows)} rows but "
                    f"{len(labels)} labels: pass one label for each row."
                )
        if self.image_shape is not None and (
            min(self.image_shape) < 1 or math.prod(self.image_shape) != self.n_visible
        ):
            raise ValueError(
                f"image_shape {self.image_shape} of data set {self.name!r} does not hold "
                f"{self.n_visible} values: pass the height and width of one row."
            )

    @property
    def n_visible(self) -> int:
        """N, the number of values in a row."""
        return self.train.shape[-1] if self.train.ndim else 0

    def splits(self) -> list[tuple[str, np.ndarray, np.ndarray | None]]:
        """Name, rows and labels of the splits that are there."""
        return [
            (split, rows, getattr(self, f"{split}_labels"))
            for split in ("train", "validation", "test")
            if (rows := getattr(self, split)) is not None
        ]

    def with_validation(self, fraction: float, seed: int) -> "Dataset":
        """The set with a random part of its training rows as validation rows.

        They must be in memory, and there must be no validation rows yet.
        """
        if not 0 < fraction < 1:
            raise ValueError(f"validation_fraction is {fraction}: pass a number between 0 and 1.")
        if self.validation is not None:
            raise ValueError(
                f"validation_fraction is {fraction}, but data set {self.name!r} has validation "
                "rows of its own: leave it out."
            )
        count = math.ceil(fraction * len(self.train))
        if count >= len(self.train):
            raise ValueError(
                f"data set {self.name!r} has {len(self.train)} rows, of which validation_fraction "
                f"= {fraction} leaves none to train on: pass more rows, or leave it out."
            )
        order = np.random.default_rng(seed).permutation(len(self.train))
        apart, kept = np.sort(order[:count]), np.sort(order[count:])
        labels = self.train_labels
        return replace(
            self,
            train=self.train[kept],
            validation=self.train[apart],
            train_labels=None if labels is None else labels[kept],
            validation_labels=None if labels is None else labels[apart],
        )

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of domain, shapes, types and values, in order: the same for the same data.

        Rows count in the type of their domain, so that memory-mapped data have the same hash.
        """
        digest = hashlib.sha256(f"{self.domain} {self.image_shape}".encode())
        for split, rows, labels in self.splits():
            for kind, array in (("rows", rows), ("labels", labels)):
                if array is None:
                    continue
                dtype = self.domain.dtype if kind == "rows" else array.dtype
                digest.update(f"{split} {kind} {array.shape} {dtype}".encode())
                step = max(1, (1 << 22) // array[0].size)
                for start in range(0, len(array), step):
                    digest.update(array[start : start + step].astype(dtype).tobytes())
        return digest.hexdigest()

    def save(self, path: Path | str) -> None:
        """Write the set to one npz file, whole or not at all."""
        arrays: dict[str, Any] = {
            field.name: value
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        facts = {
            "name": self.name,
            "domain": self.domain,
            "image_shape": self.image_shape,
            "hash": self.content_hash,
        }
        arrays["facts"] = np.array(json.dumps(facts))
        with atomic(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path | str, require_hash: bool = False) -> "Dataset":
        """Read a set that `save` wrote; what it holds must have the hash that it states.

        Sets of earlier versions state none, and are read unless `require_hash`.
        """
        arrays: dict[str, Any] = read_npz(Path(path))
        if "facts" not in arrays:
            raise ValueError(
                f"{path} holds no vrbm data set: read other files by vrbm.data.arrays."
            )
        try:
            facts = json.loads(str(arrays.pop("facts")))
            match facts:
                case {
                    "name": str(name),
                    "domain": str(domain),
                    "image_shape": None | [int(), int()],
                }:
                    shape = facts["image_shape"]
                case _:
                    raise ValueError("its facts are not those of a data set")
            if unknown := arrays.keys() - {field.name for field in fields(cls)}:
                raise ValueError(f"it holds {brief(', '.join(sorted(unknown)))}")
            data = cls(
                name=name,
                domain=Domain(domain),
                image_shape=None if shape is None else (shape[0], shape[1]),
                **arrays,
            )
            stated = facts.get("hash", None if require_hash else data.content_hash)
            if stated != data.content_hash:
                raise ValueError("its content does not have the hash that it states")
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} is no valid data set of vrbm ({brief(error)}): make it anew by vrbm data."
            ) from error
        return data
