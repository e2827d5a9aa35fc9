"""Sparse matrices from outside: their structure is checked before compiled code trusts it."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from vrbm import memory
from vrbm.printable import brief

#: The arrays from which each format is made, beside `shape`.
_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}


def is_sparse(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether `scipy.sparse.save_npz` wrote these arrays."""
    return {"format", "shape", "data"} <= arrays.keys() and arrays["format"].ndim == 0


def from_arrays(arrays: Mapping[str, np.ndarray], name: str) -> Any:
    """The matrix that `scipy.sparse.save_npz` stored, checked."""
    written = arrays["format"].item()
    kind = written.decode("latin-1") if isinstance(written, bytes) else str(written)
    if kind not in _PARTS or not set(_PARTS[kind]) <= arrays.keys():
        raise ValueError(
            f"{name} claims the sparse format {brief(repr(kind), 60)} and holds "
            f"{brief(', '.join(arrays))}: write it by scipy.sparse.save_npz."
        )
    shape = arrays["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 1).any():
        raise ValueError(
            f"{name} has shape {brief(shape.tolist(), 60)}: pass at least one row and one column."
        )
    rows, columns = (int(length) for length in shape)
    data, *where = (arrays[part] for part in _PARTS[kind])
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in where):
        raise _broken(name, "indices are not lists of whole numbers")
    if data.dtype.kind not in "biuf":
        raise _broken(name, f"values have dtype {data.dtype}")
    if kind == "dia":  # scipy cuts offsets to 32 bits
        _check_range(where[0], 1 - rows, columns, name)
    memory.require(16 * (rows + 2 * data.size), name, "store fewer rows")
    try:
        if kind == "coo":
            made = scipy.sparse.coo_matrix((data, tuple(where)), shape=(rows, columns))
        elif kind == "dia":
            made = scipy.sparse.dia_matrix((data, *where), shape=(rows, columns))
        else:
            make = getattr(scipy.sparse, f"{kind}_matrix")
            made = make((data, *where), shape=(rows, columns))
    except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError) as error:
        raise _broken(name, brief(error)) from error
    check(made, name)
    return made


def check(matrix: Any, name: str = "X") -> None:
    """Raise an error where indices point outside a matrix of two axes.

    scipy converts, multiplies and slices without such checks: a wrong index reads or writes memory
    that is not the matrix's.
    """
    if matrix.ndim != 2 or matrix.format not in _PARTS:
        return  # of Python's own lists and dicts, or refused by its shape later
    if matrix.format == "coo":
        _check_coordinates(matrix, name)
    elif matrix.format == "dia":
        if matrix.offsets.ndim != 1 or matrix.data.shape[:1] != matrix.offsets.shape:
            raise _broken(name, "diagonals and offsets do not match")
        rows, columns = matrix.shape
        _check_range(matrix.offsets, 1 - rows, columns, name)
    else:
        _check_compressed(matrix, name)


def check_dense(matrix: Any, name: str = "X") -> None:
    """As `check`, for a matrix that is to be made dense, 8 bytes for each entry."""
    check(matrix, name)
    cells = math.prod(matrix.shape)
    memory.require(8 * cells, f"{name} with {cells:,} entries, made dense,", "pass fewer rows")


def _check_coordinates(matrix: Any, name: str) -> None:
    for index, length in zip((matrix.row, matrix.col), matrix.shape, strict=True):
        if index.shape != matrix.data.shape or index.ndim != 1 or index.dtype.kind not in "iu":
            raise _broken(name, "values, rows and columns are not equally many")
        _check_range(index, 0, length, name)


def _check_compressed(matrix: Any, name: str) -> None:
    """As `check_format(full_check=True)`, which differs between versions of scipy."""
    lines, across = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    data, indices, ends = matrix.data, matrix.indices, matrix.indptr
    if matrix.format == "bsr":
        if data.ndim != 3 or 0 in (block := data.shape[1:]):
            raise _broken(name, f"blocks have shape {data.shape[1:]}")
        if lines % block[0] or across % block[1]:
            raise _broken(name, f"blocks of shape {block} do not fill {matrix.shape}")
        lines, across = lines // block[0], across // block[1]
    elif data.ndim != 1:
        raise _broken(name, f"values have shape {data.shape}")
    for array in (indices, ends):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise _broken(name, "indices are not lists of whole numbers")
    if len(ends) != lines + 1 or ends[0] != 0 or (ends[1:] < ends[:-1]).any():
        raise _broken(name, "indptr does not rise from 0, with one entry for each row and one more")
    if ends[-1] > min(len(indices), len(data)):
        raise _broken(name, f"indptr ends at {ends[-1]}, beyond its {len(indices)} indices")
    _check_range(indices[: int(ends[-1])], 0, across, name)


def _check_range(index: np.ndarray, low: int, high: int, name: str) -> None:
    if index.size and (index.min() < low or index.max() >= high):
        raise _broken(
            name,
            f"indices run from {index.min()} to {index.max()}, outside {low} … {high - 1}",
        )


def _broken(name: str, what: str) -> ValueError:
    return ValueError(f"{name} is no valid sparse matrix: {what}. Build and save it anew.")
