"""The idx format of MNIST: two zero bytes, a type code, the number of axes, their lengths, values.

All numbers are big-endian. Files may be gzipped; their first bytes say so, not their names.
"""

import gzip
import math
import zlib
from io import BufferedIOBase
from pathlib import Path

import numpy as np

from vrbm import memory
from vrbm.reading import open_regular

_TYPES: dict[int, np.dtype] = {
    0x08: np.dtype(">u1"),
    0x09: np.dtype(">i1"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}


def read_idx(path: Path, axes: int | None = None) -> np.ndarray:
    """The array in an idx file, raw or gzipped; `axes` is the number of axes that it must have."""
    with open_regular(path) as file:
        is_zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not is_zipped:
            return _read(path, file, axes)
        try:
            return _read(path, gzip.GzipFile(fileobj=file), axes)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(
                f"{path} is a damaged or truncated gzip file ({error}): get it again."
            ) from error


def _read(path: Path, file: BufferedIOBase, axes: int | None) -> np.ndarray:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _TYPES or head[3] == 0:
        raise ValueError(
            f"{path} is no idx file: it should begin with 00 00, a type code "
            f"({', '.join(f'{code:02x}' for code in _TYPES)}) and the number of axes, "
            f"but begins with {head.hex(' ') or 'nothing: it is empty'}."
        )
    dtype, count = _TYPES[head[2]], head[3]
    if axes is not None and count != axes:
        raise ValueError(
            f"{path} holds an array with {count} axes where {axes} were expected: "
            "images have 3 (rows, height, width) and labels have 1."
        )
    lengths = file.read(4 * count)
    if len(lengths) < 4 * count:
        raise ValueError(
            f"{path} is truncated: its header should have {4 + 4 * count} bytes, but the file has "
            f"{4 + len(lengths)}."
        )
    shape = tuple(int(n) for n in np.frombuffer(lengths, ">u4"))
    expected = math.prod(shape) * dtype.itemsize
    memory.require(2 * expected, str(path), "take a file with fewer rows")
    content = file.read(expected + 1)  # one more, to find out whether it ends there
    if len(content) != expected:
        found = len(content) if len(content) < expected else "more"
        raise ValueError(
            f"{path} is truncated or damaged: its header promises shape {shape}, i.e. {expected} "
            f"bytes of values, but {found} follow."
        )
    return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))
