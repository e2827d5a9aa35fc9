"""Tiny studies of both experiments, conducted once."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vrbm.data.dataset import Dataset, Domain
from vrbm.experiments import ising, mnist
from vrbm.experiments.conduct import conduct
from vrbm.experiments.presets import ISING_QUICK, MNIST_QUICK, SIZING_QUICK
from vrbm.experiments.study import Annealing, Preset
from vrbm.training import Config, MeanField, Optimizer

SHORT = Config.paper(
    epochs=2, batch_size=50, negative=MeanField(2), optimizer=Optimizer.paper(growth=4.0)
)
COARSE = Annealing(chains=4, temperatures=8, samples=20, rounds=3, replicas=3)


def conducted(preset: Preset, folder: Path, data: Dataset) -> tuple[Path, Dataset]:
    conduct(preset, folder, data)
    return folder, data


def tiny(preset: Preset, **sizes: int) -> Preset:
    """The same members with few units, epochs and rows."""
    members = {
        name: replace(
            preset.members[name], max_hidden=K, config=SHORT, seeds=(0, 1)[: 1 + (name == "vrbm")]
        )
        for name, K in sizes.items()
    }
    return replace(preset, members=members, train_rows=600, test_rows=100, annealing=COARSE)


def digits_set() -> Dataset:
    """Ten 14×14 patterns with noise, one for each label."""
    rng = np.random.default_rng(0)
    patterns = np.where(rng.random((10, 196)) < 0.3, 1, -1).astype(np.int8)
    labels = np.arange(700) % 10
    noise = np.where(rng.random((700, 196)) < 0.02, -1, 1).astype(np.int8)
    rows = patterns[labels] * noise
    return Dataset(
        name="mnist",
        domain=Domain.SPIN,
        train=rows[:600],
        test=rows[600:],
        train_labels=labels[:600],
        test_labels=labels[600:],
        image_shape=(14, 14),
    )


@pytest.fixture(scope="session")
def ising_preset() -> Preset:
    return tiny(ISING_QUICK, **{"vrbm": 66, "vrbm-128": 66})  # one size: compiled once


@pytest.fixture(scope="session")
def ising_study(tmp_path_factory, ising_preset):
    folder = tmp_path_factory.mktemp("study") / "ising"
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VRBM_CACHE", str(cache))
        data = ising.load(ising_preset)
    return conducted(ising_preset, folder, data)


@pytest.fixture(scope="session")
def mnist_study(tmp_path_factory):
    preset = tiny(MNIST_QUICK, vrbm=20, rbm=6)
    folder = tmp_path_factory.mktemp("study") / "mnist"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mnist.mnist, "paper_set", digits_set)
        data = mnist.load(preset)
    return conducted(preset, folder, data)


@pytest.fixture(scope="session")
def sizing_study(tmp_path_factory, ising_study):
    """One member of each kind: epochs are few, so that nothing agrees."""
    names = ("ours-0", "ansatz-0", "phase-1-0.01", "phase-3-0.01")
    members = {
        name: replace(
            SIZING_QUICK.members[name],
            max_hidden=min(SIZING_QUICK.members[name].max_hidden, 66),
            config=SHORT,
            seeds=(0,),
        )
        for name in names
    }
    preset = replace(SIZING_QUICK, members=members, train_rows=600, test_rows=100)
    return conducted(preset, tmp_path_factory.mktemp("study") / "sizing", ising_study[1])
