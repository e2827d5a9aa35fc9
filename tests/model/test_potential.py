import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import vrbm
from vrbm.model.potential import active_units, energy_quanta


def mu(potential, W, b, hidden=None):
    return potential.value(jnp.asarray(W), jnp.asarray(b), hidden or vrbm.Spin())


RNG = np.random.default_rng(0)
W, B = RNG.normal(size=(6, 5)), RNG.normal(size=6)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("smooth", [False, True])
def test_gradient_is_that_of_central_differences(p, smooth):
    potential = vrbm.Penalizing(p=p, smooth=smooth)
    gradient = jax.grad(lambda w: mu(potential, w, B))(jnp.asarray(W))
    step, direction = 1e-6, RNG.normal(size=W.shape)
    sides = [mu(potential, W + sign * step * direction, B) for sign in (1, -1)]
    assert_allclose((gradient * direction).sum(), (sides[0] - sides[1]) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_subgradient_at_zero_is_zero(p):
    potential = vrbm.Penalizing(p=p)
    some_zero = W * (np.arange(5) > 1)
    gradient = jax.grad(lambda w: mu(potential, w, B))(jnp.asarray(some_zero))
    assert_array_equal(gradient[:, :2], 0)
    assert (gradient[:, 2:] != 0).all()


@pytest.mark.parametrize("smooth", [False, True])
def test_an_empty_layer_costs_one_and_pulls_at_nothing(smooth):
    potential = vrbm.Penalizing(smooth=smooth)
    zero = (jnp.zeros((3, 2)), jnp.zeros(3))
    value, gradient = jax.value_and_grad(lambda w: mu(potential, *w))(zero)
    assert_allclose(value, 1, rtol=1e-15)
    assert all((g == 0).all() for g in gradient)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("p", [1, 2])
def test_mu_is_at_least_one_and_tends_to_it(p, smooth):
    potential = vrbm.Penalizing(p=p, smooth=smooth)
    values = [float(mu(potential, s * W, s * B)) for s in (1e-4, 1e-2, 0.1, 1, 3)]
    assert values == sorted(values)
    assert_allclose(values[0], 1, atol=1e-6)


@pytest.mark.parametrize("smooth", [False, True])
def test_mu_is_intensive(smooth):
    """Twice the same layer has the same price: finite for any K."""
    potential = vrbm.Penalizing(smooth=smooth)
    once = mu(potential, W, B)
    assert_allclose(mu(potential, np.tile(W, (50, 1)), np.tile(B, 50)), once, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e-3, 0.05, 0.2, 1.0])
def test_gradient_of_an_almost_idle_layer_keeps_its_digits(scale):
    """∂μ/∂b_a = (tanh² ℰ_a − (μ − 1) sech² ℰ_a) sign(b_a) / Σ tanh ℰ, in float32."""
    b = jnp.asarray(scale * B, jnp.float32)
    w = jnp.zeros((6, 5), jnp.float32)
    gradient = jax.grad(lambda b: mu(vrbm.Penalizing(), w, b))(b)
    quanta = abs(np.asarray(b, np.longdouble))
    small = quanta**3 / 3 - 2 * quanta**5 / 15 + 17 * quanta**7 / 315
    excess = np.where(quanta < 0.02, small, quanta - np.tanh(quanta)).sum()
    total = np.tanh(quanta).sum()
    exact = (np.tanh(quanta) ** 2 - excess / total / np.cosh(quanta) ** 2) / total * np.sign(b)
    assert_allclose(gradient, np.asarray(exact, float), rtol=2e-4, atol=1e-30)


def test_sign_and_order_do_not_matter():
    potential = vrbm.Penalizing()
    order = RNG.permutation(6)
    assert_allclose(mu(potential, -W[order], -B[order]), mu(potential, W, B), rtol=1e-12)


def test_quanta_and_active_units():
    assert_allclose(
        energy_quanta(jnp.asarray(W), jnp.asarray(B), 1.0), abs(W).mean(axis=1) + abs(B), rtol=1e-12
    )
    far = energy_quanta(jnp.r_[100 * jnp.ones((4, 5)), jnp.zeros((9, 5))], jnp.zeros(13), 1.0)
    assert_allclose(active_units(far), 4)


@pytest.mark.parametrize("hidden", [vrbm.Spin(), vrbm.Binary()])
def test_absorbing_adds_the_log_of_the_number_of_states(hidden):
    kept, absorbed = (
        vrbm.Penalizing(absorb_log2=absorb).prices(jnp.asarray(W), jnp.asarray(B), hidden)
        for absorb in (False, True)
    )
    assert_allclose(absorbed - kept, np.log(2), rtol=1e-12)


def test_local_price_is_never_earned_by_an_idle_unit():
    local = vrbm.Local(1.5)
    model = vrbm.GrandCanonicalRBM(np.zeros((4, 2)), [0.1, -1, 2, 0], [0, 0], potential=local)
    log_weights = -model.free_energy_by_size(jnp.ones(2))
    assert (np.diff(log_weights) < 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vrbm.Penalizing(p=0.5), r"p is 0.5: pass a finite number of at least 1"),
        (lambda: vrbm.Penalizing(p=float("nan")), r"p is nan"),
        (lambda: vrbm.Constant(float("inf")), r"mu is inf: pass a finite number"),
        (lambda: vrbm.Constant("a"), r"mu is 'a'"),
        (lambda: vrbm.Constant(None), r"mu is None"),
        (lambda: vrbm.Local(-1.0), r"beta is -1.0: pass a finite number of at least 0"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda W, b: jnp.inf, "not finite"),
        (lambda W, b: None, "pass a function of W"),
        (lambda W: 1.0, "pass a function of W"),
    ],
)
def test_functions_that_are_no_potential(function, message):
    model = vrbm.GrandCanonicalRBM(W, B, np.zeros(5), potential=function)
    with pytest.raises(ValueError, match=message):
        model.chemical_potential()


@pytest.mark.parametrize("scale", [0.03, 0.0499, 0.0501, 0.1, 0.1999, 0.2001, 0.5])
def test_the_series_joins_the_difference(scale):
    """μ of one unit in float64, on both sides of the place where the series ends."""
    with np.errstate(all="raise"):
        exact = np.longdouble(scale) / np.tanh(np.longdouble(scale))
    value = mu(vrbm.Penalizing(), np.zeros((1, 1)), np.array([scale]))
    assert_allclose(float(value) - 1, float(exact - 1), rtol=1e-11)


def test_second_derivative_for_p_2():
    zero = (jnp.zeros((1, 1)), jnp.zeros(1))
    quanta = lambda b: energy_quanta(zero[0], b, 2.0)[0]  # noqa: E731
    assert_allclose(jax.hessian(quanta)(zero[1]), [[2.0]])


def test_a_function_must_return_one_number_or_one_for_each_unit():
    model = vrbm.GrandCanonicalRBM(W, B, np.zeros(5), potential=lambda W, b: W[0])
    with pytest.raises(ValueError, match=r"potential returned an array of shape \(5,\)"):
        model.free_energy(np.ones(5))


@pytest.mark.parametrize("potential", [3.0, "penalizing", vrbm.Penalizing])
def test_what_is_no_potential(potential):
    with pytest.raises(ValueError, match="pass a potential such as"):
        vrbm.GrandCanonicalRBM(W, B, np.zeros(5), potential=potential)
