"""How the command ends as a process: signals, and output that nobody takes.

A thread waits for signals, so that a long computation does not delay the end and no exception is
raised where a library would swallow it. Files are whole or absent at every moment, and a run
resumes from its newest checkpoint, so the process may end between any two instructions.

This module is imported before all others, and imports nothing that takes time.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType

#: Exit status when a file or the output could not be written (EX_IOERR of sysexits.h).
CANNOT_WRITE = 74
#: Exit status when whatever read the output has gone.
BROKEN_PIPE = 1

#: Windows has no SIGHUP.
SIGNALS = [one for one in signal.Signals if one.name in ("SIGINT", "SIGTERM", "SIGHUP")]

#: What to do after a signal; a command that can be resumed says how.
advice: Callable[[], str] = "To begin again, repeat the command.".format


def run(command: Callable[[], int]) -> None:
    """Run the command and end the process with its exit status, or with 128 + n after signal n."""
    _fill_standard_descriptors()
    _watch()
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    status = guarded(command)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # all is done
    sys.exit(status)


def guarded(command: Callable[[], int]) -> int:
    """The exit status of the command; standard output that cannot be written is told here."""
    try:
        try:
            return command()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        status = BROKEN_PIPE
    except OSError as error:
        with contextlib.suppress(OSError):
            reason = error.strerror or error
            print(f"vrbm: standard output could not be written: {reason}.", file=sys.stderr)
        status = CANNOT_WRITE
    # The interpreter flushes once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status


def _fill_standard_descriptors() -> None:
    """Open those that are closed, else messages of libraries would go to files opened later."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _watch() -> None:
    """End the process upon a signal, save those that it was started to ignore (nohup)."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _nothing)  # its number is written to the socket all the same
    threading.Thread(target=_wait, args=(reading, writing), daemon=True).start()


def _nothing(number: int, frame: FrameType | None) -> None:
    pass


def _wait(reading: socket.socket, writing: socket.socket) -> None:
    while (number := reading.recv(1)[0]) not in SIGNALS:
        pass
    try:
        _say(f"vrbm: stopped by {signal.Signals(number).name}. {advice()}")
        # Last, since files are begun meanwhile. None was where the module is not there, or in part.
        for path in list(getattr(sys.modules.get("vrbm.files"), "unfinished", ())):
            path.unlink(missing_ok=True)
    finally:
        os._exit(128 + number)


def _say(words: str) -> None:
    """Write the last line of the process: no output comes after it."""
    output, error = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if os.isatty(output):
        _write(output, b"\x1b[?25h\n")  # a progress line hides the cursor
    _write(error, f"{words}\n".encode(errors="backslashreplace"))


def _write(descriptor: int, line: bytes) -> None:
    """Write a line, unless nobody takes it: then it must not keep the process."""
    with contextlib.suppress(OSError):
        if select.select([], [descriptor], [], 1)[1]:
            os.write(descriptor, line)
