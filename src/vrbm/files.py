"""Files that are whole or absent: written under a temporary name, flushed, renamed."""

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed to it when the block ends well, else removed.

    Two processes may write the same path at once: each has its own temporary file, and the last
    rename wins with a whole file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def finite(value: Any) -> Any:
    """JSON has no infinity: None in its place, in lists and dicts too."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cache_directory() -> Path:
    """Where data sets are kept: $VRBM_CACHE, or `vrbm` in the user's cache."""
    if named := os.environ.get("VRBM_CACHE"):
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("vrbm"))
