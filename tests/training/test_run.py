"""Checkpoints and run folders: whole or absent, and a killed run ends as if it had not been."""

import json
import os

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors import SafetensorError

import vrbm
from vrbm.data.arrays import from_array
from vrbm.data.digits import digits
from vrbm.files import CannotWrite
from vrbm.lock import InUse
from vrbm.model import storage
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
    Config.paper(epochs=3, monitor_rows=20),
    Config.paper(epochs=3, monitor_rows=20, negative=Persistent(2, 30), centred=True, penalty=1e-4),
    Config.paper(
        epochs=3,
        monitor_rows=20,
        negative=Tempered(1, 3, 20),
        optimizer=Optimizer.paper("adam", 1e-3, decay_from=0.5, clip_norm=1.0),
    ),
    Config.paper(
        epochs=3, monitor_rows=20, negative=Gibbs(1), optimizer=Optimizer.paper("sgd"), stiff=2
    ),
    Config.paper(epochs=3, monitor_rows=20, negative=MeanField(1, "sample")),
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
    (record,) = train(model_of(data), data, Config.paper(epochs=1), KEY)
    checkpoint.save(tmp_path / "c", record.state, Config.paper(epochs=1), data.content_hash)
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
    (record,) = train(model_of(data), data, Config.paper(epochs=1), KEY)
    path = tmp_path / "c"
    checkpoint.save(path, record.state, Config.paper(epochs=1), data.content_hash)
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
    config = Config.paper(
        epochs=50, monitor_rows=20, optimizer=Optimizer.paper("sgd", learning_rate=5.0)
    )
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


def test_early_stopping_passes_over_layers_of_a_search():
    stop = EarlyStopping(1)
    search = [{"error_heldout": error, "is_search": True} for error in (0.1, 0.5, 0.9)]
    kept = [{"error_heldout": error, "is_search": False} for error in (0.6, 0.7)]
    assert [stop(facts) for facts in (*search, *kept)] == [False, False, False, False, True]


def test_a_run_that_ended_before_all_epochs_writes_its_model_when_it_is_resumed(tmp_path):
    """On noise the search ends at once; the records may have been lost with the model."""
    random = np.random.default_rng(0)
    data = from_array(random.integers(0, 2, (400, 8)).astype(np.int8), name="noise")
    model = model_of(data, visible=vrbm.Binary(), hidden=vrbm.Binary(), potential=vrbm.Reservoir())
    run = Run(tmp_path / "run")
    last = list(run.begin(model, data, Config(epochs=54, looks=0), KEY, every_seconds=0.0))[-1]
    assert last.is_last
    assert last.epoch < 54
    run.model.unlink()
    run.records.write_text("")
    assert list(run.resume(data)) == []
    assert_array_equal(vrbm.load(run.model).W, last.state.model.W)


def test_early_stopping_needs_a_figure(tmp_path):
    with pytest.raises(ValueError, match="patience is 0"):
        EarlyStopping(0)
    with pytest.raises(ValueError, match="watch is 'error_heldout', and the records have None"):
        EarlyStopping(1)({"error_heldout": None})


def test_divergence_names_the_last_good_checkpoint(tmp_path):
    data = digits()
    run = Run(tmp_path / "run")
    config = Config.paper(epochs=2, optimizer=Optimizer.paper("sgd", learning_rate=1e308))
    with pytest.raises(Diverged, match=r"last good checkpoint: .*checkpoint\.safetensors"):
        list(run.begin(model_of(data), data, config, KEY))


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
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


def test_two_runs_cannot_share_a_folder(tmp_path):
    data = digits()
    first, second = Run(tmp_path / "run"), Run(tmp_path / "run")
    follow = first.begin(model_of(data), data, CONFIGS[0], KEY, every_seconds=0.0)
    next(follow)
    part = first.folder / ".checkpoint.safetensors.x.part"
    part.write_bytes(b"being written")
    for other in (second.begin(model_of(data), data, CONFIGS[0], KEY), second.resume(data)):
        with pytest.raises(InUse, match=f"run is in use by process {os.getpid()}"):
            next(other)
    with pytest.raises(InUse):
        second.check_new()
    assert part.exists()
    assert checkpoint.load_model(second.checkpoint).max_hidden == 30  # reading is allowed
    follow.close()
    assert [record.epoch for record in second.resume(data)] == [2, 3]
    assert not list(first.folder.glob(".*"))


