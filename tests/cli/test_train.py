import json

import pytest

import vrbm
from vrbm.cli import main
from vrbm.model.storage import describe_potential
from vrbm.training.run import Run


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_train_and_resume(capsys, tmp_path):
    folder = tmp_path / "run"
    settings = ["--epochs", 2, "--batch-size", 200, "--max-hidden", 20, "--monitor-rows", 50]
    status, out, _ = run(capsys, "train", "--data", "digits", "--out", folder, *settings)
    assert status == 0
    for word in ("epoch 2/2", "mean size", "chemical potential", str(folder)):
        assert word in out
    facts = json.loads((folder / "run.json").read_text())
    assert facts["source"] == "digits"
    assert facts["config"]["epochs"] == 2
    assert vrbm.load(folder / "model.safetensors").max_hidden == 20
    assert len(Run(folder).read_records()) == 2
    status, out, _ = run(capsys, "resume", folder)
    assert status == 0
    assert "nothing to do" in out


@pytest.mark.parametrize(
    ("flags", "potential"),
    [
        (["--potential", "constant", "--price", 0.4, "--keep-log2"], vrbm.Constant(0.4, False)),
        (["--potential", "local"], vrbm.Local()),
        (["--potential", "local", "--price", 1.3, "--absorb-log2"], vrbm.Local(1.3, True)),
        (["--potential", "fixed"], vrbm.FixedSize()),
        (["--potential", "penalizing", "--p", 2, "--smooth"], vrbm.Penalizing(p=2, smooth=True)),
    ],
)
def test_potentials_by_flags(capsys, tmp_path, flags, potential):
    arguments = ["--epochs", 1, "--max-hidden", 5, "--monitor-rows", 10, *flags]
    status, _, _ = run(
        capsys,
        "train",
        "--data",
        "digits",
        "--out",
        tmp_path / "run",
        *arguments,
        "gibbs",
        "--k",
        1,
    )
    assert status == 0
    model = vrbm.load(tmp_path / "run" / "model.safetensors")
    assert describe_potential(model.potential) == describe_potential(potential)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--data", "nowhere.npy", "--out", "OUT"], "neither a file nor one of the sets"),
        (
            ["train", "--data", "digits", "--out", "OUT", "--potential", "penalizing", "--p", 0.5],
            "p is 0.5",
        ),
        (["train", "--data", "digits", "--out", "OUT", "--penalty", -1], "penalty is -1.0"),
        (
            ["train", "--data", "digits", "--out", "OUT", "--stiff", 2, "--optimizer.rule", "adam"],
            "stiff is 2, with Tempered and adam",
        ),
        (["train", "--data", "digits", "--out", "OUT", "--potential", "constant"], "needs --price"),
        (
            ["train", "--data", "digits", "--out", "OUT", "--potential", "fixed", "--price", 1],
            "--price does not apply to --potential fixed",
        ),
        (
            ["train", "--data", "digits", "--out", "OUT", "--potential", "fixed", "--price", 0],
            "--price does not apply to --potential fixed",
        ),
        (["resume", "OUT"], "is no run folder"),
        (["nonsense"], "there is no command 'nonsense'"),
    ],
)
def test_wrong_calls_end_with_a_sentence(capsys, tmp_path, arguments, message):
    arguments = [str(tmp_path / "run") if a == "OUT" else a for a in arguments]
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert message in err


def test_the_help_lists_every_command(capsys):
    status, out, _ = run(capsys)
    assert status == 0
    for name in ("demo", "data", "train", "resume", "info"):
        assert name in out
