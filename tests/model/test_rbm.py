"""Every equation of section 2 against sums over all (v, h, z)."""

import pickle
from copy import deepcopy

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from numpy.testing import assert_allclose

import vrbm
from tests.model.oracle import POTENTIALS, Oracle
from vrbm.model import exact

FEW_POTENTIALS = ("absorbed", "fixed", "local")
PAIRS = [(v, h) for v in ("spin", "binary", "three colours") for h in ("spin", "binary")]


CASES = [(v, h, p) for v, h in PAIRS for p in POTENTIALS]
# Where each case costs a compilation: all potentials once, and all unit types with three of them;
# the rest is slow.
COSTLY = [
    case
    if case[:2] == ("spin", "binary") or case[2] in FEW_POTENTIALS
    else pytest.param(case, marks=pytest.mark.slow)
    for case in CASES
]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def oracle(request):
    return Oracle(*request.param)


@pytest.fixture(scope="module", params=COSTLY, ids="-".join)
def costly(request):
    return Oracle(*request.param)


def by_size(oracle):
    """Σ_h of the weights, (states of v, K)."""
    weight = np.zeros((len(oracle.v), oracle.k))
    np.add.at(weight, (oracle.index, oracle.z - 1), oracle.weight)
    return weight


def given_v(oracle, values):
    """Average of values over (h, z) given v."""
    totals = np.zeros((len(oracle.v), *values.shape[1:]))
    np.add.at(totals, oracle.index, (oracle.weight * values.T).T)
    return (totals.T / by_size(oracle).sum(axis=1)).T


def test_chemical_potential(oracle):
    expected = oracle.mu(oracle.W, oracle.b, oracle.h_states)
    assert_allclose(oracle.model.chemical_potential(), expected, rtol=1e-12)


def test_energy(oracle):
    v = oracle.v[oracle.index]
    energy = oracle.model.energy(v, oracle.h, oracle.z)
    prices = np.cumsum(oracle.prices(oracle.W, oracle.b))[oracle.z - 1]
    assert_allclose(jnp.exp(-energy - prices), oracle.weight, rtol=1e-12)


def test_energy_ignores_units_beyond_z(oracle):
    noisy = np.where(oracle.h == 0, 1.0, oracle.h)
    v = oracle.v[oracle.index]
    quiet = oracle.model.energy(v, oracle.h, oracle.z)
    beyond = np.arange(oracle.k) >= oracle.z[:, None]
    noisy = np.where(beyond, noisy, oracle.h)
    assert_allclose(oracle.model.energy(v, noisy, oracle.z), quiet, rtol=1e-12)


def test_free_energies(oracle):
    weight = by_size(oracle)
    assert_allclose(jnp.exp(-oracle.model.free_energy_by_size(oracle.v)), weight, rtol=1e-11)
    assert_allclose(oracle.model.free_energy(oracle.v), -np.log(weight.sum(axis=1)), rtol=1e-11)


def test_free_energy_hidden(oracle):
    states, inverse = np.unique(np.c_[oracle.z, oracle.h], axis=0, return_inverse=True)
    weight = np.bincount(inverse.ravel(), oracle.weight)
    free_energy = oracle.model.free_energy_hidden(states[:, 1:], states[:, 0].astype(int))
    assert_allclose(jnp.exp(-free_energy), weight, rtol=1e-11)


def test_size_given_v(oracle):
    weight = by_size(oracle)
    p = weight / weight.sum(axis=1, keepdims=True)
    survival = p[:, ::-1].cumsum(axis=1)[:, ::-1]
    assert_allclose(oracle.model.size_probabilities(oracle.v), p, atol=1e-13)
    assert_allclose(oracle.model.size_survival(oracle.v), survival, atol=1e-13)
    sizes = np.arange(1, oracle.k + 1)
    assert_allclose(oracle.model.mean_size(oracle.v), p @ sizes, rtol=1e-12)
    assert_allclose(oracle.model.probable_size(oracle.v), p.argmax(axis=1) + 1)


def test_mean_hidden_given_v(oracle):
    assert_allclose(oracle.model.mean_hidden(oracle.v), given_v(oracle, oracle.h), atol=1e-12)


def test_mean_visible_given_hidden(oracle):
    states, inverse = np.unique(np.c_[oracle.z, oracle.h], axis=0, return_inverse=True)
    totals = np.zeros((len(states), oracle.n))
    np.add.at(totals, inverse.ravel(), oracle.weight[:, None] * oracle.v[oracle.index])
    expected = totals / np.bincount(inverse.ravel(), oracle.weight)[:, None]
    mean = oracle.model.mean_visible(states[:, 1:], states[:, 0].astype(int))
    assert_allclose(mean, expected, atol=1e-12)


