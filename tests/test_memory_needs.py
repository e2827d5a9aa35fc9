"""Requests beyond the memory at hand are refused in a sentence, before anything is allocated."""

import jax
import numpy as np
import pytest

import vrbm
from vrbm import memory
from vrbm.cli import main
from vrbm.data import ising
from vrbm.data.digits import digits
from vrbm.evaluation.likelihood import log_partition
from vrbm.evaluation.sampling import sample
from vrbm.training import Config, Persistent, Tempered, train

X = np.random.default_rng(0).integers(0, 2, (30, 4))
KEY = jax.random.key(0)
MANY = 10**12


def model(n_visible=64):
    return vrbm.GrandCanonicalRBM.initialize(KEY, n_visible, 30)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: vrbm.GrandCanonicalRBM.initialize(KEY, 64, MANY),
        lambda: vrbm.RBM(MANY).fit(X),
        lambda: vrbm.VRBM(MANY).fit(X),
        lambda: vrbm.VRBM(MANY, potential=vrbm.Penalizing()).fit(X),
        lambda: vrbm.RBM(3, n_chains=MANY).fit(X),
        lambda: vrbm.RBM(3, n_iter=1).fit(X).sample(MANY),
        lambda: train(model(), digits(), Config.paper(negative=Persistent(1, MANY))),
        lambda: train(model(), digits(), Config.paper(negative=Tempered(1, 10**6, 10**6))),
        lambda: train(model(), digits(), Config.paper(negative=Persistent(), stiff=MANY)),
        lambda: sample(model(), MANY, KEY),
        lambda: sample(model(), 1, KEY, steps=MANY),
        lambda: sample(model(), 1, KEY, "tempered", replicas=MANY),
        lambda: log_partition(model(), KEY, chains=MANY),
        lambda: log_partition(model(), KEY, temperatures=MANY),
        lambda: ising.mixture_set(n_train=MANY),
        lambda: ising.exact_draws(8, 2.0, MANY),
        lambda: ising.swendsen_wang_draws(8, 2.0, MANY),
    ],
)
def test_a_request_beyond_memory_is_refused(ask):
    with pytest.raises(ValueError, match=r"needs [\d,.]+ GiB of memory, but [\d,.]+ [MG]iB may be"):
        ask()


def test_the_limit_is_the_memory_at_hand(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10_000)
    with pytest.raises(ValueError, match="7,500 bytes may be used: take fewer units"):
        vrbm.GrandCanonicalRBM.initialize(KEY, 64, 100)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--data", "digits", "--out", "OUT", "--max-hidden", "1000000000"],
        ["train", "--data", "digits", "--out", "OUT", "persistent", "--chains", str(MANY)],
        ["data", "ising", "--n-train", str(MANY)],
    ],
)
def test_the_command_says_so_and_leaves_nothing(arguments, tmp_path, capsys):
    out = tmp_path / "run"
    assert main([str(out) if one == "OUT" else one for one in arguments]) == 2
    assert "GiB of memory" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("seed", [-1, 2**63, 10**30])
def test_seeds_that_no_generator_takes(seed, tmp_path, capsys):
    message = f"seed is {seed}: pass a whole number from 0 to 2⁶³ − 1."
    out = tmp_path / "run"
    for arguments in (["train", "--data", "digits", "--out", str(out)], ["data", "ising"]):
        assert main([*arguments, "--seed", str(seed)]) == 2
        assert message in capsys.readouterr().err
    assert not out.exists()


def test_the_largest_seed(tmp_path):
    arguments = ["--epochs", "1", "--max-hidden", "5", "--seed", str(2**63 - 1)]
    assert main(["train", "--data", "digits", "--out", str(tmp_path / "run"), *arguments]) == 0


def test_limits_of_all_groups_count(monkeypatch):
    """A job may be limited by a group between its own and the root."""
    files = {
        "/proc/self/cgroup": ["0::/slurm/job/step"],
        "/sys/fs/cgroup/slurm/job/memory.max": ["5000"],
        "/sys/fs/cgroup/slurm/job/memory.current": ["1000"],
    }
    monkeypatch.setattr(memory, "_lines", lambda path: files.get(str(path), []))
    assert list(memory._control_group()) == [4000]
