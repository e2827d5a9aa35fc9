"""`vrbm evaluate` and `vrbm sample` on small runs."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from vrbm.cli import main
from vrbm.data import ising
from vrbm.data.dataset import Dataset, Domain
from vrbm.evaluation import baselines, chain_blocks, likelihood
from vrbm.model import pseudo
from vrbm.training.run import Run


@pytest.fixture(scope="module")
def ising_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    data = folder / "ising.npz"
    patch = pytest.MonkeyPatch()
    patch.setenv("VRBM_CACHE", str(folder / "cache"))
    ising.mixture_set(3, [1.0, 2.0, 4.0], n_train=300, n_test=300).save(data)
    patch.undo()
    out = folder / "run"
    arguments = ["--data", str(data), "--out", str(out), "--max-hidden", "12", "--epochs", "2"]
    assert main(["train", *arguments, "--monitor-rows", "50"]) == 0
    return out


def test_evaluate_states_errors_likelihood_and_optimum(ising_run, capsys):
    assert main(["evaluate", str(ising_run)]) == 0
    printed = capsys.readouterr().out
    for words in ("reconstruction", "log-likelihood", "exact optimum", "gap to it", "enumeration"):
        assert words in printed
    written = json.loads((ising_run / "evaluation.json").read_text())
    model = vrbm.load(ising_run / "model.safetensors")
    data = Dataset.load(ising_run.parent / "ising.npz")
    assert written["model"] == "model.safetensors"
    assert written["partition"]["method"] == "enumeration"
    assert_allclose(written["highest"], ising.highest_log_likelihood(3, [1.0, 2.0, 4.0]))
    for one, (split, rows, _) in zip(written["splits"], data.splits(), strict=True):
        assert one["split"] == split
        log_p = np.asarray(vrbm.exact.log_probability(model, rows))
        true = ising.mixture_log_probability(rows, [1.0, 2.0, 4.0])
        assert_allclose(one["likelihood"]["mean"], log_p.mean(), rtol=1e-5)
        assert_allclose(one["gap"]["mean"], (true - log_p).mean(), rtol=1e-4)
        assert one["reconstruction"]["rows"] == len(rows)
        tree = baselines.chow_liu(data.train == 1).beside(rows == 1, log_p)
        assert_allclose(one["baselines"]["a Chow-Liu tree"], tree.mean)
        below = one["likelihood"]["mean"] < tree.mean - tree.margin
        named = [words for words in written["remarks"] if words.startswith(f"{split} rows")]
        assert any("BELOW that of a Chow-Liu tree" in words for words in named) == below
    assert "independent columns" in printed
    earned = written["contributions"]
    expected = pseudo.contributions(model, jnp.asarray(data.train, model.W.dtype)).mean
    assert_allclose(earned["mean"], np.sort(expected)[::-1], atol=1e-6)
    assert min(earned["error"]) > 0
    assert f"{len(earned['mean'])} hidden units contribute" in printed
    assert main(["report", str(ising_run)]) == 0
    assert (ising_run / "figures" / "contributions.png").exists()


def test_a_checkpoint_is_enough_and_other_data_are_noticed(ising_run, tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("run.json", "checkpoint.safetensors"):
        (folder / name).write_bytes((ising_run / name).read_bytes())
    rows = np.random.default_rng(0).integers(0, 2, (40, 9))
    np.save(tmp_path / "own.npy", rows)
    assert main(["evaluate", str(folder), "--data", str(tmp_path / "own.npy")]) == 0
    printed = capsys.readouterr().out
    assert "not the data that the run was trained on" in printed
    assert "exact optimum" not in printed
    written = json.loads((folder / "evaluation.json").read_text())
    assert written["model"] == "checkpoint.safetensors"
    assert written["highest"] is None


def test_annealed_likelihood_is_stated_with_its_error(tmp_path, capsys):
    """60 visible and 25 hidden units that matter: too many to enumerate."""
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((200, 60)) < 0.3, 1, -1).astype(np.int8)
    data = Dataset("own", Domain.SPIN, rows[:100], test=rows[100:])
    data.save(tmp_path / "own.npz")
    run = tmp_path / "run"
    arguments = ["--data", str(tmp_path / "own.npz"), "--out", str(run), "--max-hidden", "25"]
    assert (
        main(["train", *arguments, "--potential", "fixed", "--epochs", "1", "--monitor-rows", "50"])
        == 0
    )
    capsys.readouterr()
    settings = ["--chains", "100", "--temperatures", "50"]
    assert main(["evaluate", str(run), *settings]) == 0
    printed = capsys.readouterr().out
    for words in ("annealed importance sampling", "effective", "backward", "between"):
        assert words in printed
    written = json.loads((run / "evaluation.json").read_text())
    assert written["partition"]["chains"] == 100
    assert written["partition"]["standard_error"] > 0
    assert len(written["splits"]) == 2


def test_effort_grows_by_default_and_a_stopped_evaluation_resumes(tmp_path, capsys, monkeypatch):
    """The second effort is stopped; chains of the first are not run again."""
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((100, 60)) < 0.3, 1, -1).astype(np.int8)
    Dataset("own", Domain.SPIN, rows).save(tmp_path / "own.npz")
    run = tmp_path / "run"
    arguments = ["--data", str(tmp_path / "own.npz"), "--out", str(run), "--max-hidden", "25"]
    options = ["--potential", "fixed", "--epochs", "1", "--monitor-rows", "50"]
    assert main(["train", *arguments, *options]) == 0
    monkeypatch.setattr(likelihood, "EFFORTS", ((10, 20), (20, 30)))
    monkeypatch.setattr(likelihood, "NARROW", -1.0)
    real, blocks = chain_blocks._block, []

    def stops(path, betas, *rest):
        blocks.append(len(betas))
        if blocks == [20, 30]:
            raise RuntimeError("stopped")
        return real(path, betas, *rest)

    monkeypatch.setattr(chain_blocks, "_block", stops)
    with pytest.raises(RuntimeError, match="stopped"):
        main(["evaluate", str(run)])
    assert [one.name[-3:] for one in run.glob("annealing-*")] == ["-20"]
    assert main(["evaluate", str(run)]) == 0
    assert blocks == [20, 30, 30]
    assert "20 chains" in capsys.readouterr().out
    assert json.loads((run / "evaluation.json").read_text())["partition"]["temperatures"] == 30
    assert list(run.glob("annealing-*")) == []


def test_grey_data_have_no_likelihood(ising_run, tmp_path, capsys):
    np.save(tmp_path / "grey.npy", np.random.default_rng(0).random((20, 9)))
    assert main(["evaluate", str(ising_run), "--data", str(tmp_path / "grey.npy")]) == 0
    assert "no likelihood" in capsys.readouterr().out


def test_a_mixture_of_another_coupling_has_no_stated_optimum(ising_run, tmp_path, monkeypatch):
    from vrbm.evaluation.scores import mixture_temperatures

    data = Dataset.load(ising_run.parent / "ising.npz")
    assert_array_equal(mixture_temperatures(data), [1.0, 2.0, 4.0])
    monkeypatch.setenv("VRBM_CACHE", str(tmp_path))
    other = ising.mixture_set(3, [1.0, 2.0, 4.0], n_train=300, n_test=300, J=0.5)
    assert mixture_temperatures(other) is None


def test_sample_writes_states_free_and_clamped(ising_run, tmp_path, capsys):
    out = tmp_path / "samples.npy"
    assert main(["sample", str(ising_run), "-n", "7", "--out", str(out), "--steps", "5"]) == 0
    drawn = np.load(out)
    assert drawn.shape == (7, 9)
    assert drawn.dtype == np.int8
    assert set(np.unique(drawn)) <= {-1, 1}
    clamp = tmp_path / "clamp.csv"
    clamp.write_text("1,-1," + ",".join(["nan"] * 7))
    arguments = ["--clamp", str(clamp), "--method", "gibbs", "--steps", "5"]
    assert main(["sample", str(ising_run), "-n", "4", "--out", str(out), *arguments]) == 0
    assert_array_equal(np.load(out)[:, :2], [[1, -1]] * 4)
    assert "4 samples" in capsys.readouterr().out


FREE = ",nan" * 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"1,O{FREE}", "holds no rows of numbers: its only line"),
        (f"1,O{FREE}\n1,1{FREE}", "whose first line is 1, O, nan"),
        (f"1,-1{FREE}\n1,O{FREE}", "holds 'O' in row 1, column 1"),
        (f"1,{FREE}", "holds '' in row 0, column 1"),
        (f"1,-1,free{FREE[4:]}", "holds no rows of numbers"),
        (f"1,-1{FREE}\n", None),
        (f"\ufeff1,-1{FREE}\n", None),
        (f"1;-1{FREE.replace(',', ';')}", None),
        ("1\n-1\n" + "nan\n" * 7, None),
    ],
)
def test_clamped_values_are_read_strictly(ising_run, tmp_path, capsys, text, message):
    """A value that cannot be read is no free unit."""
    clamp, out = tmp_path / "clamp.csv", tmp_path / "out.npy"
    clamp.write_text(text, encoding="utf-8")
    arguments = ["-n", "4", "--out", str(out), "--method", "gibbs", "--steps", "5"]
    status = main(["sample", str(ising_run), *arguments, "--clamp", str(clamp)])
    if message is None:
        assert status == 0
        assert_array_equal(np.load(out)[:, :2], [[1, -1]] * 4)
    else:
        assert status == 2
        assert message in capsys.readouterr().err
        assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "nowhere"], "nowhere is no run folder"),
        (["sample", "nowhere", "--out", "x.npy"], "neither model.safetensors nor a checkpoint"),
        (["sample", "nowhere", "--out", "x.png"], "must end in .npy"),
    ],
)
def test_errors_are_sentences(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_does_not_name_its_data(ising_run, tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    facts = json.loads(Run(ising_run).facts.read_text())
    del facts["source"]
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "model.safetensors").write_bytes((ising_run / "model.safetensors").read_bytes())
    assert main(["evaluate", str(folder)]) == 2
    assert "pass them by --data" in capsys.readouterr().err
