"""The user's own data as a `Dataset`, from arrays or files, with the domain found and checked.

Values stay in the domain that they come in: 0/1 data are mapped to spins by the model, not here.
"""

from pathlib import Path
from typing import Any

import numpy as np

from vrbm import memory
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.domains import DomainFinder
from vrbm.data.formats import open_tables
from vrbm.data.rows import ArrayRows, Rows, Table, as_rows, ranges
from vrbm.reading import read_headers


def from_array(
    train: Any,
    *,
    validation: Any = None,
    test: Any = None,
    train_labels: Any = None,
    validation_labels: Any = None,
    test_labels: Any = None,
    image_shape: tuple[int, int] | None = None,
    name: str = "arrays",
    domain: Domain | None = None,
) -> Dataset:
    """A data set from arrays (rows, N), images (rows, H, W), lists or scipy sparse matrices.

    The domain is found over all splits together, or checked when one is given. Rows are kept as
    int8 for ±1 and 0/1, and as float32 for [0, 1].
    """
    given = {
        "train": (train, train_labels),
        "validation": (validation, validation_labels),
        "test": (test, test_labels),
    }
    tables = {
        split: Table(as_rows(rows, split), None if labels is None else np.asarray(labels))
        for split, (rows, labels) in given.items()
        if rows is not None
    }
    return _dataset(tables, {split: split for split in tables}, name, domain, image_shape, False)


def load(
    path: Path | str,
    *,
    key: str | None = None,
    labels: str | None = None,
    image_shape: tuple[int, int] | None = None,
    domain: Domain | None = None,
    memory_map: bool = False,
) -> Dataset:
    """A data set from a file: npy, npz, csv, tsv, txt, parquet or HDF5, or one that vrbm wrote.

    `key` names the array of an npz or HDF5 file that holds several; without it, arrays named
    train, validation and test (or x_train, x_valid, x_test) become the splits. `labels` names the
    array or column of labels. With `memory_map` the rows of an npy file stay on disk, in the type
    that they have there; all else is read to memory.
    """
    path = Path(path)
    if memory_map and path.suffix != ".npy":
        raise ValueError(
            f"memory_map is True, but {path} is no npy file: convert it by numpy.save, or read "
            "it piece by piece with vrbm.data.stream.Stream."
        )
    name = path.name.split(".")[0]
    if key is None and labels is None and _is_dataset(path):
        stored = Dataset.load(path)
        tables = {split: Table(as_rows(rows), y) for split, rows, y in stored.splits()}
        image_shape, domain = image_shape or stored.image_shape, domain or stored.domain
        name = stored.name
    else:
        tables = open_tables(path, key, labels)
    where = {split: str(path) if len(tables) == 1 else f"{split} in {path}" for split in tables}
    return _dataset(tables, where, name, domain, image_shape, memory_map)


def _is_dataset(path: Path) -> bool:
    """Whether `Dataset.save` wrote the file."""
    return path.suffix == ".npz" and path.is_file() and "facts" in read_headers(path)


def _dataset(
    tables: dict[str, Table],
    where: dict[str, str],
    name: str,
    domain: Domain | None,
    image_shape: tuple[int, int] | None,
    memory_map: bool,
) -> Dataset:
    if not memory_map:
        _require_memory(tables, name, 1)  # before a long pass over the values
    finder = DomainFinder()
    for split, table in tables.items():
        finder.add_all(table.rows, where[split])
    if domain is None:
        domain = finder.domain()
    finder.require(domain)
    if not memory_map:
        _require_memory(tables, name, domain.dtype.itemsize)
    arrays: dict[str, Any] = {}
    for split, table in tables.items():
        arrays[split] = _mapped(table.rows) if memory_map else _in_memory(table.rows, domain)
        arrays[f"{split}_labels"] = _plain(table.labels)
    image_shape = image_shape or tables["train"].rows.image_shape
    return Dataset(name=name, domain=domain, image_shape=image_shape, **arrays)


def _require_memory(tables: dict[str, Table], name: str, itemsize: int) -> None:
    """Raise an error unless all rows fit in memory, a value in `itemsize` bytes."""
    shapes = [table.rows.shape for table in tables.values()]
    memory.require(
        itemsize * sum(rows * width for rows, width in shapes),
        f"{name}, with {' and '.join(f'{rows:,}×{width:,}' for rows, width in shapes)} values,",
        "take fewer rows, pass memory_map for an npy file, or use vrbm.data.stream.Stream",
    )


def _plain(labels: np.ndarray | None) -> np.ndarray | None:
    """Labels as numbers or text: files of objects would need pickle."""
    if labels is None or labels.dtype.kind not in "OS":
        return labels
    if labels.ndim != 1:
        raise ValueError(f"labels have shape {labels.shape}: pass one for each row.")
    texts = [x.decode(errors="replace") if isinstance(x, bytes) else str(x) for x in labels]
    longest = max(map(len, texts), default=0)
    memory.require(4 * longest * len(texts), f"labels of {longest:,} characters", "shorten them")
    return np.array(texts)


def _mapped(rows: Rows) -> np.ndarray:
    assert isinstance(rows, ArrayRows)
    return rows.array.reshape(rows.shape)


def _in_memory(rows: Rows, domain: Domain) -> np.ndarray:
    result = np.empty(rows.shape, domain.dtype)
    for start, stop in ranges(rows):
        result[start:stop] = rows.read(start, stop)
    return result
