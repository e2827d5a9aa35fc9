"""The user's files by suffix: what is in them as tables, opened but not loaded where possible."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vrbm import memory
from vrbm.data import sparse
from vrbm.data.rows import ArrayRows, Rows, SparseRows, Table
from vrbm.data.text import read_text
from vrbm.printable import brief
from vrbm.reading import check_regular, map_npy, read_npz

#: Names under which an npz or HDF5 file may hold the rows and the labels of each split.
SPLIT_NAMES = {
    "train": (("train", "x_train"), ("train_labels", "y_train")),
    "validation": (
        ("validation", "valid", "x_validation", "x_valid"),
        ("validation_labels", "y_validation", "y_valid"),
    ),
    "test": (("test", "x_test"), ("test_labels", "y_test")),
}

SUFFIXES = ".npy, .npz, .csv, .tsv, .txt, .csv.gz, .tsv.gz, .txt.gz, .parquet, .h5, .hdf5"


def open_tables(path: Path, key: str | None = None, labels: str | None = None) -> dict[str, Table]:
    """The tables in a file by split; a file without named splits has one, "train".

    `key` names the array of an npz or HDF5 file; `labels` the array or the column with labels.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: pass one file ({SUFFIXES}).")
    check_regular(path)
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = path.with_suffix("").suffix.lower() + suffix
    if key is not None and suffix not in (".npz", ".h5", ".hdf5"):
        raise ValueError(f"key is {key!r}, but {path} has no named arrays: leave it out.")
    match suffix:
        case ".npy":
            if labels is not None:
                raise ValueError(f"labels is {labels!r}, but {path} holds one array: leave it out.")
            return {"train": Table(ArrayRows(map_npy(path), str(path)))}
        case ".npz":
            return _npz(path, key, labels)
        case ".csv" | ".tsv" | ".txt" | ".csv.gz" | ".tsv.gz" | ".txt.gz":
            return {"train": read_text(path, labels)}
        case ".parquet":
            require("pyarrow", path)
            from vrbm.data.parquet import read_parquet

            return {"train": read_parquet(path, labels)}
        case ".h5" | ".hdf5":
            return _hdf5(path, key, labels)
    raise ValueError(f"{path} has the suffix {suffix!r}: expected one of {SUFFIXES}.")


def require(package: str, path: Path) -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ValueError(
            f'{path} needs {package}, which is not installed: pip install "vrbm[io]".'
        ) from error


def _npz(path: Path, key: str | None, labels: str | None) -> dict[str, Table]:
    arrays = read_npz(path)
    if sparse.is_sparse(arrays):
        return {"train": Table(SparseRows(sparse.from_arrays(arrays, str(path)), str(path)))}
    return _choose(path, arrays, key, labels)


def _hdf5(path: Path, key: str | None, labels: str | None) -> dict[str, Table]:
    require("h5py", path)
    from vrbm.data.hdf5 import datasets

    tables = _choose(path, datasets(path), key, labels)
    for table in tables.values():
        assert isinstance(table.rows, ArrayRows)
        table.rows.array.check()  # before ranges of rows that are not there are counted
    return tables


def _choose(
    path: Path, arrays: Mapping[str, Any], key: str | None, labels: str | None
) -> dict[str, Table]:
    """The named array; else the splits by their usual names; else the only table there is."""
    shapes = (f"{name} {tuple(array.shape)}" for name, array in arrays.items())
    listing = brief(", ".join(shapes), 500)
    for argument, name in (("key", key), ("labels", labels)):
        if name is not None and name not in arrays:
            raise ValueError(f"{argument} is {name!r}, but {path} holds: {listing or 'nothing'}.")

    def table(name: str, label: str | None) -> Table:
        rows: Rows = ArrayRows(arrays[name], f"{name} in {path}")
        return Table(rows, None if label is None else _labels(arrays[label], f"{label} in {path}"))

    if key is None and labels is None:
        splits = {}
        for split, (row_names, label_names) in SPLIT_NAMES.items():
            name = next((name for name in row_names if name in arrays), None)
            if name is not None:
                splits[split] = table(name, next((n for n in label_names if n in arrays), None))
        if "train" in splits:
            return splits
    if key is None:
        tables = [n for n, array in arrays.items() if len(array.shape) in (2, 3) and n != labels]
        if len(tables) != 1:
            raise ValueError(
                f"{path} holds {len(tables)} tables; its arrays are: {listing or 'none'}. "
                "Pass key, the name of one of them."
            )
        key = tables[0]
    return {"train": table(key, labels)}


def _labels(array: Any, name: str) -> np.ndarray:
    memory.require(array.size * array.dtype.itemsize, name, "leave the labels out")
    return np.asarray(array)
