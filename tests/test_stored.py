"""Files whose facts were edited: each is refused in a sentence, or harmless."""

import copy
import json
import os

import jax
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import vrbm
from vrbm import stored
from vrbm.data.arrays import from_array
from vrbm.model import storage
from vrbm.training import Config, MeanField, Persistent, checkpoint, run_facts
from vrbm.training.negative import NegativePhase
from vrbm.training.run import Run

KEY = jax.random.key(0)
BAD = [
    None,
    True,
    -1,
    2.5,
    1 << 50,
    1 << 80,
    "x",
    "jax",
    "get_args",
    "_leaf",
    "__class__",
    [],
    {},
    [[1]],
]


def places(facts, prefix=()):
    """The paths to all values in nested facts."""
    items = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for name, value in items:
        yield (*prefix, name)
        if isinstance(value, dict | list) and len(value) < 50:
            yield from places(value, (*prefix, name))


def edits(facts):
    """Copies of the facts, each with one value removed, replaced or added."""
    for place in places(facts):
        for bad in [*BAD, ...]:
            edited = copy.deepcopy(facts)
            inner = edited
            for name in place[:-1]:
                inner = inner[name]
            if bad is ...:
                del inner[place[-1]]
            else:
                inner[place[-1]] = bad
            yield edited
    for place in [(), *places(facts)]:
        edited = copy.deepcopy(facts)
        inner = edited
        for name in place:
            inner = inner[name]
        if isinstance(inner, dict):
            inner["__class__"] = "x"
            yield edited


def opened(path):
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return arrays, json.loads(file.metadata()["vrbm"])


def written(path, arrays, header):
    save_file(arrays, path, metadata={"vrbm": json.dumps(header)})


def is_refused(read):
    """Whether reading ends in a sentence of ours; any other error fails the test."""
    try:
        read()
    except (ValueError, FileNotFoundError) as error:
        frames = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        assert "vrbm" in frames[-1], frames[-1]
        return True
    return False


def sampled(items, most):
    """Some of the items, the same each time."""
    items = list(items)
    chosen = np.random.default_rng(0).permutation(len(items))[:most]
    return [items[i] for i in sorted(chosen)]


@pytest.fixture
def model():
    W = np.arange(6, dtype=np.float32).reshape(3, 2) / 10
    return vrbm.GrandCanonicalRBM(W, np.zeros(3), np.zeros(2), potential=vrbm.Constant(0.5))


def test_models(model, tmp_path):
    path = tmp_path / "model"
    vrbm.save(model, path)
    arrays, header = opened(path)
    refused = 0
    for edited in edits(header):
        written(path, arrays, edited)
        refused += is_refused(lambda: vrbm.load(path))
    assert refused > 60
    written(path, arrays, header)
    assert vrbm.load(path).potential.mu == 0.5


@pytest.mark.parametrize(
    "name", ["as_potential", "jax", "Custom", "Priced", "Potential", "np", "x"]
)
def test_a_file_names_nothing_but_potentials_and_units(model, tmp_path, name):
    path = tmp_path / "model"
    vrbm.save(model, path)
    arrays, header = opened(path)
    facts = header["model"]
    potential = {**facts["potential"], "name": name}
    for edit in ({"potential": potential}, {"visible": name}, {"hidden": name}):
        written(path, arrays, {**header, "model": facts | edit})
        with pytest.raises(ValueError, match="expected one of"):
            vrbm.load(path)


@pytest.mark.parametrize("name", "Wbc")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda x: x[..., None],
        lambda x: x[:-1],
        lambda x: x.astype(np.int32),
        lambda x: x * np.nan,
        lambda x: x[:0],
        None,
    ],
    ids=["axis", "short", "integers", "nan", "empty", "missing"],
)
def test_tensors_of_models(model, tmp_path, name, spoil):
    path = tmp_path / "model"
    vrbm.save(model, path)
    arrays, header = opened(path)
    arrays[name] = None if spoil is None else spoil(arrays[name])
    written(path, {k: v for k, v in arrays.items() if v is not None}, header)
    with pytest.raises(ValueError, match=str(path)):
        vrbm.load(path)


@pytest.fixture
def run(tmp_path):
    rows = np.random.default_rng(0).choice([-1, 1], (20, 4)).astype(np.int8)
    data = from_array(rows)
    begun = vrbm.GrandCanonicalRBM.initialize(KEY, 4, 3)
    config = Config.paper(epochs=2, batch_size=10, negative=Persistent(1, 6))
    run = Run(tmp_path / "run")
    list(run.begin(begun, data, config, KEY, {"source": "x", "seed": 0, "patience": None}))
    return run, data


@pytest.mark.filterwarnings("ignore::vrbm.training.arithmetic.ResumeWarning")
def test_checkpoints(run):
    run, data = run
    arrays, header = opened(run.checkpoint)
    refused = 0
    for edited in sampled(edits(header), 150):
        written(run.checkpoint, arrays, edited)
        refused += is_refused(lambda: checkpoint.load(run.checkpoint, data, data.content_hash))
    assert refused > 75


def test_tensors_of_checkpoints(run):
    run, data = run
    arrays, header = opened(run.checkpoint)
    for name in arrays:
        for bad in (None, arrays[name][..., None], arrays[name].astype(np.float16)):
            edited = {**arrays, name: bad}
            written(run.checkpoint, {k: v for k, v in edited.items() if v is not None}, header)
            assert is_refused(lambda: checkpoint.load(run.checkpoint, data, data.content_hash))


