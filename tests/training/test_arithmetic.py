"""A checkpoint knows what its arithmetic depends on, and a difference is stated."""

import os
import warnings

import jax
import pytest

import vrbm
from tests.cli.commands import run
from vrbm.cli import main
from vrbm.data.digits import digits
from vrbm.training import Config, ResumeWarning, arithmetic, checkpoint, start
from vrbm.training.run import Run

CONFIG = Config.paper(epochs=1, monitor_rows=10)


@pytest.fixture
def stored(tmp_path):
    data, key = digits(), jax.random.key(0)
    model = vrbm.GrandCanonicalRBM.initialize(key, data.n_visible, 5)
    path = tmp_path / "checkpoint.safetensors"
    checkpoint.save(path, start(model, data, CONFIG, key), CONFIG, data.content_hash)
    return path, data


def test_nothing_is_said_where_nothing_differs(stored):
    path, data = stored
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint.load(path, data, data.content_hash)


@pytest.mark.parametrize(
    ("name", "value"),
    [("threads", "64"), ("device", "gpu NVIDIA"), ("jax", "0.1"), ("jax_disable_jit", "True")],
)
def test_what_differs_is_named(stored, monkeypatch, name, value):
    path, data = stored
    here = arithmetic.facts()
    monkeypatch.setattr(arithmetic, "facts", lambda: here | {name: value})
    with pytest.warns(ResumeWarning, match=f"{name} was '{here[name]}' and is '{value}'"):
        state, config = checkpoint.load(path, data, data.content_hash)
    assert (state.epoch, config) == (0, CONFIG)


@pytest.mark.parametrize("strange", [None, [], {"unknown": 1}, {}])
def test_checkpoints_that_do_not_tell_are_taken(strange, recwarn):
    arithmetic.compare(strange, "file")
    assert not recwarn


def test_threads_switches_and_flags_are_facts(monkeypatch):
    before = arithmetic.facts()
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(7)), raising=False)
    with jax.disable_jit(), jax.default_matmul_precision("float32"):
        after = arithmetic.facts()
    differ = {name for name in before if before[name] != after[name]}
    assert differ == {
        "XLA_FLAGS", "threads", "jax_disable_jit", "jax_default_matmul_precision",
    }  # fmt: skip


@pytest.mark.filterwarnings("always")
def test_the_command_states_another_number_of_threads(tmp_path, monkeypatch, capsys):
    folder, here = tmp_path / "run", arithmetic.facts()
    settings = ["--epochs", "2", "--max-hidden", "5", "--monitor-rows", "10"]
    settings += ["--potential", "fixed"]
    assert main(["train", "--data", "digits", "--out", str(folder), *settings]) == 0
    Run(folder).model.unlink()
    monkeypatch.setattr(arithmetic, "facts", lambda: here | {"threads": "64"})
    assert main(["resume", str(folder)]) == 0
    assert capsys.readouterr().err == (
        f"vrbm: warning: {folder}/checkpoint.safetensors was written elsewhere: threads was "
        f"'{here['threads']}' and is '64'. The run is resumed, but will not be bit for bit what it "
        "would have been without the pause.\n"
    )


@pytest.mark.parametrize("platforms", ["nonsense", "cuda"])
def test_a_platform_that_jax_does_not_have_is_told(tmp_path, platforms):
    settings = ["--data", "digits", "--out", tmp_path / "run", "--epochs", 1]
    status, _, err = run("train", *settings, env={"JAX_PLATFORMS": platforms})
    if status == 0:
        pytest.skip(f"{platforms} is here")
    assert status == 2
    assert err == (
        f"vrbm: JAX_PLATFORMS is {platforms!r}, which JAX does not find here: try cpu, or unset "
        "it.\n"
    )
