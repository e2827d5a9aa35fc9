import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrbm
from vrbm.data.arrays import from_array
from vrbm.data.dataset import Domain
from vrbm.evaluation.reconstruction import errors_by_split, reconstruction_errors
from vrbm.training import MeanField, error
from vrbm.training.monitor import measure

KEY = jax.random.key(3)


def random_model(visible=None, n=5, k=7, scale=1.0, dtype=jnp.float64, **settings):
    return vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(1),
        n,
        k,
        weight_scale=scale,
        bias_scale=0.3,
        visible=visible or vrbm.Spin(),
        dtype=dtype,
        **settings,
    )


def plainly(model, v, kernel):
    """The mean-field iterations of the paper in numpy."""
    W, b, c = (np.asarray(x) for x in (model.W, model.b, model.c))
    mean = {-1.0: np.tanh, 0.0: lambda x: 1 / (1 + np.exp(-x))}[model.visible.states[0]]
    for _ in range(kernel.k):
        steps = np.log(np.cosh(v @ W.T + b)) - float(model.chemical_potential())
        p = np.exp(np.cumsum(steps, axis=1))
        p /= p.sum(axis=1, keepdims=True)
        size = np.ceil(p @ np.arange(1, len(b) + 1))
        if kernel.size_rule == "probable":
            size = p.argmax(axis=1) + 1
        survival = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]
        h = survival * np.tanh(v @ W.T + b) * (np.arange(len(b)) < size[:, None])
        v = mean(h @ W + c)
    return v


def test_errors():
    """Against the definitions, summed in numpy, of all kinds."""
    rng = np.random.default_rng(0)
    for visible, low, kernel in (
        (vrbm.Spin(), -1, MeanField()),
        (vrbm.Binary(), 0, MeanField(1, "probable")),
    ):
        model = random_model(visible)
        rows = rng.integers(0, 2, (23, 5))
        v = np.where(rows == 1, 1.0, low)
        found = reconstruction_errors(model, rows, KEY, kernel=kernel)
        mean = plainly(model, v, kernel)
        rounded = np.where(mean > (1 + low) / 2, 1, low)
        assert found.rows == 23
        for error_, other in ((found.mean_field, mean), (found.rounded, rounded)):
            np.testing.assert_allclose(error_.quadratic, ((v - other) ** 2).sum() / 23)
            np.testing.assert_allclose(error_.absolute, abs(v - other).sum() / 23)
        assert found.reproduced == (rounded == v).all(axis=1).mean()


def test_sampled_errors_have_the_right_average():
    """⟨(v − v')²⟩ = 2(1 − v⟨v'⟩) for spins; false failures 6e-5 (4 standard errors)."""
    model = random_model()
    rows = np.tile([1.0, -1, 1, 1, -1], (20_000, 1))
    found = reconstruction_errors(model, rows, KEY)
    mean = plainly(model, rows[:1], MeanField())[0]
    each = 2 * (1 - rows[0] * mean)  # 4 with probability each/4
    sigma = np.sqrt((each * (4 - each)).sum() / len(rows))
    assert abs(found.sampled.quadratic - each.sum()) < 4 * sigma
    np.testing.assert_allclose(found.sampled.absolute, found.sampled.quadratic / 2)


@pytest.mark.parametrize("unit", [vrbm.Spin(), vrbm.Binary()])
def test_errors_of_1e_13_are_real_in_float32(unit):
    """A model that copies: fields ±9 on spins give the residual 2/(1 + e^18) = 3e-8."""
    n = 8
    w, b, c = {-1: (9.0, 0.0, 0.0), 0: (36.0, -18.0, -18.0)}[unit.states[0]]
    parameters = (w * np.eye(n), np.full(n, b), np.full(n, c))
    model = vrbm.GrandCanonicalRBM(*parameters, unit, unit, vrbm.FixedSize())
    rows = np.random.default_rng(1).integers(0, 2, (50, n))
    small = jax.tree.map(lambda x: x.astype(jnp.float32), model)
    exact = reconstruction_errors(model, rows, KEY).mean_field
    found = reconstruction_errors(small, rows, KEY).mean_field
    assert 1e-16 < exact.quadratic < 1e-13
    # a rounding error of the field moves the residual by as much, relatively
    assert found.quadratic == pytest.approx(exact.quadratic, rel=1e-5)
    assert found.absolute == pytest.approx(exact.absolute, rel=1e-5)
    assert found.quadratic > 0


def test_blocks_do_not_matter(tmp_path):
    """Neither their size nor where rows are kept: random numbers belong to rows."""
    model = random_model()
    rows = (2 * np.random.default_rng(2).integers(0, 2, (101, 5)) - 1).astype(np.int8)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    kernel = MeanField(2, "sample")
    whole = reconstruction_errors(model, rows, KEY, kernel=kernel)
    found = reconstruction_errors(model, mapped, KEY, kernel=kernel, block_rows=7)
    assert found.rows == 101
    np.testing.assert_allclose(found.mean_field, whole.mean_field, rtol=1e-12)
    assert (found.rounded, found.sampled) == (whole.rounded, whole.sampled)


def test_means_in_0_1_are_data_too():
    model = random_model(vrbm.Binary())
    rows = np.random.default_rng(3).random((20, 5)).astype(np.float32)
    found = reconstruction_errors(model, rows, KEY)
    mean = plainly(model, rows.astype(float), MeanField())
    np.testing.assert_allclose(found.mean_field.quadratic, ((rows - mean) ** 2).sum() / 20)


def test_the_record_of_a_training_has_the_same_error():
    rows = np.random.default_rng(4).integers(0, 2, (300, 5))
    data = from_array(rows[:150], test=rows[150:])
    model = random_model()
    found = errors_by_split(model, data, KEY)
    assert list(found) == ["train", "test"]
    for split, rows, _ in data.splits():
        v = model.visible.encode(rows)
        recorded = measure(model, [v], KEY, MeanField(), model.max_hidden)[0]["error"]
        assert recorded == pytest.approx(found[split].mean_field.quadratic, rel=1e-12)


def test_nearest_state():
    means = jnp.asarray([-0.9, 0.0, 0.1, 1.0])
    np.testing.assert_array_equal(vrbm.Spin().nearest(means), [-1, -1, 1, 1])
    np.testing.assert_array_equal(vrbm.Binary().nearest(jnp.asarray([0.4, 0.6])), [0, 1])
    assert error.quadratic(jnp.asarray([[1.0, 2.0]])).tolist() == [5.0]


def test_complaints():
    model, rows = random_model(), np.ones((4, 5))
    with pytest.raises(ValueError, match="3 values in a row, but the model has 5"):
        reconstruction_errors(model, rows[:, :3], KEY)
    with pytest.raises(ValueError, match="pass one of its splits"):
        reconstruction_errors(model, from_array(rows), KEY)
    with pytest.raises(ValueError, match="block_rows is 0"):
        reconstruction_errors(model, rows, KEY, block_rows=0)
    with pytest.raises(ValueError, match=r"outside the domain ±1"):
        reconstruction_errors(model, 0 * rows, KEY, domain=Domain.SPIN)
