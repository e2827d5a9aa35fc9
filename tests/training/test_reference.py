"""One mean-field CD-2 step against figures in float64 (tests/model/vrbm_small.json)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.model.test_reference import CASES, model_of
from vrbm.training import MeanField, Optimizer, window
from vrbm.training.gradient import gradient, moved, parameters


@pytest.fixture(params=CASES, ids=lambda c: f"N{c['N']}K{c['K']}p{c['p']}")
def case(request):
    return request.param


def test_reconstruction_error_and_gradient(case):
    model, cd = model_of(case, jnp.float64), case["cd"]
    v = jnp.asarray(cd["batch"], jnp.float64)
    kernel = MeanField(k=cd["k"], size_rule="mean")
    _, info = kernel(model, None, v, jax.random.key(0))
    assert_allclose(info.v, cd["reconstruction"], atol=1e-9)
    y, _ = kernel.fields(model, v, jax.random.key(0))
    epsilon = (model.visible.residual(v, y) ** 2).sum(axis=1).mean()
    assert_allclose(epsilon, cd["epsilon"], atol=1e-9)

    prices, pull = jax.vjp(
        lambda W, b, _: model.potential.prices(W, b, model.hidden), model.W, model.b, jnp.zeros(0)
    )
    ones = jnp.zeros(model.max_hidden).at[0].set(1.0)  # all units have the same price
    dmu_dW, dmu_db, _ = pull(ones)
    assert_allclose(dmu_dW, cd["dmu_dW"], atol=1e-9)
    assert_allclose(dmu_db, cd["dmu_db"], atol=1e-9)

    view = window.narrow(model, prices, model.max_hidden)
    computed, statistics = gradient(model, pull, view.response(v), view.response(info.v))
    assert_allclose(statistics.delta_size, cd["delta_z"], atol=1e-9)
    for name in "Wbc":
        assert_allclose(getattr(computed, name), cd[f"grad_{name}"], atol=1e-9)


def test_update_with_the_momentum_of_the_paper(case):
    """λ ← λ + γ ∇, ∇ = β ∇ + (1 − β) ∂, from ∇ = 0: two steps with the same ∂."""
    model, cd = model_of(case, jnp.float64), case["cd"]
    rule = Optimizer.paper(momentum=0.9).update_rule(jnp.float64)
    state = rule.init(parameters(model))
    descent = jax.tree.map(lambda x: -jnp.asarray(x), tuple(cd[f"grad_{n}"] for n in "Wbc"),
                           is_leaf=lambda x: isinstance(x, list))  # fmt: skip
    descent = parameters(model)._replace(W=descent[0], b=descent[1], c=descent[2])
    for _ in range(2):
        step, state = rule.step(descent, state, parameters(model), jnp.asarray(0.3))
        model = moved(model, step)
    expected = 0.3 * (0.1 + (0.9 * 0.1 + 0.1))
    for name in "Wbc":
        change = np.asarray(getattr(model, name)) - np.array(case[name])
        assert_allclose(change, expected * np.array(cd[f"grad_{name}"]), atol=1e-12)
