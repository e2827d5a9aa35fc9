"""Damaged files of every format: a sentence or an answer, in bounded memory and time.

A child process reads them, with 1 GiB of memory beyond what it has when it begins. No case may end
it by a signal, take longer than 20 s, raise an error that is not a sentence of ours, or write
outside of the folder given.
"""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = 20.0
SEED = 22


def outcomes(group: str, folder: Path, count: int) -> Iterator[str]:
    """What came of each case; a process that dies is followed by another for the rest."""
    first = 0
    while first < count:
        arguments = [group, folder, SEED, first, count]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "VRBM_CACHE": str(folder / "cache"),
            "HOME": str(folder),
        }
        with (folder / "stderr").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=environment,
            )
        last = "no case"
        for line in _lines(process, 120.0):
            last = line
            if not line.endswith(" begins"):
                yield line
                first = int(line.split()[0]) + 1
        status = process.wait()
        if status == 0:
            return
        said = (folder / "stderr").read_text(errors="replace")[-2000:]
        yield f"{last}, and the process ended with {status}: {said}"
        if last == "no case":
            return
        first = int(last.split()[0]) + 1


def _lines(process: subprocess.Popen, patience: float) -> Iterator[str]:
    """Lines as they come; the process is killed when the next takes too long."""
    assert process.stdout is not None
    with process.stdout, selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        rest = b""
        until = time.monotonic() + patience
        while selector.select(until - time.monotonic()):
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                return
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                yield line.decode()
            until = time.monotonic() + LONGEST
    process.kill()


def check(group: str, tmp_path: Path, count: int) -> None:
    """All cases of a group, and nothing written but their own files."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "other").write_text("of someone else")
    found = list(outcomes(group, folder, count))
    bad = [line for line in found if line.split(" ")[-1] not in ("read", "refused")]
    assert not bad, "\n".join(bad).replace("\\n", "\n")
    assert len(found) == count
    assert sum(line.endswith(" refused") for line in found) > count / 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "other"]
    assert (tmp_path / "other").read_text() == "of someone else"


def test_damaged_data_files(tmp_path):
    check("data_files", tmp_path, 160)


@pytest.mark.slow
def test_many_damaged_data_files(tmp_path):
    check("data_files", tmp_path, 1600)


def test_damaged_model_files(tmp_path):
    check("model_files", tmp_path, 40)


@pytest.mark.slow
def test_many_damaged_model_files(tmp_path):
    check("model_files", tmp_path, 400)
