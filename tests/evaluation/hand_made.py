"""Models whose couplings are known because they were built from them."""

import jax
import numpy as np

import vrbm
from vrbm.data import ising
from vrbm.training.negative import gibbs_step


def ising_rbm(L, K, field=0.0):
    """One hidden unit a bond: Σ_h e^{h w (s_i ± s_j)} ∝ e^{K s_i s_j} if cosh 2w = e^{2|K|}."""
    links = ising.bonds(L)
    W = np.zeros((len(links), L * L))
    w = np.arccosh(np.exp(2 * abs(K))) / 2
    W[np.arange(len(links)), links[:, 0]] = w
    W[np.arange(len(links)), links[:, 1]] = w * np.sign(K)
    return vrbm.GrandCanonicalRBM(
        W, np.zeros(len(links)), np.full(L * L, field), potential=vrbm.FixedSize()
    )


def chains(model, n, steps, burn_in, seed=0):
    """Gibbs chains from random states, (n, steps, N), without their first steps."""
    start_key, key = jax.random.split(jax.random.key(seed))
    start = model.visible.sample(start_key, jax.numpy.zeros((n, model.n_visible)))

    @jax.jit
    def run(v, keys):
        def step(v, key):
            v = gibbs_step(model, model.response(v), key)
            return v, v.astype(jax.numpy.int8)

        return jax.lax.scan(step, v, keys)[1]

    found = run(start, jax.random.split(key, burn_in + steps))
    return np.asarray(found[burn_in:]).transpose(1, 0, 2)
