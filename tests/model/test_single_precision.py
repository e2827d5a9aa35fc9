"""JAX as most people have it: without 64-bit types."""

import subprocess
import sys

CODE = """
import json
import jax, jax.numpy as jnp, numpy as np
import vrbm

assert jnp.zeros(0).dtype == jnp.float32
for case in json.load(open("tests/model/vrbm_small.json"))["cases"]:
    potential = vrbm.Penalizing(p=case["p"], absorb_log2=case["log2_absorbed"])
    model = vrbm.GrandCanonicalRBM(case["W"], case["b"], case["c"], potential=potential)
    v = np.array(case["visible_states"])
    for name, value in (
        ("free_energy_vz", model.free_energy_by_size(v)),
        ("mean_h_given_v", model.mean_hidden(v)),
        ("log_Z", vrbm.exact.log_partition(model)),
        ("p_v", vrbm.exact.visible_probabilities(model)),
    ):
        assert value.dtype == jnp.float32
        np.testing.assert_allclose(value, case[name], atol=1e-5, rtol=1e-5)

key = jax.random.key(0)
tall = vrbm.GrandCanonicalRBM.initialize(key, 15, 14, weight_scale=0.3)
over_v, over_h = (vrbm.exact._log_weights(tall, side) for side in (True, False))
sums = [jax.scipy.special.logsumexp(x) for x in (over_v, over_h)]
np.testing.assert_allclose(sums[0], sums[1], rtol=1e-6)
z = tall.sample_size(key, np.ones((3, 15)))
assert z.dtype == jnp.int32
assert tall.sample_visible(key, tall.sample_hidden(key, np.ones((3, 15)), z), z).shape == (3, 15)
try:
    vrbm.GrandCanonicalRBM.initialize(key, 2, 2, dtype="float64")
except ValueError as error:
    assert "jax_enable_x64" in str(error)
else:
    raise AssertionError
"""


def test_reference_figures_and_enumeration():
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
