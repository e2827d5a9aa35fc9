"""Whatever ends a run at whatever moment, it resumes and ends as if nothing had happened."""

import os
import random
import signal
import subprocess
import time

import pytest
from numpy.testing import assert_array_equal

import vrbm
from tests.cli.commands import ENDLESS, SMALL, run, started, wait_for
from vrbm.training.run import Run

resource = pytest.importorskip("resource")
if not hasattr(resource, "prlimit"):
    pytest.skip("only Linux limits another process", allow_module_level=True)

OFTEN = ["--checkpoint-seconds", 0.05]


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=20) == -signal.SIGKILL


def interrupt(process):
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "vrbm resume" in err


def fill_disk(process):
    """No file can grow beyond 100 bytes any more; the limit fails the next write."""
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    _, err = process.communicate(timeout=20)
    assert process.returncode == 74, err
    assert "could not be written: " in err
    assert "is intact: make space, then run vrbm resume" in err
    assert "Traceback" not in err


def check_same_end(tmp_path, ways, epochs, *settings):
    """A run that ends in these ways, each time at a random moment, against one that does not.

    Returns the epochs of either: a search for the size may end before all are used.
    """
    settings = ["--epochs", epochs, *OFTEN, *settings]
    whole, broken = Run(tmp_path / "whole"), Run(tmp_path / "broken")
    status, _, err = run("train", "--out", whole.folder, *settings)
    assert status == 0, err
    moments = random.Random(0)
    for way in ways:
        before = broken.checkpoint.stat().st_mtime_ns if broken.checkpoint.exists() else 0
        again = ["resume", broken.folder, *OFTEN]
        arguments = again if before else ["train", "--out", broken.folder, *settings]
        with started(*arguments) as process:

            def is_new(before=before):
                path = broken.checkpoint
                return path.exists() and path.stat().st_mtime_ns != before

            wait_for(is_new, process)
            time.sleep(moments.uniform(0, 0.1))
            assert process.poll() is None, "the run ended too early for this test"
            way(process)
    status, _, err = run("resume", broken.folder, *OFTEN)
    assert status == 0, err
    expected, found = vrbm.load(whole.model), vrbm.load(broken.model)
    for name in "Wbc":
        assert_array_equal(getattr(found, name), getattr(expected, name))
    mine, theirs = (
        [{**facts, "seconds": 0} for facts in one.read_records()] for one in (whole, broken)
    )
    assert mine == theirs
    assert [facts["epoch"] for facts in mine] == list(range(1, len(mine) + 1))
    assert mine[-1]["is_last"]
    assert not [path for path in broken.folder.iterdir() if path.suffix == ".part"]
    return len(mine)


@pytest.mark.parametrize("potential", ["reservoir", "fixed"])
def test_a_kill_an_interrupt_and_a_full_disk_change_nothing(tmp_path, rows, potential):
    settings = ["--data", rows, *SMALL, "--potential", potential, "persistent", "--chains", 20]
    epochs = check_same_end(tmp_path, [kill, interrupt, fill_disk], 400, *settings)
    assert epochs == 400 if potential == "fixed" else 200 < epochs <= 400


@pytest.mark.slow
@pytest.mark.parametrize("way", [kill, interrupt, fill_disk])
def test_ten_times_at_random_moments(tmp_path, way):
    chains = ["--centred", "persistent", "--k", 2, "--chains", 50]
    check_same_end(tmp_path, [way] * 10, 600, "--data", "digits", "--max-hidden", 60, *chains)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root mounts")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_to_the_brim(small_disk, rows):
    settings = ["--data", rows, "--epochs", 300, *SMALL, "--potential", "fixed"]
    one = Run(small_disk / "run")
    with started("train", "--out", one.folder, *settings, *OFTEN) as process:
        wait_for(one.records.exists, process)
        with (small_disk / "ballast").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        _, err = process.communicate(timeout=20)
    assert process.returncode == 74, err
    assert "No space left on device" in err
    assert "Traceback" not in err
    (small_disk / "ballast").unlink()
    status, _, err = run("resume", one.folder)
    assert status == 0, err
    assert len(one.read_records()) == 300


def test_the_second_of_two_processes_is_told_before_any_work(tmp_path, rows):
    settings = ["--data", rows, *ENDLESS, *OFTEN]
    one = Run(tmp_path / "run")
    with started("train", "--out", one.folder, *settings) as process:
        wait_for(one.records.exists, process)
        message = f"vrbm: {one.folder} is in use by process {process.pid}: wait until it ends"
        for arguments in (
            ["train", "--out", one.folder, "--data", "nowhere.npy"],
            ["resume", one.folder],
        ):
            status, _, err = run(*arguments)
            assert status == 2
            assert err.startswith(message)
        status, _, err = run("evaluate", one.folder, "--chains", 4, "--temperatures", 5)
        assert status == 0, err
        assert process.poll() is None
        interrupt(process)
    epochs = [facts["epoch"] for facts in one.read_records()]
    assert epochs == list(range(1, len(epochs) + 1))
    assert os.listdir(one.folder).count("evaluation.json") == 1
