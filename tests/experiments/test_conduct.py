import json
import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vrbm.evaluation import average_sizes
from vrbm.experiments import ising, mnist
from vrbm.experiments.conduct import conduct, learning_curve
from vrbm.experiments.folder import StudyFolder
from vrbm.experiments.results import Results
from vrbm.model import storage
from vrbm.training.negative import MeanField

from .conftest import COARSE


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".json", ".safetensors", ".npz")
    }


def test_a_finished_study_is_not_done_again(ising_study, ising_preset):
    folder, data = ising_study
    before = files(folder)
    conduct(ising_preset, folder, data)
    assert files(folder) == before


def test_a_study_that_was_stopped_goes_on(ising_study, ising_preset, tmp_path):
    """What is missing is made again, and comes out the same."""
    folder, data = ising_study
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    run = StudyFolder(copy).run("vrbm-128", 0)
    shutil.rmtree(run.folder)
    StudyFolder(copy).measures("vrbm", 1).unlink()
    told = []
    conduct(ising_preset, copy, data, progress=lambda *words: told.append(words))
    assert {name for name, _, _ in told} == {"vrbm-128, seed 0", "vrbm, seed 1"}
    for name, seed in (("vrbm-128", 0), ("vrbm", 1)):
        old, new = (Results(where).numbers[name][seed] for where in (folder, copy))
        old["training"].pop("seconds"), new["training"].pop("seconds")
        assert old == new


def test_other_settings_need_another_folder(ising_study, ising_preset, tmp_path):
    folder, data = ising_study
    with pytest.raises(ValueError, match="other settings or data: choose a new folder"):
        conduct(replace(ising_preset, train_rows=601), folder, data)
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ValueError, match="is not empty and holds no study"):
        conduct(ising_preset, tmp_path, data)
    with pytest.raises(ValueError, match="members names 'rbn': choose from vrbm, vrbm-128"):
        conduct(ising_preset, tmp_path / "new", data, members=["rbn"])


def test_only_some_members_and_seeds(ising_preset, ising_study, tmp_path):
    conduct(ising_preset, tmp_path / "part", ising_study[1], members=["vrbm-128"], seeds=[0])
    assert {path.name for path in (tmp_path / "part" / "runs").iterdir()} == {"vrbm-128-0"}


def test_unknown_seeds_are_told(ising_preset, ising_study, tmp_path):
    with pytest.raises(ValueError, match=r"seeds names \[7\]: choose from \[0, 1\]"):
        conduct(ising_preset, tmp_path / "part", ising_study[1], seeds=[0, 7])
    assert not (tmp_path / "part").exists()


def test_measures_are_those_of_the_model(ising_study):
    folder, data = ising_study
    model = storage.load(StudyFolder(folder).run("vrbm", 1).model)
    numbers = Results(folder).numbers["vrbm"][1]
    sizes = average_sizes(model, data.train)
    assert numbers["mean_size"] == pytest.approx(sizes.mean_size, rel=1e-6)
    z = np.arange(1, 67)
    variance = sizes.probabilities @ z**2 - (sizes.probabilities @ z) ** 2
    assert numbers["size_width"] == pytest.approx(variance**0.5, rel=1e-4)
    assert numbers["mu"] == pytest.approx(float(model.chemical_potential()), rel=1e-6)
    y, _ = MeanField(2).fields(model, jnp.asarray(data.test, jnp.float32), jax.random.key(0))
    error = ((data.test - np.tanh(y)) ** 2).sum(axis=1).mean()
    assert numbers["test"]["error"] == pytest.approx(error, rel=1e-4)
    assert numbers["training"]["epochs"] == 2
    energy = numbers["thermodynamics"]["energy"]
    assert energy["relative"] == pytest.approx(energy["value"] / energy["exact"] - 1)
    weighted = numbers["weighted"]
    assert 0 < weighted["share"] < 1
    assert ("energy" in weighted) == (weighted["share"] > 0.1)
    test = numbers["test"]
    assert test["gap"]["mean"] == pytest.approx(
        test["gap"]["optimum"] - test["log_likelihood"], abs=1e-4
    )
    assert test["gap"]["mean"] > 0


