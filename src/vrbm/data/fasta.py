"""Alignments of sequences: FASTA files as colours of sites, with weights by identity."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vrbm import memory
from vrbm.data.text import open_text, readable
from vrbm.printable import brief

#: Letters by kind of sequence; the gap is a colour like the others.
ALPHABETS = {"protein": "-ACDEFGHIKLMNPQRSTVWY", "dna": "-ACGT", "rna": "-ACGU"}
GAPS = "-."
#: Sequences whose identities are found at once.
BLOCK = 512


@dataclass(frozen=True, eq=False)
class Alignment:
    """Sequences of equal length, as colours: positions in the alphabet."""

    names: list[str]
    """what stands behind > in the file, by sequence"""
    colours: np.ndarray
    """(sequences, sites), int8"""
    alphabet: str

    def texts(self) -> list[str]:
        """The sequences in letters."""
        letters = np.array(list(self.alphabet))
        return ["".join(row) for row in letters[self.colours]]

    def weights(self, identity: float = 0.8) -> np.ndarray:
        """1/m for a sequence that agrees with m, itself included, in so many of its sites, (n,).

        So that a family counts once, however often it was sequenced.
        """
        if not 0 < identity <= 1:
            raise ValueError(f"identity is {identity}: pass a fraction above 0, at most 1.")
        count, sites = self.colours.shape
        memory.require(
            4 * count * (sites * len(self.alphabet) + BLOCK),
            f"comparing {count} sequences of {sites} sites",
            "pass fewer sequences",
        )
        hot = np.eye(len(self.alphabet), dtype=np.float32)[self.colours].reshape(count, -1)
        # Sums of ones are exact in float32; a hair below, as 0.8·5 is 4.000000000000001 by chance.
        least = identity * sites - 1e-6 * sites
        alike = [
            (hot[start : start + BLOCK] @ hot.T >= least).sum(axis=1)
            for start in range(0, count, BLOCK)
        ]
        return 1 / np.concatenate(alike)


def read_fasta(path: Path | str, alphabet: str = "protein", unknown: str = "gap") -> Alignment:
    """An alignment from a FASTA file: headers that begin with >, sequences on one line or several.

    Parameters
    ----------
    path
        The file, gzipped if its name ends in .gz. Its sequences have equal length; a point is a gap
        too, and small letters count as large.
    alphabet
        "protein", "dna" or "rna", or the letters themselves, the gap - among them.
    unknown
        What becomes of letters outside the alphabet, such as X or N: "gap" or "error".
    """
    path = Path(path)
    letters = ALPHABETS.get(alphabet, alphabet).upper()
    is_different = len(set(letters)) == len(letters) > 1
    if not is_different or "-" not in letters or "." in letters or not letters.isascii():
        raise ValueError(
            f"alphabet is {brief(repr(alphabet))}: pass one of {', '.join(ALPHABETS)}, or letters "
            "that differ, large or small, with the gap - among them and no point."
        )
    if unknown not in ("gap", "error"):
        raise ValueError(f"unknown is {unknown!r}: pass 'gap' or 'error'.")
    colour_of = np.full(256, -1, np.int8)
    for code, letter in enumerate(letters):
        colour_of[[ord(letter), ord(letter.lower())]] = code
    colour_of[[ord(gap) for gap in GAPS]] = letters.index("-")
    names: list[str] = []
    rows: list[np.ndarray] = []
    for name, sequence in _sequences(path):
        row = colour_of[np.frombuffer(sequence.encode("latin-1", "replace"), np.uint8)]
        if rows and len(row) != len(rows[0]):
            raise ValueError(
                f"{path} has {len(row)} letters in sequence {brief(repr(name), 60)}, but "
                f"{len(rows[0])} in {brief(repr(names[0]), 60)}: align the sequences first."
            )
        strange = np.flatnonzero(row < 0)
        if strange.size and unknown == "error":
            raise ValueError(
                f"{path} has {sequence[strange[0]]!r} at site {strange[0]} of sequence "
                f"{brief(repr(name), 60)}, which is not in {letters}: pass unknown='gap', or "
                "another alphabet."
            )
        row[strange] = letters.index("-")
        names.append(name)
        rows.append(row)
        if len(rows) % BLOCK == 0:
            memory.require(2 * len(rows) * len(row), f"reading {path}", "pass fewer sequences")
    if not rows or not len(rows[0]):
        raise ValueError(f"{path} holds no sequence: pass a FASTA file.")
    return Alignment(names, np.stack(rows), letters)


def _sequences(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs of name and letters."""
    name: str | None = None
    parts: list[str] = []
    with readable(path), open_text(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.strip()
            if text.startswith(">"):
                if name is not None:
                    yield name, "".join(parts)
                name, parts = text[1:].strip(), []
            elif text and not text.startswith(";"):
                if name is None:
                    raise ValueError(
                        f"{path} has letters in line {number} before the first line with >: "
                        "pass a FASTA file."
                    )
                parts.append("".join(text.split()))
    if name is not None:
        yield name, "".join(parts)