def test_expected_free_energy(oracle):
    weight = by_size(oracle)
    p = weight / weight.sum(axis=1, keepdims=True)
    expected = -np.sum(p * np.log(np.where(weight > 0, weight, 1)), axis=1)
    assert_allclose(oracle.model.expected_free_energy(oracle.v), expected, rtol=1e-10)


@pytest.mark.parametrize("n", [3, 4], ids=["over v", "over h and z"])
@pytest.mark.parametrize("case", COSTLY, ids="-".join)
def test_enumeration(case, n):
    oracle = Oracle(*case, n=n, k=3, seed=1)
    v, p = oracle.v[oracle.index], np.bincount(oracle.index, oracle.p)
    log_p = jax.jit(vrbm.exact.log_probability)(oracle.model, oracle.v)
    assert_allclose(log_p, np.log(p), rtol=1e-11)
    moments = jax.jit(vrbm.exact.moments)(oracle.model)
    assert_allclose(moments.mean_visible, oracle.p @ v, atol=1e-12)
    assert_allclose(moments.mean_hidden, oracle.p @ oracle.h, atol=1e-12)
    assert_allclose(moments.mean_product, (oracle.p[:, None] * oracle.h).T @ v, atol=1e-12)
    p_z = np.bincount(oracle.z, oracle.p, oracle.k + 1)[1:]
    assert_allclose(moments.size_probabilities, p_z, atol=1e-12)
    assert_allclose(moments.mean_size, oracle.p @ oracle.z, rtol=1e-12)


def test_likelihood_gradient_is_that_of_central_differences(costly):
    q = np.random.default_rng(2).dirichlet(np.ones(len(costly.v)))
    log_likelihood = lambda m: q @ vrbm.exact.log_probability(m, costly.v)  # noqa: E731
    gradient = jax.jit(jax.grad(log_likelihood))(costly.model)
    step = 1e-5
    for name in "Wbc":
        parameters = {"W": costly.W, "b": costly.b, "c": costly.c}
        numeric = np.zeros_like(parameters[name])
        for place in np.ndindex(numeric.shape):
            sides = []
            for sign in (1, -1):
                moved = {key: value.copy() for key, value in parameters.items()}
                moved[name][place] += sign * step
                sides.append(costly.log_likelihood(q, **moved))
            numeric[place] = (sides[0] - sides[1]) / (2 * step)
        assert_allclose(getattr(gradient, name), numeric, atol=1e-8)


def test_gradient_is_data_minus_model_with_the_price_of_the_size(costly):
    """[ExtremizationCondition_Explicit], with Σ_a ∂μ_a P(z ≥ a) for prices by unit."""
    q = np.random.default_rng(3).dirichlet(np.ones(len(costly.v)))
    model, v = costly.model, costly.v
    log_likelihood = lambda m: q @ vrbm.exact.log_probability(m, v)  # noqa: E731
    gradient = jax.jit(jax.grad(log_likelihood))(model)
    h, survival = model.mean_hidden(v), model.size_survival(v)
    moments = jax.jit(vrbm.exact.moments)(model)
    model_survival = jnp.cumsum(moments.size_probabilities[::-1])[::-1]
    difference = q @ survival - model_survival
    _, pull = jax.vjp(lambda W, b: model.potential.prices(W, b, model.hidden), model.W, model.b)
    price_W, price_b = pull(difference)
    assert_allclose(gradient.W, (q[:, None] * h).T @ v - moments.mean_product - price_W, atol=1e-12)
    assert_allclose(gradient.b, q @ h - moments.mean_hidden - price_b, atol=1e-12)
    assert_allclose(gradient.c, q @ v - moments.mean_visible, atol=1e-12)
    if model.chemical_potential().ndim == 0 and costly.all_sizes:
        mu_W = jax.grad(lambda W: model.potential.value(W, model.b, model.hidden))(model.W)
        sizes = np.arange(1, costly.k + 1)
        delta_z = q @ model.mean_size(v) - moments.size_probabilities @ sizes
        assert_allclose(price_W, mu_W * delta_z, atol=1e-12)


def test_fixed_size_is_the_textbook_rbm():
    rng = np.random.default_rng(4)
    W, b, c = rng.normal(size=(5, 4)), rng.normal(size=5), rng.normal(size=4)
    v = rng.integers(0, 2, (6, 4)).astype(float)
    binary = vrbm.GrandCanonicalRBM(W, b, c, vrbm.Binary(), vrbm.Binary(), vrbm.FixedSize())
    x = v @ W.T + b
    assert_allclose(binary.free_energy(v), -v @ c - np.log1p(np.exp(x)).sum(axis=1), rtol=1e-12)
    assert_allclose(binary.mean_hidden(v), 1 / (1 + np.exp(-x)), rtol=1e-12)
    assert_allclose(binary.mean_size(v), 5)
    assert (binary.sample_size(jax.random.key(0), v) == 5).all()
    h = rng.integers(0, 2, (6, 5)).astype(float)
    assert_allclose(binary.mean_visible(h, 5), 1 / (1 + np.exp(-(h @ W + c))), rtol=1e-12)


