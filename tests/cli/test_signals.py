"""A signal at any moment ends `vrbm` cleanly: status 128 + n, one sentence, no traceback."""

import contextlib
import os
import pty
import random
import signal
import subprocess
import sys
import threading
import time

import jax
import numpy as np
import pytest

import vrbm
from tests.cli.commands import ENDLESS, catches_signals, run, started, wait_for
from vrbm.data.digits import digits
from vrbm.training import Config, train
from vrbm.training.run import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals are watched in /proc")


def train_at(folder, rows):
    return ["train", "--out", folder, "--data", rows, *ENDLESS]


def test_signals_are_watched_before_anything_heavy_is_imported():
    code = (
        "import sys; from vrbm.cli import process; heavy = {'jax', 'numpy', 'tyro', 'rich'}; "
        "process._watch = lambda: print(sorted(heavy & set(sys.modules))); process.run(lambda: 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


def test_a_pipe_that_takes_no_output_does_not_keep_the_process(tmp_path):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(65536))
    os.set_blocking(writing, True)
    code = (
        "import time; from vrbm.cli import process; "
        "process.run(lambda: print('ready', flush=True) or time.sleep(60))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=writing
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 128 + signal.SIGTERM
    os.close(reading)
    os.close(writing)


def stopped(folder, rows, number, moment):
    """Status, output and errors of a training that got a signal at that moment, in seconds.

    Counted from when the process watches for signals; negative: from its first checkpoint on.
    """
    with started(*train_at(folder, rows), "--checkpoint-seconds", 0.1) as process:
        wait_for(lambda: catches_signals(process), process)
        if moment < 0:
            wait_for(Run(folder).checkpoint.exists, process)
        time.sleep(abs(moment))
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        return process.returncode, out, err


def check(folder, number, status, err):
    assert status == 128 + number, err
    (line,) = err.splitlines()
    assert line.startswith(f"vrbm: stopped by {number.name}. ")
    if "Epoch" in line:
        assert line.endswith(f": vrbm resume {folder}")
    else:
        assert line.endswith("repeat the command.")
    assert not list(folder.glob("*.part")) + list(folder.glob(".*.part"))


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGINT, 0.0),
        (signal.SIGINT, 0.7),
        (signal.SIGINT, -0.3),
        (signal.SIGINT, -2.5),
        (signal.SIGTERM, -2.0),
        (signal.SIGHUP, -1.0),
    ],
)
def test_a_signal_ends_the_process_with_a_sentence(tmp_path, rows, number, moment):
    folder = tmp_path / "run"
    status, out, err = stopped(folder, rows, number, moment)
    check(folder, number, status, err)
    assert "Traceback" not in out


@pytest.mark.slow
def test_a_hundred_interrupts_at_random_moments(tmp_path, rows):
    moments = random.Random(0)
    for turn in range(100):
        folder = tmp_path / f"run-{turn}"
        moment = moments.uniform(0, 3) if turn % 4 == 0 else -moments.uniform(0, 3)
        number = moments.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        status, _, err = stopped(folder, rows, number, moment)
        check(folder, number, status, err)


def test_a_signal_that_was_ignored_stays_so(tmp_path, rows):
    """As under nohup."""
    with started(*train_at(tmp_path, rows), ignored=[signal.SIGHUP]) as process:
        wait_for(lambda: catches_signals(process), process)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "SIGINT" in err


def test_a_terminal_gets_its_cursor_back_and_nothing_after_the_sentence(tmp_path, rows):
    ours, theirs = pty.openpty()
    shown = []

    def read():
        try:
            while piece := os.read(ours, 65536):
                shown.append(piece)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    with started(*train_at(tmp_path, rows), stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        wait_for(lambda: any("ε".encode() in piece for piece in shown), process)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
    reader.join()
    os.close(ours)
    *_, last, rest = b"".join(shown).decode().split("\r\n")
    assert process.returncode == 130
    assert "stopped by SIGINT. Epoch" in last
    assert rest == ""
    assert b"\x1b[?25h" in b"".join(shown)


def test_an_abandoned_training_leaves_no_thread():
    before = threading.active_count()
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 64, 5)
    records = train(model, digits(), Config.paper(epochs=5, monitor_rows=10), jax.random.key(1))
    next(records)
    assert threading.active_count() > before
    records.close()
    assert threading.active_count() == before


def test_an_interrupted_fit_leaves_no_thread(monkeypatch):
    from vrbm.training import loop

    before, epochs, epoch = threading.active_count(), [], loop._epoch

    def interrupted(*arguments):
        epochs.append(1)
        found = epoch(*arguments)
        if len(epochs) == 2:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(loop, "_epoch", interrupted)
    X = np.random.default_rng(0).integers(0, 2, (30, 4))
    with pytest.warns(UserWarning, match="in epoch 2 of 5: the model is that of the end of epoch"):
        vrbm.RBM(3, n_iter=5).fit(X)
    assert threading.active_count() == before


@pytest.mark.parametrize("arguments", [["info"], ["data", "digits"], ["--help"]])
def test_a_full_or_closed_output_is_told_without_a_traceback(arguments):
    with open("/dev/full", "w") as full:
        status, _, err = run(*arguments, stdout=full)
    assert status == 74
    assert err == "vrbm: standard output could not be written: No space left on device.\n"
    reading, writing = os.pipe()
    os.close(reading)
    status, _, err = run(*arguments, stdout=writing)
    os.close(writing)
    assert (status, err) == (1, "")


def test_closed_descriptors_are_not_taken_by_files(tmp_path):
    code = "import os, sys; os.close(1); os.close(2); import vrbm.__main__"
    command = [sys.executable, "-c", code, "data", "digits", "--out", str(tmp_path / "d.npz")]
    assert subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode == 0
    assert len(np.load(tmp_path / "d.npz").files) > 1
