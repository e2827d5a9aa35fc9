import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from tests.evaluation.hand_made import ising_rbm
from tests.model.oracle import POTENTIALS
from vrbm.data import ising
from vrbm.evaluation.couplings import (
    effective_couplings,
    leading_couplings,
    neighbour_score,
    unit_couplings,
)


def random_model(visible=None, hidden=None, potential=None, n=6, k=5, scale=0.7, seed=0):
    rng = np.random.default_rng(seed)
    return vrbm.GrandCanonicalRBM(
        scale * rng.normal(size=(k, n)),
        scale * rng.normal(size=k),
        scale * rng.normal(size=n),
        visible or vrbm.Spin(),
        hidden or vrbm.Spin(),
        potential or vrbm.Penalizing(),
    )


def spins(m):
    return vrbm.exact.states(vrbm.Spin(), m)


def by_sums(minus_F, s):
    """J_A of every subset, as the average of −F Π s_i over all states: {subset: J}."""
    m = s.shape[1]
    return {
        tuple(np.flatnonzero(bits)): (minus_F * np.where(bits, s, 1).prod(axis=1)).mean()
        for bits in spins(m) > 0
    }


@pytest.mark.parametrize(
    ("potential", "visible", "hidden"),
    [
        *[(name, vrbm.Spin(), vrbm.Spin()) for name in ("kept", "smooth", "constant", "fixed")],
        ("function by unit", vrbm.Spin(), vrbm.Spin()),
        ("absorbed", vrbm.Binary(), vrbm.Spin()),
        ("local", vrbm.Binary(), vrbm.Binary()),
        ("fixed", vrbm.Spin(), vrbm.Binary()),
    ],
)
def test_couplings_resum_to_the_free_energy(potential, visible, hidden):
    model = random_model(visible, hidden, POTENTIALS[potential][0], n=5)
    states = vrbm.exact.states(visible, 5)
    F = np.asarray(model.free_energy(states))
    found = effective_couplings(model)
    np.testing.assert_allclose(found.resummed(), -F, rtol=0, atol=1e-12)
    expected = by_sums(-F, spins(5))
    for k in range(6):
        subsets, values = found.order(k)
        np.testing.assert_allclose(
            values, [expected[tuple(subset)] for subset in subsets], atol=1e-12
        )
    np.testing.assert_allclose(found.constant, -F.mean())
    np.testing.assert_allclose(found.fields, [expected[(i,)] for i in range(5)], atol=1e-12)
    assert found.pairs[1, 3] == found.pairs[3, 1] == found.order(2)[1][5]
    assert (np.diag(found.pairs) == 0).all()
    np.testing.assert_allclose(found.strengths()[1:].sum(), F.var())


