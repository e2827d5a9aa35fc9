"""MNIST, Fashion-MNIST, and the 14×14 set of the paper (Section 3.2, `ssc:MNIST`).

Where the files are looked for: in `folder` if one is given; else in the folder of the set's name
(`mnist`, `fashion_mnist`) inside the directory named by the environment variable VRBM_DATA, if
that folder exists; else in the user's cache, into which they are downloaded once.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vrbm.data import images as steps
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.download import Progress, fetch
from vrbm.data.idx import read_idx
from vrbm.files import cache_directory


@dataclass(frozen=True)
class Collection:
    """Four idx files, (train, t10k) × (images, labels): name, mirrors and checksums."""

    name: str
    mirrors: Sequence[str]
    checksums: Mapping[str, str]


MNIST = Collection(
    "mnist",
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    {
        "train-images-idx3-ubyte.gz": "sha256:"
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "train-labels-idx1-ubyte.gz": "sha256:"
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "t10k-images-idx3-ubyte.gz": "sha256:"
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "t10k-labels-idx1-ubyte.gz": "sha256:"
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
)

FASHION_MNIST = Collection(
    "fashion_mnist",
    ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    {
        "train-images-idx3-ubyte.gz": "sha256:"
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte.gz": "sha256:"
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte.gz": "sha256:"
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte.gz": "sha256:"
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    },
)


def mnist(
    folder: Path | str | None = None, domain: Domain = Domain.UNIT, progress: Progress | None = None
) -> Dataset:
    """MNIST at 28×28: grey values in [0, 1], or binarized to ±1 or 0/1 by rounding."""
    return _grey(MNIST, folder, domain, progress)


def fashion_mnist(
    folder: Path | str | None = None, domain: Domain = Domain.UNIT, progress: Progress | None = None
) -> Dataset:
    """Fashion-MNIST at 28×28: grey values in [0, 1], or binarized to ±1 or 0/1 by rounding."""
    return _grey(FASHION_MNIST, folder, domain, progress)


def paper_set(
    folder: Path | str | None = None,
    pooling: Literal["mean", "max"] = "mean",
    smooth: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """The paper's MNIST: pooled to 14×14, recentred, binarized to ±1; 60,000 and 10,000 images.

    The paper names two poolings and calls its filter an additional possibility, without saying
    which it used. The default is mean pooling without the filter: early trials on it came to
    ⟨z⟩ ≈ 131, where the paper reports 132.
    """
    poolings = {"mean": steps.mean_pool, "max": steps.max_pool}
    if pooling not in poolings:
        raise ValueError(f"pooling is {pooling!r}: pass 'mean' or 'max'.")

    def rows(pixels: np.ndarray) -> np.ndarray:
        pooled = steps.recentre(poolings[pooling](pixels))
        if smooth:
            pooled = steps.recentre(steps.smooth(pooled))
        return steps.flatten(steps.binarize(pooled))

    train, train_labels, test, test_labels = read(MNIST, folder, progress)
    return Dataset(
        name="mnist",
        domain=Domain.SPIN,
        train=rows(train),
        test=rows(test),
        train_labels=train_labels,
        test_labels=test_labels,
        image_shape=(train.shape[1] // 2, train.shape[2] // 2),
    )


def read(
    collection: Collection, folder: Path | str | None = None, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, test images and labels; images are (n, H, W) of 8 bits."""
    home = given_folder(collection.name, folder)
    if home is None:
        home = cache_directory() / collection.name
        for name, checksum in collection.checksums.items():
            fetch(name, collection.mirrors, checksum, home, progress)
    train, train_labels = _pair(home, "train")
    test, test_labels = _pair(home, "t10k")
    if train.shape[1:] != test.shape[1:]:
        raise ValueError(
            f"{home} holds training images of {train.shape[1:]} pixels but test images of "
            f"{test.shape[1:]}: the files do not belong together."
        )
    return train, train_labels, test, test_labels


def given_folder(name: str, folder: Path | str | None) -> Path | None:
    """The user's own folder for the set `name`, or None when the cache is to be used."""
    if folder is not None:
        if not Path(folder).is_dir():
            raise FileNotFoundError(f"folder {folder} does not exist or is no folder.")
        return Path(folder)
    if (directory := os.environ.get("VRBM_DATA")) and (
        home := Path(directory).expanduser() / name
    ).is_dir():
        return home
    return None


def _grey(
    collection: Collection, folder: Path | str | None, domain: Domain, progress: Progress | None
) -> Dataset:
    def rows(pixels: np.ndarray) -> np.ndarray:
        if domain is Domain.UNIT:
            return steps.flatten(pixels) / np.float32(255)
        return steps.flatten(steps.binarize(pixels, domain=domain))

    train, train_labels, test, test_labels = read(collection, folder, progress)
    return Dataset(
        name=f"{collection.name}-28x28",
        domain=domain,
        train=rows(train),
        test=rows(test),
        train_labels=train_labels,
        test_labels=test_labels,
        image_shape=(train.shape[1], train.shape[2]),
    )


def _pair(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a split, checked against each other."""
    image_path, label_path = (
        _find(folder, f"{split}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1")
    )
    pixels, labels = read_idx(image_path, axes=3), read_idx(label_path, axes=1)
    for path, array in ((image_path, pixels), (label_path, labels)):
        if array.dtype != np.uint8 or array.size == 0:
            raise ValueError(
                f"{path} holds shape {array.shape} of {array.dtype}: expected at least one entry, "
                "as unsigned bytes (type code 08)."
            )
    if len(pixels) != len(labels):
        raise ValueError(
            f"{image_path} holds {len(pixels)} images, but {label_path} holds {len(labels)} "
            "labels: the files do not belong together."
        )
    return pixels, labels.astype(np.int64)


def _find(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"{folder} holds neither {name} nor {name}.gz: pass their folder.")
