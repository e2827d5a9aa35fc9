"""Random damage to bytes, by a seeded generator."""

import re
from collections.abc import Callable

import numpy as np

#: Numbers at the edges of what headers hold.
EDGES = (0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1)
WORDS = (b"", b"-1", b"0", b"1e999", b"nan", b"null", b"true", b"[]", b"{}", b'"x"', b"9" * 30)


def mutate(content: bytes, random: np.random.Generator) -> bytes:
    """The content with one kind of damage, or with several."""
    for _ in range(random.geometric(0.6)):
        content = OPERATIONS[random.integers(len(OPERATIONS))](content, random)
    return content


def mutate_in_place(content: bytes, random: np.random.Generator) -> bytes:
    """Mostly damage that moves nothing, for formats that address their parts by offsets."""
    if random.random() < 0.3:
        return mutate(content, random)
    changed = bytearray(content)
    for _ in range(random.geometric(0.4)):
        at, size = int(random.integers(len(content) - 8)), int(random.choice([1, 1, 2, 4, 8]))
        number = EDGES[random.integers(len(EDGES))] * int(random.choice([1, -1]))
        patch = (number % 256**size).to_bytes(size, "little")
        if random.random() < 0.4:
            patch = bytes([changed[at] ^ 1 << int(random.integers(8))])
        changed[at : at + len(patch)] = patch
    return bytes(changed)


def _place(content: bytes, random: np.random.Generator) -> int:
    """Anywhere, but more often near one of the ends, where headers are."""
    length = max(1, len(content))
    near = int(min(length - 1, random.exponential(60)))
    return (int(random.integers(length)), near, length - 1 - near)[random.integers(3)]


def flip(content: bytes, random: np.random.Generator) -> bytes:
    """Single bits."""
    changed = bytearray(content)
    for _ in range(random.integers(1, 6) if content else 0):
        changed[_place(content, random)] ^= 1 << int(random.integers(8))
    return bytes(changed)


def overwrite(content: bytes, random: np.random.Generator) -> bytes:
    """A number at the edge of its type, in one of its lengths and orders."""
    at, size = _place(content, random), int(random.choice([1, 2, 4, 8]))
    number = EDGES[random.integers(len(EDGES))] * int(random.choice([1, -1]))
    order = "little" if random.random() < 0.8 else "big"
    patch = (number % 256**size).to_bytes(size, order)
    return content[:at] + patch + content[at + size :]


def truncate(content: bytes, random: np.random.Generator) -> bytes:
    """The end is lost."""
    return content[: _place(content, random)]


def insert(content: bytes, random: np.random.Generator) -> bytes:
    """Bytes out of nowhere."""
    at = _place(content, random)
    return content[:at] + random.bytes(int(random.integers(1, 20))) + content[at:]


def remove(content: bytes, random: np.random.Generator) -> bytes:
    """A gap."""
    at = _place(content, random)
    return content[:at] + content[at + int(random.integers(1, 40)) :]


def splice(content: bytes, random: np.random.Generator) -> bytes:
    """One part in the place of another."""
    at, start = _place(content, random), _place(content, random)
    size = int(random.integers(1, 100))
    return content[:at] + content[start : start + size] + content[at + size :]


def reword(content: bytes, random: np.random.Generator) -> bytes:
    """Another word or number in a text header."""
    found = list(re.finditer(rb"-?\d+|[a-z_]{2,}|\"[^\"]{0,40}\"", content))
    if not found:
        return flip(content, random)
    one = found[random.integers(len(found))]
    edge = str(EDGES[random.integers(len(EDGES))]).encode()
    word = edge if random.random() < 0.5 else WORDS[random.integers(len(WORDS))]
    return content[: one.start()] + word + content[one.end() :]


OPERATIONS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    flip, flip, overwrite, overwrite, truncate, insert, remove, splice, reword, reword,
)  # fmt: skip