def test_resummation_of_a_large_model():
    """2^16 states, several blocks, fields of order 10, weights as after training: 1e-9."""
    model = random_model(n=16, k=40, scale=1.5, potential=vrbm.Constant(1.0))
    found = effective_couplings(model)
    index = np.random.default_rng(0).integers(0, 1 << 16, 200)
    states = 2.0 * (index[:, None] >> np.arange(15, -1, -1) & 1) - 1
    np.testing.assert_allclose(
        found.resummed()[index], -model.free_energy(states), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("unit", [vrbm.Spin(), vrbm.Binary()])
def test_couplings_of_some_units_among_others(unit):
    model = random_model(unit)
    rest = unit.encode(np.array([1, 0, 0, 1, 1, 0]))
    sites = [4, 0, 3]
    found = effective_couplings(model, sites, rest=rest)
    v = np.tile(rest, (8, 1))
    v[:, sites] = vrbm.exact.states(unit, 3)
    np.testing.assert_allclose(found.resummed(), -model.free_energy(v), atol=1e-12)
    # what the whole model's couplings give in this surrounding
    whole = effective_couplings(model)
    s = np.where(rest == 1, 1, -1)
    expected = 0.0
    for k in range(2, 7):
        for subset, value in zip(*whole.order(k), strict=True):
            others = set(subset) - {0, 4}
            if {0, 4} <= set(subset) and 3 not in others:
                expected += value * np.prod([s[i] for i in others])
    np.testing.assert_allclose(found.pairs[0, 1], expected)
    by_0_1 = effective_couplings(model, sites, rest=[1, 0, 0, 1, 1, 0])
    np.testing.assert_array_equal(found.values, by_0_1.values)


def test_couplings_of_a_size():
    model = random_model()
    for z in (1, 3):
        found = effective_couplings(model, z=z)
        F = model.free_energy_by_size(spins(6))[:, z - 1]
        np.testing.assert_allclose(found.resummed(), -F, atol=1e-12)


@pytest.mark.parametrize(("L", "K"), [(3, 0.4), (3, -0.7), (4, 1 / 2.269185)])
def test_an_ising_model_built_by_hand_gives_its_couplings_back(L, K):
    model = ising_rbm(L, K, field=0.1)
    found = effective_couplings(model)
    expected = np.zeros((L * L, L * L))
    for i, j in ising.bonds(L):
        expected[i, j] = expected[j, i] = K
    np.testing.assert_allclose(found.pairs, expected, atol=1e-12)
    np.testing.assert_allclose(found.fields, 0.1, atol=1e-12)
    assert found.strengths()[3:].max() < 1e-20
    score = neighbour_score(found.pairs, L)
    assert (score.auc, score.precision) == (1, 1)
    s = 2.0 * np.random.default_rng(0).integers(0, 2, (50, L * L)) - 1
    energy = np.asarray(model.free_energy(s)) + 0.1 * s.sum(axis=1) - K * ising.energy(s)
    assert np.ptp(energy) < 1e-11


@pytest.mark.parametrize("visible", [vrbm.Spin(), vrbm.Binary()])
@pytest.mark.parametrize("hidden", [vrbm.Spin(), vrbm.Binary()])
def test_leading_couplings_are_the_limit_of_small_weights(visible, hidden):
    """Errors are of third order: a factor 10 in the weights is a factor 1000 or more in them."""
    errors = []
    for scale in (0.1, 0.01):
        model = random_model(visible, hidden, vrbm.FixedSize(), scale=scale)
        exact, leading = effective_couplings(model), leading_couplings(model)
        errors.append(
            [abs(exact.fields - leading.fields).max(), abs(exact.pairs - leading.pairs).max()]
        )
    assert (np.array(errors[1]) < 1.3e-3 * np.array(errors[0])).all()


def test_leading_couplings():
    """The paper's formulas, written out."""
    model = random_model()
    W, b, c = (np.asarray(x) for x in (model.W, model.b, model.c))
    for z, size in ((None, 5), (2, 2)):
        found = leading_couplings(model, z)
        for i in range(6):
            J = c[i] + sum(b[a] * W[a, i] for a in range(size))
            assert found.fields[i] == pytest.approx(J)
            for j in range(6):
                S = sum(W[a, i] * W[a, j] for a in range(size)) * (i != j)
                assert found.pairs[i, j] == pytest.approx(S)


def test_float32_models_keep_their_type():
    model = jax.tree.map(lambda x: x.astype(jnp.float32), random_model())
    found = effective_couplings(model)
    np.testing.assert_allclose(found.values, effective_couplings(random_model()).values, atol=1e-5)


def lattice(L, bond, other):
    S = np.full((L * L, L * L), other)
    for i, j in ising.bonds(L):
        S[i, j] = S[j, i] = bond
    np.fill_diagonal(S, 99.0)
    return S


def test_neighbour_score():
    assert neighbour_score(lattice(4, -2.0, 0.5), 4) == (1.0, 1.0, 4.0)
    assert neighbour_score(lattice(4, 1.0, 0.0), 4) == (1.0, 1.0, np.inf)
    assert neighbour_score(lattice(4, 0.1, 0.2), 4)[:2] == (0.0, 0.0)
    auc, precision, ratio = neighbour_score(lattice(4, 1.0, 1.0), 4)
    assert (auc, ratio) == (0.5, 1.0)
    assert precision == pytest.approx(32 / 120)
    # one of 18 bonds at L = 3 is as weak as the other 18 pairs: of 18·18 comparisons 18 are ties
    S = lattice(3, 1.0, 0.1)
    S[0, 1] = S[1, 0] = 0.1
    auc, precision, ratio = neighbour_score(S, 3)
    assert auc == pytest.approx(1 - 9 / 324)
    assert precision == pytest.approx((17 + 1 / 19) / 18)
    assert ratio == pytest.approx((17 + 0.1) / 18 / 0.1)


def test_a_random_matrix_scores_as_chance():
    """The area has σ = 0.029 for 128 of 2016 pairs; false failures 6e-5."""
    S = np.random.default_rng(0).normal(size=(64, 64))
    assert abs(neighbour_score(S, 8).auc - 0.5) < 4 * 0.027


def test_strengths_between_units_are_norms_of_couplings():
    """Against couplings of all pairs of choices, made free of sums by hand."""
    model = random_model(vrbm.Categorical(3), vrbm.Binary(), n=12)
    W = np.asarray(model.W).reshape(-1, 4, 3)
    J = np.einsum("aik,ajl->ijkl", W, W) / 4
    J -= J.mean(axis=2, keepdims=True)
    J -= J.mean(axis=3, keepdims=True)
    expected = np.sqrt((J**2).sum(axis=(2, 3)))
    np.fill_diagonal(expected, 0)
    assert_allclose(unit_couplings(model), expected, rtol=1e-10)
    two = random_model(vrbm.Spin(), vrbm.Binary())
    assert_allclose(unit_couplings(two), 2 * abs(leading_couplings(two).pairs), rtol=1e-10)


def test_complaints():
    model = random_model()
    with pytest.raises(ValueError, match="take unit_couplings"):
        effective_couplings(random_model(vrbm.Categorical(3)))
    with pytest.raises(ValueError, match="the limit is 20"):
        effective_couplings(random_model(n=21))
    with pytest.raises(ValueError, match="rest is None"):
        effective_couplings(model, [0, 1])
    with pytest.raises(ValueError, match="rest has shape"):
        effective_couplings(model, [0, 1], rest=[1, 1])
    for sites in ([0, 0], [6], [], [0.5]):
        with pytest.raises(ValueError, match="sites is"):
            effective_couplings(model, sites, rest=np.ones(6))
    with pytest.raises(ValueError, match="z is 6"):
        leading_couplings(model, 6)
    with pytest.raises(ValueError, match="not finite at z = 2"):
        effective_couplings(random_model(potential=vrbm.FixedSize()), z=2)
    with pytest.raises(ValueError, match="k is 7"):
        effective_couplings(model).order(7)
    with pytest.raises(ValueError, match="pass a matrix"):
        neighbour_score(np.zeros((4, 4)), 3)
    with pytest.raises(ValueError, match="L ≥ 3"):
        neighbour_score(np.zeros((4, 4)), 2)
