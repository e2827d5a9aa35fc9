"""The `vrbm` command as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import vrbm

#: Rows that are trained on in no time, and what makes a run of them last.
SMALL = ["--max-hidden", 12, "--monitor-rows", 20]
ENDLESS = ["--epochs", 1_000_000, *SMALL]

SOURCE = str(Path(vrbm.__file__).parents[1])


@contextmanager
def started(*arguments, ignored=(), **options):
    """A process that gets all signals but those ignored; killed if it is still there."""
    numbers = (signal.SIGINT, signal.SIGHUP)
    own = [signal.getsignal(number) for number in numbers]
    for number in numbers:  # a signal that is ignored stays so in children, any other does not
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else default)
    try:
        process = start(*arguments, **options)
    finally:
        for number, handler in zip(numbers, own, strict=True):
            signal.signal(number, handler)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def start(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": SOURCE, **options.pop("env", {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, "-m", "vrbm", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, text=True, **streams)


def run(*arguments, **options):
    """Exit status, output and errors."""
    process = start(*arguments, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def wait_for(condition, process, seconds=60):
    """Until the condition holds, while the process lives."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "too slow"
        time.sleep(0.005)


def catches_signals(process):
    """Whether our own handlers are in place: Python itself does not catch SIGTERM."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False
