"""One process at a time: the kernel lets go of the lock of a process that dies."""

import gc
import os
import signal
import subprocess
import sys

import pytest

from vrbm import lock

HOLD = """
import sys, time
from pathlib import Path
from vrbm import lock
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="no locks here")


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_process_is_told_of_the_first_until_that_dies(tmp_path, holder):
    words = f"{tmp_path} is in use by process {holder.pid}: wait until it ends"
    with pytest.raises(lock.InUse, match=words):
        lock.check_free(tmp_path)
    with pytest.raises(lock.InUse, match=words), lock.held(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / lock.NAME).exists()
    lock.check_free(tmp_path)
    with lock.held(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_one_process_cannot_hold_it_twice(tmp_path):
    with lock.held(tmp_path):
        with pytest.raises(lock.InUse, match=f"process {os.getpid()}"), lock.held(tmp_path):
            pass
        with pytest.raises(lock.InUse):
            lock.check_free(tmp_path)
    lock.check_free(tmp_path)


def test_a_generator_that_is_dropped_lets_go(tmp_path):
    def hold():
        with lock.held(tmp_path):
            yield 1

    holding, never = hold(), hold()
    next(holding)
    del holding, never
    gc.collect()
    lock.check_free(tmp_path)


def test_a_child_by_fork_does_not_keep_it(tmp_path):
    """The child outlives the holder, as a worker of a pool may."""
    code = """
import os, sys, time
from pathlib import Path
from vrbm import lock
with lock.held(Path(sys.argv[1])):
    child = os.fork()
    if child == 0:  # it has let go of the lock before it gets here
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    child = int(process.stdout.readline())
    process.wait()
    try:
        lock.check_free(tmp_path)
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_a_file_system_without_locks_protects_nothing_and_hinders_nothing(tmp_path, monkeypatch):
    def unsupported(*arguments):
        raise OSError(lock.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", unsupported)
    with lock.held(tmp_path), lock.held(tmp_path):
        lock.check_free(tmp_path)
