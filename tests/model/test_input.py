"""Wrong input gets a sentence that names the argument and the remedy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from vrbm.model import checks

KEY = jax.random.key(0)


@pytest.fixture
def model():
    return vrbm.GrandCanonicalRBM.initialize(KEY, 4, 3)


@pytest.mark.parametrize(
    ("v", "error", "message"),
    [
        (np.ones((2, 5)), ValueError, r"v has shape \(2, 5\), but the model has 4 visible units"),
        (1.0, ValueError, r"v has shape \(\), but .* last axis has length 4"),
        (np.full(4, 2.0), ValueError, r"v holds 2: values of Spin units lie in \[-1, 1\]; rescale"),
        (np.full(4, -3), ValueError, r"v holds -3: values"),
        ([1, 1, np.nan, 1], ValueError, r"v holds nan at index \(2,\): remove or fill in"),
        ([[1, 1, 1, 1], [1, -np.inf, 1, 1]], ValueError, r"v holds -inf at index \(1, 1\)"),
        (["a", "b", "c", "d"], ValueError, r"v has dtype <U1: pass real numbers"),
        (np.ones(4) * 1j, ValueError, r"v has dtype complex128"),
        (jnp.ones(4) * 1j, ValueError, r"v has dtype complex128"),
        ([[1, 1, 1, 1], [1]], ValueError, r"v is ragged: pass rows of equal length"),
        ([None, 1, 1, 1], ValueError, r"v has dtype object"),
    ],
)
def test_visible(model, v, error, message):
    with pytest.raises(error, match=message):
        model.free_energy(v)


def test_zero_one_data_on_spins_is_pointed_out(model):
    with pytest.warns(UserWarning, match=r"v holds only 0 and 1.*Spin\(\)\.encode\(data\)"):
        model.free_energy(np.array([[0, 1, 1, 0]]))


def test_mean_values_are_fine(model):
    assert np.isfinite(model.free_energy(np.full(4, 0.3)))
    assert np.isfinite(model.free_energy(np.zeros(4)))


def test_a_shape_is_checked_under_jit_too(model):
    with pytest.raises(ValueError, match="v has shape"):
        jax.jit(lambda v: model.free_energy(v))(np.ones(3))


@pytest.mark.parametrize(
    ("z", "error", "message"),
    [
        (0, ValueError, r"z holds 0: pass layer sizes between 1 and K = 3"),
        (4, ValueError, r"z holds 4"),
        ([1, 2, -7], ValueError, r"z holds -7"),
        (2.0, ValueError, r"z has dtype float64: layer sizes are whole numbers; round first"),
        (2**32 + 1, ValueError, r"z holds 4294967297"),
        ("three", ValueError, r"z has dtype <U5: pass real numbers"),
        (None, ValueError, r"z has dtype object"),
        ([[1], [1, 2]], ValueError, r"z is ragged"),
        ([1, 2], ValueError, r"z has shape \(2,\), which does not fit the batch \(3,\)"),
    ],
)
def test_sizes(model, z, error, message):
    h, v = np.ones((3, 3)), np.ones((3, 4))
    calls = (
        lambda: model.mean_visible(h, z),
        lambda: model.energy(v, h, z),
        lambda: model.free_energy_hidden(h, z),
        lambda: model.sample_hidden(KEY, v, z),
        lambda: model.sample_visible(KEY, h, z),
    )
    for call in calls:
        with pytest.raises(error, match=message):
            call()


def test_hidden(model):
    with pytest.raises(ValueError, match=r"h has shape \(5,\), but the model has 3 hidden units"):
        model.mean_visible(np.ones(5), 1)
    with pytest.raises(ValueError, match=r"h holds -2: values of Spin"):
        model.mean_visible(np.full(3, -2.0), 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones(3), [0], [0]), ValueError, r"W has shape \(3,\): pass a matrix"),
        ((np.ones((0, 3)), [], [0] * 3), ValueError, r"W has shape \(0, 3\): .* at least one row"),
        (
            (np.ones((2, 3)), [0], [0] * 3),
            ValueError,
            r"b has shape \(1,\).*pass b of shape \(2,\)",
        ),
        ((np.ones((2, 3)), [0, 0], [0]), ValueError, r"c has shape \(1,\).*pass c of shape \(3,\)"),
        (([[1.0], [1.0, 2.0]], [0, 0], [0]), ValueError, r"W is ragged"),
        ((None, [0], [0]), ValueError, r"W has dtype object: pass real numbers"),
        (("W", [0], [0]), ValueError, r"W has dtype <U1"),
        (([[np.nan]], [0], [0]), ValueError, r"W holds nan at index \(0, 0\)"),
        (([[1.0]], [np.inf], [0]), ValueError, r"b holds inf"),
    ],
)
def test_constructor(arguments, error, message):
    with pytest.raises(error, match=message):
        vrbm.GrandCanonicalRBM(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_visible": 0}, "n_visible is 0: pass a whole number of at least 1"),
        ({"max_hidden": True}, "max_hidden is True"),
        ({"weight_scale": -1.0}, "weight_scale is -1.0: pass a finite number of at least 0"),
        ({"dtype": int}, "dtype is int64: pass float32 or float64"),
        ({"dtype": "foo"}, "dtype is 'foo'"),
        ({"bias_scale": float("nan")}, "bias_scale is nan"),
        ({"data": np.ones((5, 3))}, r"data has shape \(5, 3\): pass at least one row of n_visible"),
        ({"data": np.ones((0, 4))}, r"data has shape \(0, 4\)"),
        (
            {"data": np.full((5, 4), 0.5)},
            "data holds the value 0.5, but Spin units need two-valued",
        ),
        ({"data": np.array([[0, 1, -1, 1]])}, "data holds −1, 0 and 1 together"),
    ],
)
def test_initialize(arguments, message):
    with pytest.raises(ValueError, match=message):
        vrbm.GrandCanonicalRBM.initialize(KEY, **{"n_visible": 4, "max_hidden": 3, **arguments})


@pytest.mark.parametrize("key", [0, None, np.ones(4), jax.random.split(KEY, 3)])
def test_keys(key):
    with pytest.raises(ValueError, match=r"not one random key: pass jax.random.key\(seed\)"):
        checks.random_key(key)
    for right in (KEY, jax.random.PRNGKey(0)):
        assert checks.random_key(right) is right


def test_sizes_of_small_types_are_welcome():
    model = vrbm.GrandCanonicalRBM.initialize(KEY, 2, 200)
    assert np.isfinite(model.free_energy_hidden(np.ones(200), jnp.int8(3)))


def test_the_type_is_the_one_that_holds_all():
    make = vrbm.GrandCanonicalRBM
    assert make([[1, 2]], [0], [0, 0]).W.dtype == jnp.float64
    assert make(np.ones((1, 2), np.float32), np.zeros(1, np.float32), [0, 0]).W.dtype == jnp.float32
    assert make(np.ones((1, 2), np.float32), np.zeros(1), [0, 0]).W.dtype == jnp.float64


def test_what_is_no_count_or_unit_type():
    with pytest.raises(ValueError, match=r"max_hidden is 2.5: pass a whole number"):
        checks.count("max_hidden", 2.5)
    for value in ("spin", vrbm.Spin):
        with pytest.raises(ValueError, match=r"hidden is .*: pass a unit type such as"):
            checks.unit_type("hidden", value)


def test_initialize_takes_the_visible_bias_from_the_data():
    data = np.array([[0, 1, 0, 1], [0, 1, 1, 1], [0, 1, 1, 1]])
    for unit, neutral in ((vrbm.Spin(), 0.0), (vrbm.Binary(), 0.5)):
        model = vrbm.GrandCanonicalRBM.initialize(KEY, 4, 3, data=data, visible=unit)
        expected = (unit.encode(data).sum(axis=0) + neutral) / 4
        assert_allclose(unit.mean(model.c), expected, rtol=1e-12)
        assert np.isfinite(model.c).all()


def test_initialize_is_small_random_and_repeatable():
    make = vrbm.GrandCanonicalRBM.initialize
    model = make(KEY, 50, 400, weight_scale=1e-3, bias_scale=1e-2)
    assert_allclose(model.W.std(), 1e-3, rtol=0.05)
    assert_allclose(model.b.std(), 1e-2, rtol=0.2)
    assert (model.b != 0).all()
    assert (model.c == 0).all()
    assert (make(KEY, 50, 400).W == make(KEY, 50, 400).W).all()
    assert (make(KEY, 50, 400).W != make(jax.random.key(1), 50, 400).W).any()
    assert (model.n_visible, model.max_hidden) == (50, 400)


def test_enumeration_has_a_limit():
    model = vrbm.GrandCanonicalRBM.initialize(KEY, 23, 24)
    with pytest.raises(ValueError, match="23 visible and 24 hidden units, and its limit is 22"):
        vrbm.exact.log_partition(model)
    tall = vrbm.GrandCanonicalRBM.initialize(KEY, 23, 2)
    assert np.isfinite(vrbm.exact.log_partition(tall))
    with pytest.raises(ValueError, match="23 visible units"):
        vrbm.exact.visible_probabilities(tall)


def test_the_model_cannot_be_changed(model):
    with pytest.raises(AttributeError):
        model.W = jnp.zeros((3, 4))
