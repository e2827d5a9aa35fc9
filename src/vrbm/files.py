"""Files that are whole or absent: written under a temporary name, flushed, renamed."""

import errno
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: Errors of a device, not of a path: no space, over quota, file too large, broken, read-only.
DEVICE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
#: Temporary files of this process: a process that ends abruptly removes them first.
unfinished: set[Path] = set()


class CannotWrite(OSError):
    """A file could not be written. What was at its path before is still there."""

    def __init__(self, path: Path, cause: Exception) -> None:
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        super().__init__(f"{path} could not be written: {reason}.")
        self.is_wrong_path = isinstance(cause, OSError) and cause.errno not in DEVICE
        """whether another path would do, such as one that may be written to"""

    def explained(self, more: str) -> "CannotWrite":
        """The same, with a sentence more."""
        self.args = (f"{self} {more}",)
        return self


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the device inside the block become `CannotWrite`."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        if error.errno in DEVICE:
            raise CannotWrite(path, error) from error
        raise


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed to it when the block ends well, else removed.

    Two processes may write the same path at once: each has its own temporary file, and the last
    rename wins with a whole file. A file that is replaced leaves its mode to the new one, and a
    symbolic link stays: the file that it names is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise ValueError(f"{path} is no regular file: choose another path.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    unfinished.add(temporary)
    try:
        _create(temporary, path)
        with writing(path):
            yield temporary
        try:
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            temporary.replace(target)
        except OSError as error:
            raise CannotWrite(path, error) from error
    finally:
        with suppress(NotADirectoryError):
            temporary.unlink(missing_ok=True)
        unfinished.discard(temporary)


def _create(temporary: Path, path: Path) -> None:
    """An empty file with the mode that the umask leaves to new files."""
    try:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise CannotWrite(path, error) from error


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
