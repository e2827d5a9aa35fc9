"""The idx format of MNIST: two zero bytes, a type code, the number of axes, their lengths, values.

All numbers are big-endian. Files may be gzipped; their first bytes say so, not their names.
"""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

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
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(
                f"{path} is a damaged or truncated gzip file ({error}): get it again."
            ) from error
    head = content[:4]
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
    start = 4 + 4 * count
    if len(content) < start:
        raise ValueError(
            f"{path} is truncated: its header should have {start} bytes, but the file has "
            f"{len(content)}."
        )
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", count, 4))
    expected = math.prod(shape) * dtype.itemsize
    if len(content) - start != expected:
        raise ValueError(
            f"{path} is truncated or damaged: its header promises shape {shape}, i.e. {expected} "
            f"bytes of values, but {len(content) - start} follow."
        )
    values = np.frombuffer(content, dtype, offset=start).reshape(shape)
    return values.astype(dtype.newbyteorder("="))
