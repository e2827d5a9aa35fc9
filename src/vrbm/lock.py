"""A folder that one process at a time may write to.

The lock is a `flock` on FOLDER/.vrbm-lock. The kernel releases it when the process dies, so a file
that a killed process left behind locks nothing. Where there are no such locks (Windows, some
network file systems) folders are not protected.
"""

import contextlib
import errno
import os
import socket
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vrbm.files import CannotWrite

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = ".vrbm-lock"
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class InUse(ValueError):
    """Another process writes to the folder."""


class _Descriptor:
    """An open file, closed with the last reference to it, and in children by fork."""

    def __init__(self, path: Path, flags: int) -> None:
        self.number, self.is_open = os.open(path, flags, 0o666), True
        _open.add(self)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            os.close(self.number)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            self.close()


_open: weakref.WeakSet[_Descriptor] = weakref.WeakSet()


def _close_all() -> None:
    for descriptor in list(_open):
        descriptor.close()


if hasattr(os, "register_at_fork"):
    # A lock lasts until all copies of its descriptor are closed: a child would outlive the holder.
    os.register_at_fork(after_in_child=_close_all)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder, which is made if need be, and removed again if left empty."""
    path = folder / NAME
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(path)
    except InUse:
        raise
    except OSError as error:
        raise CannotWrite(path, error) from error
    try:
        with contextlib.suppress(OSError):  # the sentence for the second process is all it serves
            os.ftruncate(descriptor.number, 0)
            os.write(descriptor.number, f"{os.getpid()} {socket.gethostname()}\n".encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            if descriptor.is_open:  # else a child by fork, which holds nothing
                path.unlink()
                if is_new:
                    folder.rmdir()  # where nothing came of it
        descriptor.close()


def check_free(folder: Path) -> None:
    """Raise `InUse` if a process holds the lock of the folder."""
    try:
        descriptor = _Descriptor(folder / NAME, os.O_RDWR)
    except OSError:  # absent, or in a folder that cannot be written to
        return
    _lock(descriptor, folder / NAME)
    descriptor.close()


def _locked(path: Path) -> _Descriptor:
    """The lock file, open and locked. A holder removes the file before it lets go of it."""
    while True:
        descriptor = _Descriptor(path, os.O_CREAT | os.O_RDWR)
        _lock(descriptor, path)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor.number), path.stat()):
                return descriptor
        descriptor.close()


def _lock(descriptor: _Descriptor, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InUse(
            f"{path.parent} is in use by {_holder(path)}: wait until it ends, or choose another "
            "folder."
        ) from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def _holder(path: Path) -> str:
    """The process that the lock file names."""
    try:
        number, host = path.read_text().split()
        where = "" if host == socket.gethostname() else f" on {host}"
        return f"process {int(number)}{where}"
    except (OSError, ValueError):
        return "another process"
