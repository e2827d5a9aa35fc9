"""The paper's two data sets, trained as the paper does; slow."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vrbm
from vrbm.data import ising, mnist
from vrbm.evaluation.likelihood import log_likelihood
from vrbm.training import Config, MeanField, Optimizer, Persistent, train


def wrong_values(model, rows):
    """Entries that differ from their mean-field reconstruction after rounding."""
    reconstruct = jax.jit(lambda m, v: MeanField()(m, None, v, jax.random.key(0))[1].v)
    count = 0
    for start in range(0, len(rows), 2000):
        v = jnp.asarray(rows[start : start + 2000], model.W.dtype)
        count += int((jnp.sign(reconstruct(model, v)) != v).sum())
    return count


@pytest.mark.slow
def test_ising_finds_about_as_many_units_as_spins():
    """K = 200, weights 1e-3, rate 0.3, momentum 0.9: ⟨z⟩ in 60–85, every test spin reproduced."""
    data = ising.paper_set()
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(100), 64, 200, data=data.train, weight_scale=1e-3, dtype=jnp.float32
    )
    config = Config.paper(epochs=200, optimizer=Optimizer.paper(learning_rate=0.3, momentum=0.9))
    *_, last = train(model, data, config, jax.random.key(0))
    assert 60 <= last.mean_size <= 85
    assert wrong_values(last.state.model, data.test) == 0
    assert last.error_heldout < 1e-2


@pytest.mark.slow
def test_mnist_finds_the_size_of_the_paper():
    """14 × 14, mean pooling, K = 400, weights 0.01: ⟨z⟩ in 120–140 (paper 132)."""
    folder = Path(__file__).parents[3] / "shared" / "data" / "mnist"
    try:
        data = mnist.paper_set(folder if folder.is_dir() else None)
    except OSError as error:
        pytest.skip(f"MNIST is not here: {error}")
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(101), 196, 400, data=data.train, weight_scale=0.01, dtype=jnp.float32
    )
    config = Config.paper(epochs=150, optimizer=Optimizer.paper(learning_rate=0.3, momentum=0.9))
    *_, last = train(model, data, config, jax.random.key(1))
    assert 120 <= last.mean_size <= 140
    assert last.error_train < 1e-2
    assert np.isfinite(last.error_heldout)


@pytest.mark.slow
def test_persistent_chains_reach_the_likelihood():
    """Ising, an ordinary RBM of 64 units and one with optional units: above −23 nats on test rows.

    The lower end of the bracket counts. The optimum is −20.586.
    """
    data = ising.paper_set()
    for potential in (vrbm.FixedSize(), vrbm.Constant(0.1)):
        model = vrbm.GrandCanonicalRBM.initialize(
            jax.random.key(5), 64, 64, data=data.train, potential=potential, dtype=jnp.float32,
            weight_scale=0.01,
        )  # fmt: skip
        config = Config.paper(
            epochs=50,
            batch_size=250,
            negative=Persistent(5, 500),
            optimizer=Optimizer.paper("adam", learning_rate=3e-3, decay_from=0.4),
        )
        *_, last = train(model, data, config, jax.random.key(0))
        score = log_likelihood(
            last.state.model, data.test, key=jax.random.key(1), chains=200, temperatures=2000
        )
        assert score.lower > -23
