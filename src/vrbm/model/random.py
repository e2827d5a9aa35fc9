r"""Uniform random numbers by Threefry-2x32 (Salmon, Moraes, Dror and Shaw 2011), unrolled.

The generator of JAX's own keys; draws take fewer rounds. `jax.random.uniform` runs its rounds in a
loop on CPU, which costs more than a layer's matrix product; here they are one fused pass
(docs/design_notes.md).
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.typing import Field, RandomKey

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
PARITY = 0x1BD11BDA
# Rounds of JAX's keys, and of draws: the fewest without known flaws (Random123's documentation).
KEY_ROUNDS, DRAW_ROUNDS = 20, 13
# What JAX calls it.
THREEFRY = "threefry2x32"


def bits(key: RandomKey, shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
    """Two random words for each entry; those of entry n, in C order, depend on key and n alone."""
    data = key
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(key)
    first, second = data[0], data[1]
    for extra in range(2, len(data), 2):  # keys of other generators have four words
        first, second = _threefry(first, second, data[extra], data[extra + 1])
    counter = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _threefry(first, second, jnp.zeros_like(counter), counter, DRAW_ROUNDS)


def _threefry(
    first: Any,
    second: Any,
    x: Any,
    y: Any,
    rounds: int = KEY_ROUNDS,
    word: Callable[[Any], Any] = lambda x: x,
) -> tuple[Any, Any]:
    """The words x and y, encrypted by the key of two words.

    They are arrays of JAX or of numpy; or whole numbers, with a `word` that leaves 32 bits of them.
    """
    words = (first, second, first ^ second ^ PARITY)
    x, y = word(x + first), word(y + second)
    for turn in range(rounds):
        left = ROTATIONS[turn % len(ROTATIONS)]
        x = word(x + y)
        y = word((y << left) | (y >> (32 - left))) ^ x
        if turn % 4 == 3:
            number = turn // 4 + 1
            x = word(x + words[number % 3])
            y = word(y + (words[(number + 1) % 3] + number))
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


def key_of_seed(seed: int) -> RandomKey:
    """The key `jax.random.key(seed)` of a seed below 2³², found by numpy."""
    return _key(np.array([0, seed], np.uint32))


def _low_bits(x: int) -> int:
    return x & 0xFFFFFFFF


class Keys:
    """Keys folded from one, found by the host: there is nothing to compile or to wait for.

    `keys(number)` is `jax.random.fold_in(key, number)`; those of 0, 1, … are also the keys of
    `jax.random.split`. Several numbers are folded in one after the other.
    """

    def __init__(self, key: RandomKey) -> None:
        self.key = key
        self.words = _words(key).tolist() if _is_threefry(key) else None

    def __call__(self, *numbers: int) -> RandomKey:
        """The key of these numbers."""
        if self.words is None:
            return functools.reduce(jax.random.fold_in, numbers, self.key)
        x, y = self.words
        for number in numbers:
            x, y = _threefry(x, y, 0, number, word=_low_bits)
        return _key(np.array([x, y], np.uint32))


def fold_in(key: RandomKey, *numbers: int) -> RandomKey:
    """One of the `Keys` of a key."""
    return Keys(key)(*numbers)


def permutation(key: RandomKey, n: int) -> np.ndarray | jax.Array:
    """The numbers 0 … n − 1 in the order of `jax.random.permutation(key, n)`.

    On CPU found by numpy: sorted by random words, so often that ties do not matter. An accelerator
    sorts faster than its host.
    """
    if jax.default_backend() != "cpu" or not _is_threefry(key):
        return jax.random.permutation(key, n)
    order = np.arange(n, dtype=np.int32)
    for _ in range(math.ceil(3 * math.log(n) / math.log(2**32 - 1))):
        keys = Keys(key)
        key, draw = keys(0), keys(1)
        x, y = _host_bits(_words(draw), np.arange(n, dtype=np.uint32))
        order = order[np.argsort(x ^ y, kind="stable")]
    return order


def _key(words: np.ndarray) -> RandomKey:
    return jax.random.wrap_key_data(jax.device_put(words), impl=THREEFRY)


def _is_threefry(key: RandomKey) -> bool:
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    return typed and str(jax.random.key_impl(key)) == THREEFRY


def _words(key: RandomKey) -> np.ndarray:
    return np.asarray(jax.random.key_data(key))


def _host_bits(words: np.ndarray, counter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The random words of entries `counter`, as JAX finds keys, for the two words of a key."""
    x, y = _threefry(words[:1], words[1:], np.zeros_like(counter), counter)
    return x, y