def test_only_a_begun_run_is_begun_again(tmp_path):
    data = digits()
    run = Run(tmp_path / "run")
    run.folder.mkdir()
    for foreign in ('{"mine": 1}', "[]", "mine", ""):
        run.facts.write_text(foreign)
        with pytest.raises(ValueError, match="run is not empty"):
            next(run.begin(model_of(data), data, CONFIGS[0], KEY))
        with pytest.raises(ValueError, match="run is not empty"):
            run.check_new()
        assert run.facts.read_text() == foreign
        assert len(list(run.folder.iterdir())) == 1
    run.facts.unlink()
    begun = run.begin(model_of(data), data, CONFIGS[0], KEY)
    next(begun)
    begun.close()
    for path in (run.checkpoint, run.records):  # as if it had been killed earlier
        path.unlink()
    (run.folder / ".checkpoint.safetensors.x.part").write_bytes(b"half")
    assert len(list(run.begin(model_of(data), data, CONFIGS[0], KEY))) == 3


@pytest.mark.parametrize("killed_at", ["model", "checkpoint"])
def test_a_run_that_was_killed_while_it_stopped_early_has_the_same_end(
    tmp_path, monkeypatch, killed_at
):
    data = digits()
    config = Config.paper(
        epochs=50, monitor_rows=20, optimizer=Optimizer.paper("sgd", learning_rate=5.0)
    )
    whole = Run(tmp_path / "whole")
    last = list(whole.begin(model_of(data), data, config, KEY, stop=EarlyStopping(3)))[-1].epoch
    killed = Run(tmp_path / "killed")
    write = storage.write

    def dies(path, arrays, header):
        if path.name.startswith(killed_at) and header.get("epoch", last) == last:
            raise KeyboardInterrupt
        write(path, arrays, header)

    monkeypatch.setattr(storage, "write", dies)
    options = {"stop": EarlyStopping(3), "every_seconds": 0.0}
    with pytest.raises(KeyboardInterrupt):
        list(killed.begin(model_of(data), data, config, KEY, **options))
    monkeypatch.undo()
    list(killed.resume(data, stop=EarlyStopping(3)))
    assert killed.read_records()[-1]["epoch"] == last < 50
    assert_array_equal(vrbm.load(killed.model).W, vrbm.load(whole.model).W)


def test_a_checkpoint_at_which_the_run_had_stopped_is_its_end(tmp_path):
    """Whoever removes the model of such a run gets it back."""
    data = digits()
    config = Config.paper(
        epochs=50, monitor_rows=20, optimizer=Optimizer.paper("sgd", learning_rate=5.0)
    )
    run = Run(tmp_path / "run")
    list(run.begin(model_of(data), data, config, KEY, stop=EarlyStopping(3)))
    model = run.model.read_bytes()
    run.model.unlink()
    assert list(run.resume(data, stop=EarlyStopping(3))) == []
    assert run.model.read_bytes() == model


@pytest.mark.parametrize("target", ["records.jsonl", "checkpoint.safetensors"])
def test_a_full_disk_is_told_and_a_retry_resumes(tmp_path, monkeypatch, target):
    data = digits()
    whole = list(train(model_of(data), data, CONFIGS[0], KEY))
    run = Run(tmp_path / "run")
    follow = run.begin(model_of(data), data, CONFIGS[0], KEY, every_seconds=0.0)
    next(follow)

    def no_space(*arguments):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    def full(path, *arguments, **options):
        if path.name == target:
            path = "/dev/full"
        return open(path, *arguments, **options)

    if target == "records.jsonl":
        monkeypatch.setattr(type(run.folder), "open", full)
    else:
        monkeypatch.setattr(storage, "save_file", lambda *a, **k: no_space())
    with pytest.raises(
        CannotWrite, match=rf"{target} could not be written: .*No space left.* epoch 1 is intact"
    ):
        next(follow)
    monkeypatch.undo()
    assert [record.epoch for record in run.resume(data)] == [2, 3]
    assert_array_equal(vrbm.load(run.model).W, whole[-1].state.model.W)
    assert [facts["epoch"] for facts in run.read_records()] == [1, 2, 3]


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
