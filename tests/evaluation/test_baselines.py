"""Baselines against enumeration, counting by hand, and a tree that is known."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vrbm.evaluation import baselines

RNG = np.random.default_rng(0)
DEBD = Path(__file__).parents[3] / "shared" / "data" / "debd"


def all_rows(n):
    return np.array(list(itertools.product([0, 1], repeat=n)))


@pytest.mark.parametrize("fit", [baselines.independent, baselines.chow_liu])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_probabilities_add_up_to_one(fit, n):
    rows = RNG.integers(0, 2, (30, n))
    rows[:, 0] = 1  # a constant column
    p = np.exp(fit(rows).log_probability(all_rows(n)))
    assert_allclose(p.sum(), 1, rtol=1e-12)


def test_marginals_and_pairs_are_those_of_the_rows():
    """For a tree, those of its edges; here every pair of columns is one."""
    rows = RNG.integers(0, 2, (5000, 2))
    rows[:, 1] = np.where(RNG.random(5000) < 0.8, rows[:, 0], rows[:, 1])
    p = np.exp(baselines.chow_liu(rows).log_probability(all_rows(2)))
    counted = [np.mean((rows == state).all(axis=1)) for state in all_rows(2)]
    assert_allclose(p, counted, atol=1e-4)
    alone = np.exp(baselines.independent(rows).log_probability(np.eye(2)))
    ones = rows.mean(axis=0)
    assert_allclose(alone, [ones[0] * (1 - ones[1]), ones[1] * (1 - ones[0])], atol=1e-4)


def test_a_chain_is_found():
    """v_i copies v_{i−1} with probability 0.9: its likelihood is known."""
    n, count = 8, 20_000
    flips = RNG.random((count, n)) < 0.1
    flips[:, 0] = RNG.random(count) < 0.5
    rows = np.cumsum(flips, axis=1) % 2
    tree = baselines.chow_liu(rows)
    edges = {frozenset(edge) for edge in enumerate(tree.parents) if edge[0] != edge[1]}
    assert edges == {frozenset((i, i + 1)) for i in range(n - 1)}
    entropy = np.log(2) - (n - 1) * (0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    assert tree.log_probability(rows).mean() == pytest.approx(-entropy, abs=0.03)
    assert baselines.independent(rows).log_probability(rows).mean() == pytest.approx(
        -n * np.log(2), abs=0.01
    )


def test_weights_are_repetitions():
    rows = RNG.integers(0, 2, (20, 4))
    weights = RNG.integers(1, 4, 20)
    for fit in (baselines.independent, baselines.chow_liu):
        repeated = fit(np.repeat(rows, weights, axis=0)).log_probability(rows)
        assert_allclose(fit(rows, weights.astype(float)).log_probability(rows), repeated)


def test_copies_of_one_bit():
    rows = np.repeat(RNG.integers(0, 2, (1000, 1)), 10, axis=1)
    assert baselines.chow_liu(rows).log_probability(rows).mean() == pytest.approx(-0.693, abs=0.01)


@pytest.mark.skipif(not DEBD.exists(), reason="needs the real data sets")
@pytest.mark.parametrize(
    ("name", "expected"),
    [("nltcs", -6.76), ("plants", -16.52), ("mushrooms", -20.96), ("dna", -87.66)],
)
def test_published_sets(name, expected):
    with np.load(DEBD / f"{name}.npz") as data:
        tree = baselines.chow_liu(data["x_train"])
        assert tree.log_probability(data["x_test"]).mean() == pytest.approx(expected, abs=0.01)


def test_of_a_data_set(monkeypatch):
    """In blocks, of spins or 0/1, and of some of the rows where they are many."""
    rows = RNG.integers(0, 2, (50, 3))
    monkeypatch.setattr(baselines, "BLOCK", 7)
    for name, fit in (
        ("independent columns", baselines.independent),
        ("a Chow-Liu tree", baselines.chow_liu),
    ):
        expected = fit(rows).log_probability(rows).mean()
        assert baselines.fit_all(rows)[name].mean(rows) == pytest.approx(expected)
        assert baselines.fit_all(2 * rows - 1)[name].mean(2 * rows - 1) == pytest.approx(expected)
    monkeypatch.setattr(baselines, "MOST", 25)
    assert baselines.fit_all(rows)["a Chow-Liu tree"].mean(rows) < 0


def test_edges_that_chance_may_have_made_are_told_from_others():
    random = np.random.RandomState(0)
    noise = random.randint(0, 2, (2000, 12))
    assert baselines.chow_liu(noise).chance_edges == 11
    copies = np.repeat(noise[:, :1], 12, axis=1)
    tree = baselines.chow_liu(copies)
    assert tree.chance_edges == 0
    assert tree.n_parameters == 23