@pytest.mark.parametrize("hidden", [vrbm.Spin(), vrbm.Binary()])
def test_mu_to_minus_infinity_is_the_fixed_size(hidden):
    rng = np.random.default_rng(5)
    W, b, c = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3)
    fixed = vrbm.GrandCanonicalRBM(W, b, c, hidden=hidden, potential=vrbm.FixedSize())
    p = vrbm.exact.visible_probabilities(fixed)
    gaps = []
    for mu in (-5.0, -10.0, -20.0):
        cheap = vrbm.GrandCanonicalRBM(W, b, c, hidden=hidden, potential=vrbm.Constant(mu))
        gaps.append(float(abs(vrbm.exact.visible_probabilities(cheap) - p).max()))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-7


def test_without_weights_the_units_are_independent():
    b, c = np.array([0.3, -1.0, 0.5]), np.array([0.2, -0.7])
    model = vrbm.GrandCanonicalRBM(np.zeros((3, 2)), b, c)
    v = vrbm.exact.states(model.visible, 2)
    expected = np.exp(v @ c) / np.prod(2 * np.cosh(c))
    assert_allclose(vrbm.exact.visible_probabilities(model), expected, rtol=1e-12)
    assert_allclose(np.ptp(model.size_probabilities(v), axis=0), 0, atol=1e-15)
    moments = vrbm.exact.moments(model)
    assert_allclose(
        moments.mean_product, np.outer(moments.mean_hidden, moments.mean_visible), atol=1e-14
    )


def test_ordered_rbm_is_a_special_case():
    """F(v, z) of Côté & Larochelle (2016): −c·v − Σ_{a≤z} [softplus(x_a) − β softplus(b_a)]."""
    rng = np.random.default_rng(6)
    W, b, c = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3)
    beta = 1.01
    model = vrbm.GrandCanonicalRBM(W, b, c, vrbm.Binary(), vrbm.Binary(), vrbm.Local(beta))
    v = vrbm.exact.states(vrbm.Binary(), 3)
    steps = np.log1p(np.exp(v @ W.T + b)) - beta * np.log1p(np.exp(b))
    expected = -(v @ c)[:, None] - np.cumsum(steps, axis=1)
    assert_allclose(model.free_energy_by_size(v), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (0, 3), (2, 5, 3)])
def test_batches_of_any_rank(shape):
    model = Oracle(k=4).model
    key = jax.random.key(0)
    v = jax.random.rademacher(key, shape, float)
    batch = shape[:-1]
    z = model.sample_size(key, v)
    h = model.sample_hidden(key, v, z)
    assert z.shape == batch
    assert h.shape == (*batch, 4)
    assert model.sample_visible(key, h, z).shape == shape
    assert model.mean_visible(h, z).shape == shape
    for name in ("free_energy", "expected_free_energy", "mean_size", "probable_size"):
        assert getattr(model, name)(v).shape == batch
    for name in ("free_energy_by_size", "size_probabilities", "size_survival", "mean_hidden"):
        assert getattr(model, name)(v).shape == (*batch, 4)
    assert model.energy(v, h, z).shape == model.free_energy_hidden(h, z).shape == batch


OF_V = (
    "free_energy",
    "free_energy_by_size",
    "expected_free_energy",
    "size_probabilities",
    "size_survival",
    "mean_size",
    "probable_size",
    "mean_hidden",
)


def calls(model, v, h, z, key):
    """Every public method that takes arrays."""
    values = [getattr(model, name)(v) for name in OF_V]
    values += [model.energy(v, h, z), model.free_energy_hidden(h, z), model.mean_visible(h, z)]
    return [
        *values,
        model.sample_size(key, v),
        model.sample_hidden(key, v, z),
        model.sample_visible(key, h, z),
    ]


def test_transformations_agree_with_the_plain_calls():
    """Arguments traced, closed over as JAX arrays, or mapped: the same values."""
    model = Oracle(k=4, potential="local").model
    key = jax.random.key(0)
    v = jnp.asarray(vrbm.exact.states(model.visible, 3))
    z = model.sample_size(key, v)
    h = model.sample_hidden(key, v, z)
    plain = calls(model, v, h, z, key)
    for compiled in (
        jax.jit(calls)(model, v, h, z, key),
        jax.jit(lambda m: calls(m, v, h, z, key))(model),
        jax.jit(lambda: calls(vrbm.GrandCanonicalRBM(*_parts(model)), v, h, z, key))(),
        jax.lax.scan(lambda carry, _: (carry, calls(model, v, h, z, key)), 0, None, 1)[1],
    ):
        for value, expected in zip(compiled, plain, strict=True):
            assert_allclose(value.reshape(expected.shape), expected, rtol=1e-12)
    mapped = jax.vmap(lambda v, h, z: calls(model, v, h, z, key)[:-3])(v, h, z)
    for value, expected in zip(mapped, plain[:-3], strict=True):
        assert_allclose(value, expected, rtol=1e-12)


