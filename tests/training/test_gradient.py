"""Gradients against enumeration; centred coordinates against the chain rule."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from tests.model.oracle import POTENTIALS, Oracle
from vrbm.model import FixedSize
from vrbm.training import Gibbs, MeanField, Persistent, window
from vrbm.training import gradient as gradients
from vrbm.training.gradient import (
    Parameters,
    centred,
    gradient,
    moved,
    parameters,
    uncentred,
    with_penalty,
)


def exact_gradient(model, rows, weights):
    """The gradient whose negative phase is all states, each as often as p(v) says."""
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, model.max_hidden)
    states = jnp.asarray(vrbm.exact.states(model.visible, model.n_visible))
    p = vrbm.exact.visible_probabilities(model)

    def at(row):
        return gradient(model, pull, view.response(row[None]), zero)[0]

    def average(w):
        # The mean over one row is the value at that row, and the gradient is linear in averages.
        parts = [
            jax.tree.map(lambda x, wi=wi: wi * x, at(s)) for wi, s in zip(w, states, strict=True)
        ]
        return jax.tree.map(lambda *x: sum(x), *parts)

    zero = view.response(states[:1])
    return jax.tree.map(jnp.subtract, average(weights), average(p))


@pytest.mark.parametrize(
    ("visible", "potential"),
    [*(("spin", name) for name in POTENTIALS), ("three colours", "kept")],
)
def test_gradient_is_that_of_the_exact_likelihood(visible, potential):
    oracle = Oracle(visible, "binary", potential, n=3, k=3, seed=5)
    q = np.random.default_rng(0).dirichlet(np.ones(len(oracle.v)))
    log_likelihood = lambda m: q @ vrbm.exact.log_probability(m, oracle.v)  # noqa: E731
    expected = jax.jit(jax.grad(log_likelihood))(eqx_arrays(oracle.model))
    computed = exact_gradient(oracle.model, oracle.v, q)
    for name in "Wbc":
        assert_allclose(getattr(computed, name), getattr(expected, name), atol=1e-12)


def eqx_arrays(model):
    return jax.tree.map(jnp.asarray, model)


def test_exact_ascent_raises_the_likelihood_at_every_small_step():
    model = Oracle(n=4, k=5, seed=2).model
    v = vrbm.exact.states(model.visible, 4)
    q = np.random.default_rng(1).dirichlet(np.ones(16))
    log_likelihood = jax.jit(lambda m: q @ vrbm.exact.log_probability(m, v))
    ascent = jax.jit(lambda m: exact_gradient(m, v, q))
    values = [float(log_likelihood(model))]
    for _ in range(30):
        step = jax.tree.map(lambda g: 0.02 * g, ascent(model))
        model = moved(model, step)
        values.append(float(log_likelihood(model)))
    assert (np.diff(values) > 0).all()
    assert values[-1] <= float(q @ np.log(q)) + 1e-12


def test_centred_gradient_is_the_chain_rule():
    """∂/∂(W, b', c') at b = b' − W o_v, c = c' − Wᵀ o_h, by autodiff."""
    model = Oracle(n=3, k=4, seed=3).model
    v = vrbm.exact.states(model.visible, 3)
    q = np.random.default_rng(2).dirichlet(np.ones(8))
    rng = np.random.default_rng(3)
    o_v, o_h = jnp.asarray(rng.normal(size=3)), jnp.asarray(rng.normal(size=4))

    def in_new_coordinates(p):
        new = eqx.tree_at(
            lambda m: (m.W, m.b, m.c), model, (p.W, p.b - p.W @ o_v, p.c - p.W.T @ o_h)
        )
        return q @ vrbm.exact.log_probability(new, v)

    at = Parameters(model.W, model.b + model.W @ o_v, model.c + model.W.T @ o_h)
    expected = jax.jit(jax.grad(in_new_coordinates))(at)
    plain = jax.jit(jax.grad(lambda m: q @ vrbm.exact.log_probability(m, v)))(model)
    computed = centred(parameters(plain), o_v, o_h)
    for name in "Wbc":
        assert_allclose(getattr(computed, name), getattr(expected, name), atol=1e-12)
    step = Parameters(*(jnp.asarray(rng.normal(size=x.shape)) for x in at))
    there = moved(model, uncentred(step, o_v, o_h))
    assert_allclose(there.b + there.W @ o_v, at.b + step.b, atol=1e-12)
    assert_allclose(there.c + there.W.T @ o_h, at.c + step.c, atol=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_penalty(p):
    model = Oracle().model
    zero = jax.tree.map(jnp.zeros_like, parameters(model))
    computed = with_penalty(zero, model, 0.3, p).W
    expected = jax.grad(lambda W: -0.3 / p * (jnp.abs(W) ** p).sum())(model.W)
    assert_allclose(computed, expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [MeanField(2), Gibbs(1)])
def test_averages_of_differences_are_differences_of_averages(kernel):
    model = Oracle("spin", "spin", n=5, k=4, seed=3).model
    v = jnp.asarray(np.random.default_rng(0).choice([-1.0, 1.0], (30, 5)))
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, model.max_hidden)
    _, info = kernel(view, None, v, jax.random.key(0))
    fantasy = view.response(info.v)
    joined, statistics = gradient(model, pull, info.data, fantasy, info.residual)
    apart, expected = gradient(model, pull, info.data, fantasy)
    for one, other in zip(joined, apart, strict=True):
        assert_allclose(one, other, atol=1e-14)
    assert_allclose(statistics.delta_size, expected.delta_size, atol=1e-13)


def test_a_vanishing_gradient_keeps_its_digits_in_float32():
    """A model that copies its input with errors of 1e-9, where 1 − 1e-9 is 1 in float32."""
    rng = np.random.default_rng(1)
    W = (11 * np.eye(8) + 0.3 * rng.normal(size=(8, 8))).astype(np.float32)
    v = rng.choice([-1.0, 1.0], (50, 8))
    found = {}
    for dtype in (jnp.float32, jnp.float64):
        model = vrbm.GrandCanonicalRBM(
            jnp.asarray(W, dtype), jnp.zeros(8, dtype), jnp.zeros(8, dtype), potential=FixedSize()
        )
        prices, pull = jax.vjp(
            lambda W, b, _, m=model: m.potential.prices(W, b, m.hidden),
            model.W,
            model.b,
            jnp.zeros(0, dtype),
        )
        view = window.narrow(model, prices, 8)
        _, info = MeanField(2)(view, None, jnp.asarray(v, dtype), jax.random.key(0))
        fantasy = view.response(info.v)
        found[dtype] = gradient(model, pull, info.data, fantasy, info.residual)[0]
    single, double = found[jnp.float32].W, found[jnp.float64].W
    assert 0 < np.abs(double).max() < 1e-7
    assert_allclose(single, double, atol=2e-5 * np.abs(double).max())


@pytest.mark.parametrize("kernel", [MeanField(), Gibbs(), Persistent(chains=7)])
@pytest.mark.parametrize("weights", [None, jnp.array([0.5, 1.0, 2.0, 0.5])])
def test_one_product_of_all_rows_is_the_sum_of_two(kernel, weights, monkeypatch):
    model = Oracle("binary", "binary", n=5, k=6, seed=3).model
    v = jnp.asarray(vrbm.exact.states(model.visible, 5)[3:7])
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, model.max_hidden)
    key = jax.random.key(0)
    _, info = kernel(view, kernel.start(view, v, key), v, key)
    found = []
    for joined in (0, np.inf):
        monkeypatch.setattr(gradients, "JOINED", joined)
        found.append(
            gradient(model, pull, info.data, view.response(info.v), info.residual, weights)[0]
        )
    for one, two in zip(*found, strict=True):
        assert_allclose(one, two, atol=1e-14)


@pytest.mark.parametrize("rows", [1, 4, 30])
@pytest.mark.parametrize("kernel", [MeanField(), Persistent(chains=7)])
def test_weights_move_by_plain_averages(kernel, rows):
    """Rows or their product are divided, whichever is smaller."""
    model = Oracle("binary", "binary", n=5, k=6, seed=3, potential="constant").model
    v = jnp.asarray(vrbm.exact.states(model.visible, 5)[:rows])
    weights = jnp.linspace(0.5, 1.5, rows)
    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    view = window.narrow(model, prices, model.max_hidden)
    key = jax.random.key(0)
    _, info = kernel(view, kernel.start(view, v, key), v, key)
    data, fantasy = info.data, view.response(info.v)
    found = gradient(model, pull, data, fantasy, info.residual, weights)[0].W
    w = np.asarray(weights)
    expected = np.einsum("r,ra,ri->ai", w, data.mean, v) / rows
    if info.residual is None:
        expected -= w.mean() * np.einsum("ra,ri->ai", fantasy.mean, info.v) / len(info.v)
    else:
        expected -= np.einsum("r,ra,ri->ai", w, fantasy.mean, info.v) / rows
    assert_allclose(found, expected, atol=1e-12)
