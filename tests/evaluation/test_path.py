"""The annealing path against enumeration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import vrbm
from tests.evaluation.small import PAIRS, random_model
from tests.model.oracle import POTENTIALS, counts_of
from vrbm.evaluation import annealing
from vrbm.evaluation.path import Path, fields_of_mean, path
from vrbm.training import window
from vrbm.training.tempered import tempered

BASE = np.linspace(-0.5, 0.8, 4)


@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("unit", ["spin", "binary"])
def test_path_is_the_tempered_model(unit, potential):
    model = random_model(unit, "binary", potential, n=4, k=3)
    walk = path(model, BASE)
    priced = window.narrow(model, model.prices(), 3)
    v = jnp.asarray(vrbm.exact.states(model.visible, 4))

    @jax.jit
    def compare(before, after):
        x = walk.fields(v)
        gain = walk.gain(v, x, before, after)
        return gain, *[
            (walk.log_weight(v, x, beta), -tempered(priced, beta, walk.base).free_energy(v))
            for beta in (before, after)
        ]

    for before, after in ((0.0, 0.3), (0.3, 1.0)):
        gain, low, high = compare(before, after)
        assert_allclose(*low, rtol=1e-12)
        assert_allclose(*high, rtol=1e-12)
        assert_allclose(gain, high[1] - low[1], rtol=1e-10, atol=1e-12)
    base_model = tempered(priced, jnp.asarray(0.0), walk.base)
    assert_allclose(walk.log_partition_at_0(), vrbm.exact.log_partition(base_model), rtol=1e-12)


@pytest.mark.parametrize(
    ("units", "potential"),
    [*zip(PAIRS, ["absorbed", "fixed", "local", "kept", "constant", "fixed"], strict=True)],
)
def test_a_step_leaves_the_tempered_model_invariant(units, potential):
    """χ² of 100,000 exact draws after a step; each case fails by chance once in a million."""
    model = random_model(*units, potential, n=3, k=3, seed=1)
    walk = path(model, np.resize(BASE, model.n_visible))
    beta = jnp.asarray(0.6)
    at = tempered(window.narrow(model, model.prices(), 3), beta, walk.base)
    p = np.asarray(vrbm.exact.visible_probabilities(at))
    states = vrbm.exact.states(model.visible, model.n_visible)
    v = states[np.random.default_rng(0).choice(len(p), 100_000, p=p)]
    step = jax.jit(lambda v, key: walk.step(walk.fields(v), beta, key))
    new = np.asarray(step(jnp.asarray(v), jax.random.key(2)))
    counts = counts_of(states, new)
    assert ((counts - 1e5 * p) ** 2 / (1e5 * p)).sum() < chi2.ppf(1 - 1e-6, len(p) - 1)


@pytest.mark.parametrize(
    ("potential", "dtype"),
    [
        ("constant", "float32"),
        ("absorbed", "float64"),
        ("kept", "float64"),
        ("local absorbed", "float64"),
    ],
)
def test_idle_units_are_cut_without_loss(potential, dtype):
    """Units of tiny weights beyond the fifth: the cut model has the same free energies."""
    rng = np.random.default_rng(3)
    W, b = 1e-3 * rng.normal(size=(300, 6)), 1e-2 * rng.normal(size=300)
    W[:5] += rng.normal(size=(5, 6))
    model = vrbm.GrandCanonicalRBM(
        W.astype(dtype), b.astype(dtype), np.zeros(6, dtype), potential=POTENTIALS[potential][0]
    )
    width = window.enough(model)
    assert 5 < width < 300
    cut = path(model).model
    assert cut.max_hidden == width
    v = jnp.asarray(vrbm.exact.states(model.visible, 6), dtype)
    full = window.narrow(model, model.prices(), 300)
    free = jax.jit(lambda one, beta: tempered(one, beta, model.c).free_energy(v))
    tolerance = 3e-6 if dtype == "float32" else 1e-14
    for beta in jnp.asarray([0.0, 0.5, 1.0], dtype):
        assert_allclose(free(cut, beta), free(full, beta), rtol=tolerance, atol=tolerance)


def test_units_that_are_not_optional_are_kept():
    model = vrbm.GrandCanonicalRBM(np.zeros((40, 3)), np.zeros(40), np.zeros(3))
    fixed = vrbm.GrandCanonicalRBM(model.W, model.b, model.c, potential=vrbm.FixedSize())
    growing = vrbm.GrandCanonicalRBM(model.W, model.b, model.c, potential=vrbm.Constant(-0.1))
    assert window.enough(fixed) == window.enough(growing) == 40
    # Σ_{n≥A} e^{−n} = 2^−55 at A = 38.6
    assert window.enough(model) == 39


def test_equal_lengths():
    betas = np.linspace(0, 1, 101)
    friction = 1 + 9 * (betas[1:] > 0.5)
    points = annealing.equal_lengths(betas, friction, 1001)
    assert points[0] == 0
    assert points[-1] == 1
    assert (np.diff(points) > 0).all()
    assert_allclose((points < 0.5).mean(), 0.9 / 11 + 0.05, atol=0.01)
    assert_allclose(annealing.equal_lengths(betas, np.zeros(100), 11), np.linspace(0, 1, 11))


def test_the_pilot_finds_the_base_rates():
    """Independent units: after one pilot the base rates are those of the model, to sampling."""
    c = np.array([-2.0, -0.5, 0.0, 1.0, 0.3, -0.3, 0.6, -1.0])
    model = vrbm.GrandCanonicalRBM(np.zeros((6, 8)), np.zeros(6), c)
    walk, betas = annealing.adapt(path(model), jax.random.key(0), 50, adapt_base=True)
    assert betas.shape == (50,)
    # 100 chains: the mean is good to 0.1 at most, and a mean of −0.964 to 0.027.
    assert_allclose(np.tanh(walk.base), np.tanh(c), atol=0.45)
    assert isinstance(walk, Path)


def test_base_rates_of_data_and_bad_ones():
    model = random_model("binary", "binary", n=4)
    fields = fields_of_mean(model, np.array([[0, 1, 1, 0], [0, 1, 0, 0.0]]))
    assert_allclose(fields, np.log([1 / 5, 5, 1, 1 / 5]))
    with pytest.raises(
        ValueError, match=r"base has shape \(3,\): pass one field for each of the 4"
    ):
        path(model, np.zeros(3))