def _parts(model):
    return model.W, model.b, model.c, model.visible, model.hidden, model.potential


def test_the_hessian_of_the_free_energy_is_the_covariance():
    """∂²(−F)/∂b² = Cov(h) at fixed price, so that the maximum taken out does no harm."""
    model = Oracle(potential="constant", k=3).model
    v = jnp.asarray(Oracle().v[3])

    def minus_f(b):
        return -vrbm.GrandCanonicalRBM(model.W, b, model.c, potential=model.potential).free_energy(
            v
        )

    hessian = jax.jit(jax.hessian(minus_f))(model.b)
    p = np.asarray(model.size_probabilities(v))
    t = np.tanh(np.asarray(model.W) @ np.asarray(v) + np.asarray(model.b))
    second = np.array([[p[max(i, j) :].sum() * t[i] * t[j] for j in range(3)] for i in range(3)])
    np.fill_diagonal(second, p[::-1].cumsum()[::-1])
    mean = p[::-1].cumsum()[::-1] * t
    assert_allclose(hessian, second - np.outer(mean, mean), atol=1e-12)


def test_free_energy_is_its_expectation_less_the_entropy_of_the_size():
    model, v = Oracle(k=5).model, Oracle().v
    p = model.size_probabilities(v)
    entropy = -(p * jnp.log(p)).sum(axis=1)
    assert_allclose(model.free_energy(v), model.expected_free_energy(v) - entropy, rtol=1e-12)


def test_models_can_be_mapped_over():
    stack = jax.tree.map(lambda *a: jnp.stack(a), *(Oracle(seed=s).model for s in range(3)))
    v = Oracle().v
    together = jax.vmap(lambda m: m.free_energy(v))(stack)
    for seed in range(3):
        assert_allclose(together[seed], Oracle(seed=seed).model.free_energy(v), rtol=1e-12)


@pytest.mark.parametrize("potential", [vrbm.Constant, vrbm.Local])
def test_a_price_can_be_mapped_over_and_differentiated(potential):
    W, b, c = Oracle().W, Oracle().b, Oracle().c
    v = Oracle().v

    def total(price):
        return vrbm.GrandCanonicalRBM(W, b, c, potential=potential(price)).free_energy(v).sum()

    prices = jnp.array([0.5, 1.0, 2.0])
    assert_allclose(jax.vmap(total)(prices), [total(float(p)) for p in prices], rtol=1e-12)
    slope = (total(1.0 + 1e-6) - total(1.0 - 1e-6)) / 2e-6
    assert_allclose(jax.grad(total)(1.0), slope, rtol=1e-6)


def test_prices_do_not_recompile():
    traces = []

    @jax.jit
    def free_energy(model, v):
        traces.append(0)
        return model.free_energy(v)

    for mu in (0.1, 0.2, 0.3):
        model = vrbm.GrandCanonicalRBM(
            Oracle().W, Oracle().b, Oracle().c, potential=vrbm.Constant(mu)
        )
        free_energy(model, Oracle().v)
    assert len(traces) == 1


def test_models_can_be_pickled_and_copied():
    model, v = Oracle(potential="smooth").model, Oracle().v
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model)):
        assert_allclose(copy.free_energy(v), model.free_energy(v))


def test_enumeration_in_many_blocks(monkeypatch):
    """Both layers enumerated, in blocks that do not divide the number of states."""
    model = Oracle(n=5, k=4, seed=3).model
    whole = [exact._log_weights(model, over_visible) for over_visible in (True, False)]
    assert_allclose(logsumexp(whole[0]), logsumexp(whole[1]), rtol=1e-12)
    moments = vrbm.exact.moments(model)
    monkeypatch.setattr(exact, "BLOCK", 7 * 9)
    for over_visible, expected in zip((True, False), whole, strict=True):
        log_weights = exact._log_weights(model, over_visible)
        assert len(log_weights) % 7 == 0
        assert_allclose(log_weights[: len(expected)], expected, rtol=1e-12)
        assert (log_weights[len(expected) :] == -np.inf).all()
    again = vrbm.exact.moments.__wrapped__(model)
    for value, expected in zip(jax.tree.leaves(again), jax.tree.leaves(moments), strict=True):
        assert_allclose(value, expected, atol=1e-13)
