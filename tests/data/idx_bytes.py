import struct

import numpy as np


def idx(array: np.ndarray) -> bytes:
    """The array as an idx file of unsigned bytes."""
    shape = b"".join(struct.pack(">I", n) for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes()
