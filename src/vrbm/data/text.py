"""Numbers in text files: comma, semicolon, tab or space between them, with or without a header."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from itertools import islice
from pathlib import Path

import numpy as np

from vrbm.data.rows import ArrayRows, Table

#: How files spell a value that is missing; such a field makes no header.
MISSING = {"", "?", "-", "na", "n/a", "nan", "null", "none"}


def read_text(path: Path, labels: str | None = None) -> Table:
    """All rows of a text file, gzipped if its name ends in .gz; `labels` names the label column.

    The first line is a header when one of its fields is neither a number nor a word for a missing
    one, or when it counts 0, 1, 2, ….
    """
    try:
        return _read(path, labels)
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is truncated, damaged or no text file ({error}).") from error


def _read(path: Path, labels: str | None) -> Table:
    with _open(path) as file:
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
    if labels is not None and labels not in (columns or []):
        found = ", ".join(columns or []) or "without names"
        raise ValueError(f"labels is {labels!r}, but the columns of {path} are: {found}.")
    used = [i for i in range(len(fields)) if columns is None or columns[i] != labels]
    try:
        with _open(path) as file:
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
        raise ValueError(f"{path} could not be read as numbers: {error}.") from error
    rows = ArrayRows(values, str(path), [columns[i] for i in used] if columns else None)
    if columns is None or labels is None:
        return Table(rows)
    return Table(rows, _labels(path, delimiter, columns.index(labels)))


def _open(path: Path) -> TextIOWrapper:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


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
    with _open(path) as file:
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
                    called = f" ({fields[column]!r})" if has_header else ""
                    raise ValueError(
                        f"{path} holds {found[column]!r} in row {row}, column {column}{called} "
                        f"(line {number}): expected a number. Encode, fill in or drop it first."
                    )


def _labels(path: Path, delimiter: str, column: int) -> np.ndarray:
    """A column below the header, as whole numbers if it holds nothing else, or as text."""
    with _open(path) as file:
        text = np.array([_split(line, delimiter)[column] for line in islice(_lines(file), 1, None)])
    try:
        return text.astype(np.int64)
    except ValueError:
        return text
