"""Numbers in text files: comma, semicolon, tab or space between them, with or without a header."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from vrbm import memory
from vrbm.data.rows import ArrayRows, Table
from vrbm.printable import brief
from vrbm.reading import open_regular

#: How files spell a value that is missing; such a field makes no header.
MISSING = {"", "?", "-", "na", "n/a", "nan", "null", "none"}

#: Bytes of the longest line that is read.
LONGEST_LINE = 1 << 26
_BLOCK = 1 << 24
_NO_SEPARATORS = bytes(set(range(256)) - set(b",;\t \r\n"))


def read_text(path: Path, labels: str | None = None) -> Table:
    """All rows of a text file, gzipped if its name ends in .gz; `labels` names the label column.

    The first line is a header when one of its fields is neither a number nor a word for a missing
    one, or when it counts 0, 1, 2, …. A first pass counts the values, so that a file that memory
    cannot hold is refused before it is read.
    """
    try:
        with readable(path):
            _check_size(path)
            return _read(path, labels)
    except csv.Error as error:
        raise ValueError(f"{path} has a field that is too long or damaged ({error}).") from error


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what is raised for a file that is no text, or not whole, into a sentence."""
    try:
        yield
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is truncated, damaged or no text file ({error}).") from error


def _check_size(path: Path) -> None:
    """Raise an error where a line is too long, or where the values do not fit in memory."""
    values, length = 0, 0  # length: that of the line which the block ends in
    with _open_bytes(path) as file:
        while block := file.read(_BLOCK):
            if b"\0" in block:
                raise ValueError(
                    f"{path} is truncated, damaged or no text file (it holds zero bytes)."
                )
            begin = max(block.rfind(b"\n"), block.rfind(b"\r"))
            length = length + len(block) if begin < 0 else len(block) - begin - 1
            if length > LONGEST_LINE:
                raise ValueError(
                    f"{path} has a line of more than {LONGEST_LINE:,} bytes: put each row on a "
                    "line of its own."
                )
            values += len(block.translate(None, _NO_SEPARATORS))
            memory.require(8 * values, str(path), "take fewer rows, or convert it to npy")


def _read(path: Path, labels: str | None) -> Table:
    with open_text(path) as file:
        lines = _lines(file)
        first, second = next(lines, ""), next(lines, "")
    if not first:
        raise ValueError(f"{path} is empty: expected at least one line of numbers.")
    delimiter = _delimiter(second or first)
    fields = _split(first, delimiter)
    named = [field for field in fields if field.lower() not in MISSING and not _is_number(field)]
    counted = len(fields) > 2 and fields == [str(i) for i in range(len(fields))]
    has_header = bool(named) or counted
    columns = fields if has_header else None
    if has_header and not second:
        raise ValueError(
            f"{path} holds no rows of numbers: its only line, taken as a header, is {first[:60]!r}."
        )
    if labels is not None and (columns or []).count(labels) != 1:
        if columns and labels in columns:
            raise ValueError(f"{path} has several columns named {labels!r}: rename all but one.")
        found = brief(", ".join(columns or []), 500) or "without names"
        raise ValueError(f"labels is {labels!r}, but the columns of {path} are: {found}.")
    used = [i for i in range(len(fields)) if columns is None or columns[i] != labels]
    try:
        with open_text(path) as file:
            values = np.loadtxt(
                islice(_lines(file), int(has_header), None),
                comments=None,
                delimiter=None if delimiter == " " else delimiter,
                usecols=None if labels is None else used,
                quotechar='"',
                ndmin=2,
            )
        if labels is None and values.shape[1] != len(fields):
            raise ValueError(f"the first line has {len(fields)} fields")
        if labels is not None:  # longer lines would pass unseen
            _check_fields(path, delimiter, has_header, fields, used)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        _check_fields(path, delimiter, has_header, fields, used)
        raise ValueError(f"{path} could not be read as numbers: {brief(error)}.") from error
    rows = ArrayRows(values, str(path), [columns[i] for i in used] if columns else None)
    if columns is None or labels is None:
        return Table(rows)
    return Table(rows, _labels(path, delimiter, columns.index(labels)))


@contextmanager
def _open_bytes(path: Path) -> Iterator[Any]:
    with open_regular(path) as file:
        yield gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file


@contextmanager
def open_text(path: Path) -> Iterator[TextIOWrapper]:
    """A text file, gzipped if its name ends in .gz."""
    with _open_bytes(path) as file, TextIOWrapper(file, encoding="utf-8-sig") as text:
        yield text


def _lines(file: TextIOWrapper) -> Iterator[str]:
    """The lines that are not blank."""
    return (line for line in file if line.strip())


def _delimiter(line: str) -> str:
    """What stands between the numbers of a line; a comma where there is only one."""
    found = max(",;\t", key=line.count)
    return " " if found not in line and len(line.split()) > 1 else found


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line.strip("\r\n")], delimiter=delimiter))]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _check_fields(
    path: Path, delimiter: str, has_header: bool, fields: list[str], used: list[int]
) -> None:
    """Raise an error that names the first field or line at fault, if there is one."""
    row = -1 - has_header
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            row += 1
            if row < 0:
                continue
            found = _split(line, delimiter)
            if len(found) != len(fields):
                raise ValueError(
                    f"{path} has {len(found)} fields in row {row} (line {number}): "
                    f"expected {len(fields)}, as in the first line."
                )
            for column in used:
                if not _is_number(found[column]):
                    called = f" ({brief(repr(fields[column]), 60)})" if has_header else ""
                    raise ValueError(
                        f"{path} holds {brief(repr(found[column]), 60)} in row {row}, column "
                        f"{column}{called} (line {number}): expected a number. Encode, fill in or "
                        "drop it first."
                    )


def _labels(path: Path, delimiter: str, column: int) -> np.ndarray:
    """A column below the header, as whole numbers if it holds nothing else, or as text."""
    with open_text(path) as file:
        texts = [_split(line, delimiter)[column] for line in islice(_lines(file), 1, None)]
    longest = max(map(len, texts))
    memory.require(4 * longest * len(texts), f"the labels of {path}", "shorten them")
    try:
        return np.array(texts).astype(np.int64)
    except (ValueError, OverflowError):
        return np.array(texts)
