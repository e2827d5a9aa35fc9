"""The fixed binarization of MNIST by which density models are compared (Salakhutdinov, Larochelle).

The files are found as in `vrbm.data.mnist`, under the name `binarized_mnist`: either the three text
files `binarized_mnist_{train,valid,test}.amat`, or one `binarized_mnist_packed.npz` with the arrays
train, valid and test, each `np.packbits(rows, axis=1)`. The cache keeps the packed form, 2.3 MB
instead of 110 MB of text. As no checksums were published with the text files, what they hold is
verified: the number of rows, and the SHA-256 of the packed rows.
"""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vrbm import memory
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.download import Progress, fetch
from vrbm.data.mnist import given_folder
from vrbm.files import atomic, cache_directory
from vrbm.reading import read_npz

#: Rows and SHA-256 of the packed rows of each split.
SPLITS = {
    "train": (50000, "727146c35424b019f3e350e1e69faa05644a0abaf787e3f4e1a9632220a13906"),
    "valid": (10000, "a256ac44ae26be720fad8616a05ed6ecfd1619930d9a208379bb2a4405df5b6d"),
    "test": (10000, "9fcd8da6f0fdf09b2ba30fe63a0bb784042a0de82563172530229b983e294ff2"),
}
MIRRORS = ("http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/",)
PACKED = "binarized_mnist_packed.npz"
PIXELS = 28 * 28


def binarized_mnist(folder: Path | str | None = None, progress: Progress | None = None) -> Dataset:
    """50,000 training, 10,000 validation and 10,000 test images of 28×28 pixels, 0/1, no labels."""
    packed = read_packed(folder, progress)
    rows = {
        split: np.unpackbits(bits, axis=1, count=PIXELS).view(np.int8)
        for split, bits in packed.items()
    }
    return Dataset(
        name="binarized_mnist",
        domain=Domain.BINARY,
        train=rows["train"],
        validation=rows["valid"],
        test=rows["test"],
        image_shape=(28, 28),
    )


def read_packed(
    folder: Path | str | None = None,
    progress: Progress | None = None,
    mirrors: Sequence[str] = MIRRORS,
    expected: Mapping[str, tuple[int, str]] = SPLITS,
) -> dict[str, np.ndarray]:
    """The packed rows of each split, (rows, 98), verified against `expected`."""
    home = given_folder("binarized_mnist", folder)
    if home is None:
        home = cache_directory() / "binarized_mnist"
        try:
            return _from_npz(home / PACKED, expected)
        except (FileNotFoundError, ValueError):  # not there yet, or damaged
            _download(home, mirrors, expected, progress)
    if (home / PACKED).is_file():
        return _from_npz(home / PACKED, expected)
    return {split: _from_text(home / _text(split), *expected[split]) for split in expected}


def _download(
    home: Path,
    mirrors: Sequence[str],
    expected: Mapping[str, tuple[int, str]],
    progress: Progress | None,
) -> None:
    """Fetch the text files to a passing folder, and keep the packed rows once verified."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=home) as passing:
        packed = {
            split: _from_text(
                fetch(_text(split), mirrors, None, Path(passing), progress), *expected[split]
            )
            for split in expected
        }
    with atomic(home / PACKED) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **packed)  # type: ignore[arg-type]


def _text(split: str) -> str:
    return f"binarized_mnist_{split}.amat"


def _from_text(path: Path, rows: int, checksum: str) -> np.ndarray:
    """Packed rows of a text file of zeros and ones with spaces between."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} holds neither {PACKED} nor {path.name}.")
    size = path.stat().st_size
    memory.require(3 * size, str(path), f"expected about {2 * rows * PIXELS} bytes of text")
    text = np.frombuffer(path.read_bytes(), np.uint8)
    digits = text[text > ord(" ")]
    values = digits - ord("0")
    if (values > 1).any():
        bad = chr(digits[values > 1][0])
        raise ValueError(f"{path} holds {bad!r}: expected only 0, 1 and spaces.")
    if values.size != rows * PIXELS:
        raise ValueError(
            f"{path} holds {values.size} values: expected {rows} rows of {PIXELS}, "
            f"i.e. {rows * PIXELS}."
        )
    return _verified(path, np.packbits(values.reshape(rows, PIXELS), axis=1), rows, checksum)


def _from_npz(path: Path, expected: Mapping[str, tuple[int, str]]) -> dict[str, np.ndarray]:
    stored = read_npz(path)
    if not expected.keys() <= stored.keys():
        raise ValueError(
            f"{path} holds the arrays {', '.join(stored)}: expected {', '.join(expected)}."
        )
    return {split: _verified(path, stored[split], *expected[split]) for split in expected}


def _verified(path: Path, packed: np.ndarray, rows: int, checksum: str) -> np.ndarray:
    shape = (rows, -(-PIXELS // 8))
    if packed.shape != shape or packed.dtype != np.uint8:
        raise ValueError(
            f"{path} holds {packed.dtype} of shape {packed.shape}: "
            f"expected packed bits, uint8 of shape {shape}."
        )
    found = hashlib.sha256(np.ascontiguousarray(packed).tobytes()).hexdigest()
    if found != checksum:
        raise ValueError(
            f"{path} holds other images than the fixed binarization: expected rows with SHA-256 "
            f"{checksum}, found {found}."
        )
    return packed
