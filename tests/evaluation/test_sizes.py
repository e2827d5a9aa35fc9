import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrbm
from tests.model.oracle import Oracle
from vrbm.evaluation.sizes import average_sizes, effective_units, row_averages

POTENTIALS = ["absorbed", "kept", "constant", "fixed", "local", "function by unit"]


def given(oracle, v):
    """p(z|v) from the sum over all states."""
    (index,) = np.flatnonzero((oracle.v == v).all(axis=1))
    here = oracle.index == index
    weight = np.bincount(oracle.z[here], oracle.weight[here], minlength=oracle.k + 1)[1:]
    return weight / weight.sum()


@pytest.mark.parametrize(
    ("visible", "potential"), [*[("spin", name) for name in POTENTIALS], ("binary", "kept")]
)
def test_averages(visible, potential):
    """Against enumeration, with and without labels, in one block or several."""
    oracle = Oracle(visible, "spin", potential, n=3, k=4, seed=5)
    rng = np.random.default_rng(0)
    rows = oracle.v[rng.integers(0, len(oracle.v), 30)]
    labels = rng.choice(["a", "b", "c"], 30)
    expected = np.array([given(oracle, v) for v in rows])
    size = expected @ np.arange(1, 5)
    for block in (None, 7):
        found = average_sizes(oracle.model, rows, labels, block_rows=block)
        assert found.rows == 30
        np.testing.assert_allclose(found.probabilities, expected.mean(axis=0))
        np.testing.assert_allclose(found.mean_size, size.mean())
        np.testing.assert_allclose(found.spread, size.std(), atol=1e-7)
        np.testing.assert_allclose(
            found.survival, [expected[:, a:].sum() / 30 for a in range(4)], atol=1e-15
        )
        np.testing.assert_allclose(found.survival.sum(), found.mean_size)
        assert list(found.by_label) == ["a", "b", "c"]
        for label, part in found.by_label.items():
            chosen = labels == label
            assert part.rows == chosen.sum()
            np.testing.assert_allclose(part.probabilities, expected[chosen].mean(axis=0))
            np.testing.assert_allclose(part.mean_size, size[chosen].mean())
    assert average_sizes(oracle.model, rows).by_label == {}


def test_labels_must_fit():
    model = vrbm.GrandCanonicalRBM.initialize(jax.random.key(0), 3, 4)
    with pytest.raises(ValueError, match="one label for each row"):
        average_sizes(model, np.ones((5, 3)), np.zeros(4))


def test_row_averages():
    model = vrbm.GrandCanonicalRBM([[1.0, -3.0], [0.0, 0.5]], [-2.0, 0.1], [0.0, 0.0])
    found = row_averages(model)
    np.testing.assert_allclose(found.weights, [2, 0.25])
    np.testing.assert_allclose(found.biases, [2, 0.1])


def test_effective_units():
    W = np.zeros((6, 4))
    W[0], W[1], W[3] = 1.0, -0.04, [0, 0, 2.0, -1.0]
    b = np.array([0, 0.2, 5.0, 0, 0.1, 0])
    model = vrbm.GrandCanonicalRBM(W, b, np.zeros(4))
    found = effective_units(model, fraction=0.05)
    quanta = [1.0, 0.24, 5.0, 0.75, 0.1, 0.0]
    assert found.smooth == pytest.approx(np.tanh(quanta).sum())
    assert (found.by_weights, found.last_by_weights) == (2, 4)
    assert effective_units(model, fraction=0.03)[1:] == (3, 4)
    squares = [1.0, 0.0016 + 0.04, 25.0, 1.25, 0.01, 0.0]
    assert effective_units(model, p=2).smooth == pytest.approx(np.tanh(squares).sum())
    idle = vrbm.GrandCanonicalRBM(jnp.zeros((3, 2)), jnp.zeros(3), jnp.zeros(2))
    assert effective_units(idle) == (0.0, 0, 0)
    with pytest.raises(ValueError, match=r"fraction is 1\.5"):
        effective_units(model, fraction=1.5)
