"""The scripts of examples/, with fewer rows and epochs; whole in the slow tests."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from vrbm.data.dataset import Dataset, Domain
from vrbm.estimator import completion

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = {
    "digits_features": {"sizes": (25,)},
    "fill_in_pixels": {"rows": 6},
    "size_by_digit": {},
    "drop_in": {},
}


@pytest.fixture
def example(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield importlib.import_module
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_every_example_is_run_here():
    others = {"digits_data", "mnist_likelihood", "potts_bonds"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SETTINGS, *others}


def test_likelihood_example(example, capsys):
    rows = np.random.default_rng(0).integers(0, 2, (300, 9))
    data = Dataset(name="noise", domain=Domain.BINARY, train=rows, test=rows[:20])
    few = {"max_hidden": 4, "epochs": 1, "chains": 5, "temperatures": 20, "annealed": 10}
    lower, upper = example("mnist_likelihood").main(data, **few)
    assert -10 < lower <= upper < -4
    assert "test" in capsys.readouterr().out
    assert Path("mnist_likelihood.safetensors").exists()


def test_bonds_example(example, capsys):
    example("potts_bonds").main(epochs=23)
    assert "a bond is stronger than another pair with probability" in capsys.readouterr().out


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_example(name, example, capsys, monkeypatch):
    # Chains for all missing entries: one function to compile, not one for each number of them.
    monkeypatch.setattr(completion, "ENUMERATED", 0)
    assert example(name).main(shifts=False, max_hidden=24, n_iter=2, **SETTINGS[name])
    assert capsys.readouterr().out


def test_the_example_of_the_page_runs_as_printed(capsys):
    page = (EXAMPLES.parent / "docs" / "estimator.md").read_text()
    code, *_ = re.findall(r"```python\n(.*?)```", page, re.S)
    names: dict = {}
    exec(code.replace("n_iter=10", "24, n_iter=2"), names)
    assert names["features"].shape == (len(names["data"].test), names["machine"].n_hidden_)
    assert (names["filled"] == names["data"].test).all()


@pytest.mark.slow
def test_one_self_sizing_machine_against_a_sweep(example):
    results = example("digits_features").main()
    accuracy, seconds = results.pop("VRBM()")
    sweep = sum(other for _, other in results.values())
    print(f"one VRBM {seconds:.0f} s, the sweep {sweep:.0f} s")
    assert accuracy >= max(other for other, _ in results.values())
    assert seconds < sweep


@pytest.mark.slow
def test_a_planted_potts_model_is_found(example):
    """Ten bonds of five colours: a matrix of rank four each."""
    size, auc = example("potts_bonds").main()
    assert auc >= 0.95
    assert 36 <= size <= 44


@pytest.mark.slow
def test_missing_pixels_against_column_means(example):
    by_model, by_means = example("fill_in_pixels").main()
    assert by_model < 0.6 * by_means
