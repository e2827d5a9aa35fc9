"""Files from outside, read with care: what they claim is checked before it is believed.

Only regular files are opened, sizes are compared with the memory at hand before anything is
allocated, and damage of any kind is a ValueError that names the file.
"""

import math
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import cast

import numpy as np

from vrbm import memory
from vrbm.printable import brief

#: What zipfile and zlib raise for archives that are damaged, encrypted or of another method.
_DAMAGE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError,
    ArithmeticError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 10_000
_ENTRY = (
    r"""['"](?P<key>descr|fortran_order|shape)['"]\s*:\s*"""
    r"""(?:['"](?P<type>[^'"]*)['"]|(?P<flag>True|False)|\((?P<shape>[\d\s,L]*)\))"""
)
_HEADER = re.compile(r"\s*\{\s*(?:" + re.sub(r"\?P<\w+>", "?:", _ENTRY) + r"\s*(?:,\s*)?){3}\}\s*")
_TYPE = re.compile(r"[<>|=]?([biufc]\d{1,2}|[SU]\d{1,9}|[mM]8(\[\w{1,9}\])?)")
_CHUNK = 1 << 24


def open_regular(path: Path) -> BufferedIOBase:
    """Open a file for reading, unless it is a device, a pipe or another thing without an end."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    try:
        _require_regular(path, os.fstat(file.fileno()))
    except ValueError:
        file.close()
        raise
    return file


def check_regular(path: Path) -> None:
    """Raise an error unless the path names a file; for libraries that open it themselves."""
    _require_regular(path, path.stat())


def _without_waiting(path: str, flags: int) -> int:
    """The opening of a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _require_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path} is a pipe or a device: pass a regular file.")


@contextmanager
def damage(path: Path, expected: str, remedy: str, *errors: type[BaseException]) -> Iterator[None]:
    """Turn what a library raises for a damaged file into a sentence."""
    try:
        yield
    except errors as error:
        text = brief(error) or type(error).__name__
        raise ValueError(f"{path} is no whole {expected} ({text}): {remedy}.") from error


@dataclass(frozen=True)
class Header:
    """What an npy file says about its array."""

    shape: tuple[int, ...]
    order: str
    dtype: np.dtype
    offset: int
    """bytes before the values"""

    @property
    def size(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: BufferedIOBase) -> Header:
    """The header of an npy file or member; objects and structured types are errors."""
    head = file.read(10)
    if head[:6] != _MAGIC:
        raise ValueError(f"it begins with {head[:6].hex(' ')}, not with {_MAGIC.hex(' ')}")
    wide = head[6:7] > b"\x01"
    head += file.read(2 * wide)
    length = int.from_bytes(head[8:], "little")
    if len(head) < 10 + 2 * wide or length > _MAX_HEADER:
        raise ValueError(f"its header of {length} bytes is cut short or too long")
    text = file.read(length).decode("latin-1")
    if len(text) < length or not _HEADER.fullmatch(text):
        raise ValueError(f"its header is {brief(repr(text), 100)}")
    facts = {found["key"]: found for found in re.finditer(_ENTRY, text)}
    if len(facts) < 3 or None in (kind := facts["descr"]["type"], facts["fortran_order"]["flag"]):
        raise ValueError(f"its header is {brief(repr(text), 100)}")
    lengths = facts["shape"]["shape"]
    if lengths is None or not _TYPE.fullmatch(kind):
        raise ValueError(f"it holds values of type {brief(repr(kind), 60)}")
    return Header(
        shape=tuple(int(one) for one in re.findall(r"\d+", lengths)),
        order="F" if facts["fortran_order"]["flag"] == "True" else "C",
        dtype=np.dtype(kind),
        offset=len(head) + length,
    )


def map_npy(path: Path) -> np.ndarray:
    """A memory-mapped npy file."""
    with (
        open_regular(path) as file,
        damage(path, "npy file of numbers", "write it by numpy.save", ValueError, TypeError),
    ):
        header = read_header(file)
        if header.dtype.kind in "SU":
            raise ValueError(f"it holds values of type {header.dtype}")
        stored = os.fstat(file.fileno()).st_size - header.offset
        if header.size > stored:
            raise ValueError(
                f"its header promises shape {header.shape} of {header.dtype}, i.e. {header.size} "
                f"bytes, but {stored} follow"
            )
        if header.size == 0:
            return np.empty(header.shape, header.dtype)
        return np.memmap(file, header.dtype, "r", header.offset, header.shape, order=header.order)  # type: ignore[call-overload]


def read_headers(path: Path) -> dict[str, Header]:
    """What the arrays of an npz file are, by name, without their values."""
    with _archive(path) as (_, headers):
        return headers


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an npz file, once all of them are known to fit in memory."""
    with _archive(path) as (archive, headers):
        memory.require(
            sum(header.size for header in headers.values()),
            str(path),
            "store fewer rows, or one array as an npy file, which can stay on disk",
        )
        with _npz_damage(path):
            return {name: _array(archive, name, header) for name, header in headers.items()}


@contextmanager
def _archive(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Header]]]:
    with open_regular(path) as file:
        with _npz_damage(path):
            archive = zipfile.ZipFile(file)
            headers = _headers(archive)
        with archive:
            yield archive, headers


def _npz_damage(path: Path) -> AbstractContextManager[None]:
    return damage(path, "npz file of numbers", "write it by numpy.savez", *_DAMAGE)


def _headers(archive: zipfile.ZipFile) -> dict[str, Header]:
    """The header of each array by name, checked against the size in the archive."""
    headers: dict[str, Header] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in headers or name == info.filename:
            raise ValueError(f"{brief(info.filename, 60)!r} is no array, or is there twice")
        if info.flag_bits & 1 or info.compress_type not in (0, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{brief(name, 60)!r} is encrypted or compressed by another method")
        with cast(BufferedIOBase, archive.open(info)) as file:
            header = read_header(file)
        if header.offset + header.size != info.file_size:
            raise ValueError(
                f"{brief(name, 60)!r} promises shape {header.shape} of {header.dtype}, i.e. "
                f"{header.size} bytes, but has {info.file_size - header.offset}"
            )
        headers[name] = header
    return headers


def _array(archive: zipfile.ZipFile, name: str, header: Header) -> np.ndarray:
    content = np.empty(header.size, np.uint8)
    with cast(BufferedIOBase, archive.open(f"{name}.npy")) as file:
        file.read(header.offset)
        for start in range(0, header.size, _CHUNK):
            part = content[start : start + _CHUNK]
            if file.readinto(part.data) != len(part):
                raise EOFError(f"{brief(name, 60)!r} ends early")
        file.read(1)  # the checksum is verified at the end
    if header.dtype.kind == "U":
        codes = content.view(np.dtype(np.uint32).newbyteorder(header.dtype.byteorder))
        if codes.size and codes.max() > sys.maxunicode:
            raise ValueError(f"{brief(name, 60)!r} is no text")
    return content.view(header.dtype).reshape(header.shape, order=header.order)  # type: ignore[call-overload]
