"""Figures of tiny models in float64: sums over all states, and gradients by central differences."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import vrbm
from vrbm.model.potential import energy_quanta

CASES = json.loads(Path(__file__).with_name("vrbm_small.json").read_text())["cases"]


@pytest.fixture(params=CASES, ids=lambda c: f"N{c['N']}K{c['K']}p{c['p']}")
def case(request):
    return request.param


@pytest.fixture(params=[jnp.float64, jnp.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


def model_of(case, dtype):
    potential = vrbm.Penalizing(p=case["p"], absorb_log2=case["log2_absorbed"])
    parameters = (jnp.asarray(case[name], dtype) for name in "Wbc")
    return vrbm.GrandCanonicalRBM(*parameters, potential=potential)


def test_model_and_its_exact_sums(case, dtype):
    tolerance = 1e-9 if dtype == jnp.float64 else 1e-5
    model = model_of(case, dtype)
    v = np.array(case["visible_states"])
    computed = {
        "mu": model.chemical_potential(),
        "energy_quantum": energy_quanta(model.W, model.b, case["p"]),
        "free_energy_v": model.free_energy(v),
        "free_energy_vz": model.free_energy_by_size(v),
        "p_z_given_v": model.size_probabilities(v),
        "mean_z_given_v": model.mean_size(v),
        "mean_h_given_v": model.mean_hidden(v),
        "log_Z": vrbm.exact.log_partition(model),
        "p_v": vrbm.exact.visible_probabilities(model),
        "mean_log_likelihood": jnp.asarray(case["q"], dtype) @ vrbm.exact.log_probability(model, v),
    }
    assert_allclose(vrbm.exact.states(model.visible, case["N"]), v)
    for name, value in computed.items():
        assert value.dtype == dtype, name
        assert_allclose(value, case[name], atol=tolerance, rtol=tolerance, err_msg=name)


def test_likelihood_gradient(case, dtype):
    tolerance = 1e-6 if dtype == jnp.float64 else 1e-5
    v = np.array(case["visible_states"])
    q = jnp.asarray(case["q"], dtype)
    gradient = jax.grad(lambda m: q @ vrbm.exact.log_probability(m, v))(model_of(case, dtype))
    for name in "Wbc":
        assert_allclose(getattr(gradient, name), case[f"grad_{name}"], atol=tolerance)
