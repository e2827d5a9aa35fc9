"""A process that reads damaged files, one after the other, under a limit on its memory.

python -m tests.fuzz.worker GROUP FOLDER SEED FIRST STOP writes a line to standard output before and
after each case: the number, and what came of it.
"""

import importlib
import resource
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import vrbm
from tests.fuzz.mutations import mutate

SOURCE = Path(vrbm.__file__).parent
MEMORY = 1 << 30


@dataclass(frozen=True)
class Format:
    """A kind of file: valid examples, and what is done with a damaged one."""

    name: str
    suffix: str
    examples: list[bytes]
    use: Callable[[Path], Any]
    wrap: Callable[[bytes, np.random.Generator], bytes] = mutate
    """how an example is damaged: as a whole by default, or inside of its archive"""


def limit_memory() -> None:
    """Allow so much more address space than the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def judge(use: Callable[[Path], Any], path: Path) -> str:
    """What came of a file: read, refused by a sentence of ours, or a traceback."""
    try:
        use(path)
    except (ValueError, OSError, FloatingPointError) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        if Path(frame.filename).is_relative_to(SOURCE) and len(str(error)) < 2000:
            return "refused"
        return f"FOREIGN {traceback.format_exc()!r}"
    except BaseException:
        return f"FOREIGN {traceback.format_exc()!r}"
    return "read"


def main(group: str, folder: Path, seed: int, first: int, stop: int) -> None:
    """Read cases `first` … `stop` − 1 of a group."""
    formats: list[Format] = importlib.import_module(f"tests.fuzz.{group}").formats(folder)
    for one in formats:
        for number, example in enumerate(one.examples):
            path = folder / f"good-{number}{one.suffix}"
            path.write_bytes(example)
            one.use(path)
    limit_memory()
    for case in range(first, stop):
        random = np.random.default_rng([seed, case])
        one = formats[case % len(formats)]
        content = one.wrap(one.examples[random.integers(len(one.examples))], random)
        path = folder / f"case-{case}{one.suffix}"
        path.write_bytes(content)
        print(f"{case} {one.name} begins", flush=True)
        print(f"{case} {one.name} {judge(one.use, path)}", flush=True)
        path.unlink()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6]))