def test_facts_of_runs(run):
    run, _ = run
    facts = json.loads(run.facts.read_text())
    refused = 0
    for edited in edits(facts):
        run.facts.write_text(json.dumps(edited))
        refused += is_refused(lambda: run_facts.read_facts(run.facts))
    assert refused > 200
    for text in ("", "[]", "{", "nul", "[" * 100_000):
        run.facts.write_text(text)
        assert is_refused(lambda: run_facts.read_facts(run.facts))


def test_pipes_and_endless_files_are_not_read(run, tmp_path):
    run, data = run
    run.records.unlink()
    os.mkfifo(run.records)
    with pytest.raises((ValueError, OSError)):
        run.read_records()
    run.facts.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="not empty"):
        run.check_new()
    arrays, header = opened(run.checkpoint)
    written(run.checkpoint, {**arrays, "key": np.zeros((3, 2), np.uint32)}, header)
    with pytest.raises(ValueError, match="random key"):
        checkpoint.load(run.checkpoint, data, data.content_hash)


def test_the_model_of_an_earlier_checkpoint_can_be_read(run):
    run, data = run
    arrays, header = opened(run.checkpoint)
    written(run.checkpoint, arrays, {**header, "kind": checkpoint.EARLIER[0]})
    assert checkpoint.load_model(run.checkpoint).n_visible == 4
    with pytest.raises(ValueError, match=f"expected {checkpoint.KIND!r}"):
        checkpoint.load(run.checkpoint, data, data.content_hash)


def test_records(run):
    run, _ = run
    first, second = run.records.read_text().splitlines()
    for edited in edits(json.loads(first)):
        run.records.write_text(f"{json.dumps(edited)}\n{second}\n")
        is_refused(lambda: run_facts.read_records(run.records))
    run.records.write_text(f"{first}\n{second[:30]}")
    assert len(run_facts.read_records(run.records)) == 1
    run.records.write_text(f"{first[:30]}\n{second}")
    with pytest.raises(ValueError, match="line 1 of"):
        run_facts.read_records(run.records)


def test_estimators(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    path = tmp_path / "estimator"
    fitted = vrbm.VRBM(4, n_iter=2, random_state=0).fit(rows)
    fitted.save(path)
    arrays, header = opened(path)
    refused = 0
    for edited in sampled(edits(header), 300):
        written(path, arrays, edited)
        refused += is_refused(lambda: vrbm.VRBM.load(path))
    assert refused > 150


@pytest.mark.parametrize("name", ["fit", "__class__", "__dict__", "model_", "_whole", "save"])
def test_an_estimator_takes_no_other_attributes_from_a_file(tmp_path, name):
    rows = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    path = tmp_path / "estimator"
    vrbm.VRBM(4, n_iter=1, random_state=0).fit(rows).save(path)
    arrays, header = opened(path)
    header["fitted"][name] = "x"
    written(path, arrays, header)
    loaded = vrbm.VRBM.load(path)
    assert getattr(loaded, name) != "x"


@pytest.mark.parametrize(
    ("fact", "value", "message"),
    [
        ("rows", 0, "have 0 rows"),
        ("ones", [0.5, 0.5, 0.5, 1.0], r"no probabilities of shape \(4,\)"),
        ("ones", [0.5, 0.5], "no probabilities"),
        ("given", [[0.5] * 4, [0.5] * 3], r"no probabilities of shape \(2, 4\)"),
        ("given", [[0.5] * 4], "no probabilities"),
        ("parents", [0, 0, 1, 4], "no tree of 4 columns"),
        ("parents", [0, -1, 1, 0], "no tree"),
        ("parents", [0, 2, 1, 0], "no tree"),
        ("parents", [1, 1, 1, 1], "no tree"),
        ("parents", [0, 0, 0], "no tree"),
    ],
)
def test_baselines_of_a_file_are_distributions(tmp_path, fact, value, message):
    rows = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    path = tmp_path / "estimator"
    fitted = vrbm.VRBM(4, n_iter=1, random_state=0).fit(rows)
    fitted.save(path)
    arrays, header = opened(path)
    header["baselines"][fact] = value
    written(path, arrays, header)
    with pytest.raises(ValueError, match=message):
        vrbm.VRBM.load(path)
    del header["baselines"]
    written(path, arrays, header)
    assert vrbm.VRBM.load(path).baselines(rows) == {}


@pytest.mark.parametrize("position", [-1, 625, 1 << 31])
def test_a_random_state_does_not_point_beyond_its_key(tmp_path, position):
    rows = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    path = tmp_path / "estimator"
    vrbm.VRBM(4, n_iter=1, random_state=0).fit(rows).save(path)
    arrays, header = opened(path)
    header["random"][1] = position
    written(path, arrays, header)
    with pytest.raises(ValueError, match="no valid random state"):
        vrbm.VRBM.load(path)


def test_a_negative_phase_of_ones_own_is_refused_when_it_is_saved():
    class Mine(MeanField):
        pass

    with pytest.raises(ValueError, match="Mine, a class of your own"):
        checkpoint.describe(Config.paper(negative=Mine()))
    assert issubclass(Mine, NegativePhase)


def test_settings_come_back(model):
    config = Config.paper(epochs=3, negative=Persistent(2, 7), stiff=0, max_units=None)
    assert checkpoint.restore(json.loads(json.dumps(checkpoint.describe(config))), "x") == config
    facts = storage.describe_potential(vrbm.Local(1.2))
    assert stored.restored(storage.POTENTIALS, facts, "x") == vrbm.Local(1.2)
