"""Checkpoints and run folders: whole or absent, and a killed run ends as if it had not been."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import vrbm
from vrbm.data.digits import digits
from vrbm.training import (
    Config,
    Diverged,
    EarlyStopping,
    Gibbs,
    MeanField,
    Optimizer,
    Persistent,
    Tempered,
    checkpoint,
    train,
)
from vrbm.training.run import Run

KEY = jax.random.key(3)
CONFIGS = [
    Config(epochs=3, monitor_rows=20),
    Config(epochs=3, monitor_rows=20, negative=Persistent(2, 30), centred=True, penalty=1e-4),
    Config(
        epochs=3,
        monitor_rows=20,
        negative=Tempered(1, 3, 20),
        optimizer=Optimizer("adam", 1e-3, decay_from=0.5, clip_norm=1.0),
    ),
    Config(epochs=3, monitor_rows=20, negative=Gibbs(1), optimizer=Optimizer("sgd"), stiff=2),
    Config(epochs=3, monitor_rows=20, negative=MeanField(1, "sample")),
]


def model_of(data, **options):
    return vrbm.GrandCanonicalRBM.initialize(KEY, data.n_visible, 30, **options)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c.negative).__name__)
def test_a_checkpoint_holds_everything(config, tmp_path):
    data = digits()
    potential = vrbm.Constant(0.7, absorb_log2=False)
    first, *_, last = train(model_of(data, potential=potential), data, config, KEY)
    path = tmp_path / "state.safetensors"
    checkpoint.save(path, first.state, config, data.content_hash)
    state, restored = checkpoint.load(path, data, data.content_hash)
    assert restored == config
    assert (state.epoch, state.width) == (1, first.state.width)
    for mine, theirs in zip(
        jax.tree.leaves(state.carry), jax.tree.leaves(first.state.carry), strict=True
    ):
        assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
    *_, again = train(None, data, restored, state=state)
    for mine, theirs in zip(
        jax.tree.leaves(again.state.carry), jax.tree.leaves(last.state.carry), strict=True
    ):
        assert_array_equal(mine, theirs)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    data = digits()
    (record,) = train(model_of(data), data, Config(epochs=1), KEY)
    checkpoint.save(tmp_path / "c", record.state, Config(epochs=1), data.content_hash)
    with pytest.raises(ValueError, match="belongs to data with hash"):
        checkpoint.load(tmp_path / "c", data, "0" * 64)


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), ValueError, "no whole"),
        (lambda path: path.write_bytes(b""), ValueError, "no whole"),
        (lambda path: path.unlink(), FileNotFoundError, "does not exist"),
        (lambda path: vrbm.save(model_of(digits()), path), ValueError, "expected 'vrbm checkpoint"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_named(spoil, error, message, tmp_path):
    data = digits()
    (record,) = train(model_of(data), data, Config(epochs=1), KEY)
    path = tmp_path / "c"
    checkpoint.save(path, record.state, Config(epochs=1), data.content_hash)
    spoil(path)
    with pytest.raises(error, match=message):
        checkpoint.load(path, data, data.content_hash)


def test_a_run_writes_its_folder(tmp_path):
    data = digits()
    run = Run(tmp_path / "run")
    records = list(run.begin(model_of(data), data, CONFIGS[1], KEY, {"source": "digits"}))
    assert [facts["epoch"] for facts in run.read_records()] == [1, 2, 3]
    assert run.read_records()[-1] == records[-1].facts()
    assert_array_equal(vrbm.load(run.model).W, records[-1].state.model.W)
    facts = json.loads(run.facts.read_text())
    assert facts["data"]["hash"] == data.content_hash
    assert facts["config"]["negative"] == {"name": "Persistent", "k": 2, "chains": 30}
    with pytest.raises(ValueError, match="is not empty: choose a new folder"):
        next(run.begin(model_of(data), data, CONFIGS[1], KEY))
    assert list(run.resume(data)) == []


def test_resuming_drops_records_after_the_checkpoint_and_broken_lines(tmp_path):
    data = digits()
    whole = list(train(model_of(data), data, CONFIGS[0], KEY))
    run = Run(tmp_path / "run")
    follow = run.begin(model_of(data), data, CONFIGS[0], KEY, every_seconds=1e9)
    next(follow), next(follow)  # two epochs on record, none in a checkpoint
    follow.close()
    with run.records.open("a") as file:
        file.write('{"epoch": 3, "err')
    (run.folder / ".checkpoint.safetensors.x.part").write_bytes(b"half")
    records = list(run.resume(data))
    assert [record.epoch for record in records] == [1, 2, 3]
    assert [facts["epoch"] for facts in run.read_records()] == [1, 2, 3]
    assert_array_equal(records[-1].state.model.W, whole[-1].state.model.W)
    assert not list(run.folder.glob(".*"))


def test_early_stopping_remembers_what_it_saw(tmp_path):
    """A pause changes nothing: the run ends at the same epoch, and is then at its end."""
    data = digits()
    config = Config(epochs=50, monitor_rows=20, optimizer=Optimizer("sgd", learning_rate=5.0))
    whole = Run(tmp_path / "whole")
    records = list(whole.begin(model_of(data), data, config, KEY, stop=EarlyStopping(3)))
    assert 4 <= len(records) < 50
    errors = [record.error_heldout for record in records]
    assert int(np.argmin(errors)) == len(errors) - 4
    paused = Run(tmp_path / "paused")
    follow = paused.begin(
        model_of(data), data, config, KEY, stop=EarlyStopping(3), every_seconds=0.0
    )
    for _ in range(len(records) - 2):
        next(follow)
    follow.close()
    rest = list(paused.resume(data, stop=EarlyStopping(3)))
    assert [record.epoch for record in rest] == [len(records) - 1, len(records)]
    assert_array_equal(vrbm.load(paused.model).W, vrbm.load(whole.model).W)
    assert list(paused.resume(data)) == []


def test_early_stopping_needs_a_figure(tmp_path):
    with pytest.raises(ValueError, match="patience is 0"):
        EarlyStopping(0)
    with pytest.raises(ValueError, match="watch is 'error_heldout', and the records have None"):
        EarlyStopping(1)({"error_heldout": None})


def test_divergence_names_the_last_good_checkpoint(tmp_path):
    data = digits()
    run = Run(tmp_path / "run")
    config = Config(epochs=2, optimizer=Optimizer("sgd", learning_rate=1e308))
    with pytest.raises(Diverged, match=r"last good checkpoint: .*checkpoint\.safetensors"):
        list(run.begin(model_of(data), data, config, KEY))


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    from vrbm.model import storage

    data = digits()
    run = Run(tmp_path / "run")
    follow = run.begin(model_of(data), data, CONFIGS[0], KEY, every_seconds=0.0)
    next(follow)
    before = run.checkpoint.read_bytes()

    def full(arrays, path, metadata):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "save_file", full)
    with pytest.raises(OSError, match="No space"):
        next(follow)
    assert run.checkpoint.read_bytes() == before
    assert not list(run.folder.glob(".*"))


@pytest.mark.slow
def test_killed_ten_times_at_random_moments_a_run_ends_the_same(tmp_path):
    """SIGKILL from outside, at moments from before the first checkpoint to the middle of epochs."""
    command = os.path.join(os.path.dirname(sys.executable), "vrbm")
    settings = ["--data", "digits", "--epochs", "400", "--checkpoint-seconds", "0.05",
                "--centred", "persistent", "--k", "2", "--chains", "50"]  # fmt: skip
    whole = tmp_path / "whole"
    subprocess.run([command, "train", "--out", whole, *settings], check=True, capture_output=True)
    run = Run(tmp_path / "killed")
    random.seed(0)
    kills = 0
    while True:
        begin = run.checkpoint.exists()
        arguments = (
            ["resume", run.folder, "--checkpoint-seconds", "0.05"]
            if begin
            else ["train", "--out", run.folder, *settings]
        )
        process = subprocess.Popen(
            [command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kills == 10:
            assert process.wait() == 0
            break
        if kills:  # let it come to its own epochs, then a random moment more
            seen = run.checkpoint.stat().st_mtime_ns if run.checkpoint.exists() else 0
            while process.poll() is None and (
                not run.checkpoint.exists() or run.checkpoint.stat().st_mtime_ns == seen
            ):
                time.sleep(0.01)
        time.sleep(random.uniform(0, 0.15))
        assert process.poll() is None, "the run ended before it was killed ten times"
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    expected, found = (vrbm.load(Run(folder).model) for folder in (whole, run.folder))
    for name in "Wbc":
        assert_array_equal(getattr(found, name), getattr(expected, name))
    assert [facts["epoch"] for facts in run.read_records()] == list(range(1, 401))
    mine, theirs = (
        [{**facts, "seconds": 0} for facts in Run(folder).read_records()]
        for folder in (whole, run.folder)
    )
    assert mine == theirs


def test_models_are_saved_and_loaded(tmp_path):
    data = digits()
    for potential in (vrbm.Penalizing(p=1.5, smooth=True), vrbm.Local(1.2), vrbm.FixedSize()):
        model = model_of(data, potential=potential, hidden=vrbm.Binary())
        vrbm.save(model, tmp_path / "m.safetensors")
        loaded = vrbm.load(tmp_path / "m.safetensors")
        assert loaded.potential == model.potential
        assert loaded.hidden == model.hidden
        np.testing.assert_array_equal(
            loaded.free_energy(data.train[:5]), model.free_energy(data.train[:5])
        )
    with pytest.raises(ValueError, match="is a function, which a file cannot hold"):
        vrbm.save(model_of(data, potential=lambda W, b: 1.0), tmp_path / "m")
