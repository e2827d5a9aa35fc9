import numpy as np
import pytest

from vrbm.data import ising
from vrbm.evaluation import adversarial
from vrbm.evaluation.adversarial import adversarial_accuracy, nearest


def by_loops(X, Y, own):
    return [
        min(((x - y) ** 2).sum() for j, y in enumerate(Y) if not (own and i == j))
        for i, x in enumerate(X)
    ]


def test_nearest_distances(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(11, 4)), rng.normal(size=(7, 4))
    for block in (1 << 24, 20):
        monkeypatch.setattr(adversarial, "_BLOCK", block)
        np.testing.assert_allclose(nearest(X, Y), by_loops(X, Y, False))
        np.testing.assert_allclose(nearest(X, None), by_loops(X, X, True))


def test_the_same_distribution():
    """σ is about ½/√n = 0.011, somewhat more since neighbours are shared; 5 σ."""
    a, b = (ising.exact_draws(4, 2.5, 2000, seed=seed) for seed in (1, 2))
    found = adversarial_accuracy(a, b)
    assert abs(found.truth - 0.5) < 5 * found.error
    assert abs(found.synthetic - 0.5) < 5 * found.error
    assert 0 < found.error <= 0.5 / 2000**0.5


def test_limits():
    rng = np.random.default_rng(0)
    a = np.sign(rng.normal(size=(50, 30)))
    copies = adversarial_accuracy(a, a)
    assert copies.mean == copies.truth == copies.synthetic == 0
    frozen = adversarial_accuracy(a, np.ones_like(a))
    assert frozen.synthetic == 1
    assert frozen.truth > 0.5
    same = np.ones((4, 3))
    assert adversarial_accuracy(same, same).mean == 0.5


def test_complaints():
    with pytest.raises(ValueError, match="same number of rows"):
        adversarial_accuracy(np.ones((3, 2)), np.ones((4, 2)))