def test_digits_are_measured_one_by_one(mnist_study):
    folder, data = mnist_study
    numbers = Results(folder).numbers["vrbm"][0]
    model = storage.load(StudyFolder(folder).run("vrbm", 0).model)
    arrays = Results(folder).arrays("vrbm")
    for digit in (0, 7):
        rows = data.train[data.train_labels == digit]
        assert numbers["size_by_digit"][str(digit)] == pytest.approx(
            float(model.mean_size(rows).mean()), rel=1e-5
        )
        np.testing.assert_allclose(
            arrays["digit_hidden"][digit], model.mean_hidden(rows).mean(axis=0), atol=1e-5
        )


def test_wrong_pixels_by_hand(mnist_study):
    """A model without weights gives the sign of c everywhere."""
    folder, data = mnist_study
    model = storage.load(StudyFolder(folder).run("rbm", 0).model)
    c = np.where(np.arange(196) == 3, -1.0, 1.0).astype(np.float32)
    blank = replace(model, W=jnp.zeros_like(model.W), c=jnp.asarray(c))
    train = np.ones((2000, 196), np.int8)
    train[:, 5] = 1
    train[0, 6] = -1
    test = np.ones((3, 196), np.int8)
    test[:, 3] = -1
    test[0, 5] = -1  # never in training
    test[0, 6] = -1  # once in 2000 rows
    test[1, 3] = 1
    hand = replace(
        data, train=train, test=test, train_labels=None, test_labels=None, validation=None
    )
    assert mnist.wrong_pixels(blank, hand, MeanField(1)) == {
        "pixels": 3,
        "rare": 2,
        "unseen": 1,
        "rows": 2,
        "rows_with_unseen": 2,
        "distance": 1.0,  # of 2 and 0
        "distance_of_others": 1.0,
    }


def test_learning_curves_are_thinned_evenly_in_the_logarithm():
    records = [
        {"epoch": n, "error_train": 1 / n, "error_heldout": 2 / n, "mean_size": 3.0, "mu": 1.0}
        for n in range(1, 4001)
    ]
    curve = learning_curve(records, points=50)
    assert len(curve["curve_epoch"]) <= 50
    assert curve["curve_epoch"][0] == 1
    assert curve["curve_epoch"][-1] == 4000
    np.testing.assert_allclose(curve["curve_error_test"], 2 / curve["curve_epoch"])
    assert len(learning_curve(records[:1])["curve_mu"]) == 1


def test_the_settings_are_kept(ising_study, ising_preset):
    facts = json.loads((ising_study[0] / "study.json").read_text())
    assert facts["members"]["vrbm"]["config"]["optimizer"]["growth"] == 4.0
    assert facts["members"]["vrbm"]["potential"]["name"] == "Penalizing"
    assert facts["data"]["hash"] == ising_study[1].content_hash
    assert "jax" in facts["environment"]


def test_a_member_may_be_measured_in_its_own_way(ising_preset, ising_study, tmp_path, monkeypatch):
    _, data = ising_study
    own = replace(COARSE, samples=7)
    member = replace(ising_preset.members["vrbm"], annealing=own, seeds=(0,))
    members = {"vrbm": member, "other": replace(member, annealing=None)}
    seen = []
    monkeypatch.setattr(
        ising, "_samples", lambda model, annealing, key: (seen.append(annealing), data.test[:9])[1]
    )
    conduct(replace(ising_preset, members=members), tmp_path, data)
    assert seen == [own, COARSE]
    facts = json.loads((tmp_path / "study.json").read_text())
    assert facts["members"]["vrbm"]["annealing"]["samples"] == 7
    assert facts["members"]["other"]["annealing"] is None
