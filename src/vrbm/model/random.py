r"""Uniform random numbers by Threefry-2x32 (Salmon, Moraes, Dror and Shaw 2011), unrolled.

The generator of JAX's own keys. `jax.random.uniform` runs its rounds in a loop on CPU, which costs
more than a layer's matrix product; here they are one fused pass (docs/design_notes.md).
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.typing import Field, RandomKey

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
ROUNDS = 20


def bits(key: RandomKey, shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
    """Two random words for each entry; those of entry n, in C order, depend on key and n alone."""
    data = key
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(key)
    first, second = data[0], data[1]
    for extra in range(2, len(data), 2):  # keys of other generators have four words
        first, second = _threefry(first, second, data[extra], data[extra + 1])
    counter = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _threefry(first, second, jnp.zeros_like(counter), counter)


def _threefry(
    first: jax.Array, second: jax.Array, x: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The words x and y, encrypted by the key of two words."""
    words = (first, second, first ^ second ^ PARITY)
    x, y = x + first, y + second
    for turn in range(ROUNDS // 4):
        for left in ROTATIONS[turn % 2]:
            x = x + y
            y = ((y << np.uint32(left)) | (y >> np.uint32(32 - left))) ^ x
        x = x + words[(turn + 1) % 3]
        y = y + (words[(turn + 2) % 3] + np.uint32(turn + 1))
    return x, y


def uniform(key: RandomKey, shape: tuple[int, ...], dtype: Any) -> Field:
    """Numbers u in (0, 1]: multiples of 2^−23 in float32, of 2^−52 in float64."""
    x, y = bits(key, shape)
    if dtype == jnp.float64:
        wide = (x.astype(jnp.uint64) << np.uint64(20)) | (y >> np.uint32(12)).astype(jnp.uint64)
        word = wide | np.uint64(0x3FF0000000000000)
    else:
        word = (x >> np.uint32(9)) | np.uint32(0x3F800000)
    return 2 - jax.lax.bitcast_convert_type(word, dtype)
