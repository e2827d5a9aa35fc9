"""A settled vRBM on Ising data: what a step costs as K grows, against an ordinary RBM."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import vrbm
from problems import training
from timing import interleaved
from vrbm.data import ising
from vrbm.training import Config, MeanField, train

SIZES = (500, 1000, 2000, 4000, 8000)
ORDINARY = 128


def settle(max_hidden: int, epochs: int) -> tuple[vrbm.GrandCanonicalRBM, int, np.ndarray]:
    """A model that has found its size, its window, and the data."""
    data = ising.paper_set()
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), data.n_visible, max_hidden, data=data.train, dtype=jnp.float32
    )
    config = Config.paper(epochs=epochs, monitor_rows=100)
    *_, last = train(model, data, config, jax.random.key(1))
    return last.state.model, last.window, (data.train == 1).astype(np.float32)


def resized(model: vrbm.GrandCanonicalRBM, window: int, max_hidden: int) -> vrbm.GrandCanonicalRBM:
    """The same model with fewer or more idle units, drawn from those that it has."""
    rng = np.random.default_rng(0)
    idle = rng.integers(window, model.max_hidden, max_hidden)
    chosen = np.r_[np.arange(window), idle][:max_hidden]
    return eqx.tree_at(lambda m: (m.W, m.b), model, (model.W[chosen], model.b[chosen]))


def measure(
    repeats: int = 9, epochs: int = 40, steps: int = 200, batch: int = 100
) -> dict[str, Any]:
    """Seconds per step by K, those of the ordinary RBM and of the computation with all units."""
    model, window, rows = settle(SIZES[0], epochs)
    negative = MeanField(2)
    ordinary = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0),
        model.n_visible,
        ORDINARY,
        weight_scale=0.1,
        potential=vrbm.FixedSize(),
        dtype=jnp.float32,
    )
    calls = {"ordinary": training(ordinary, rows, negative, batch, steps)}
    for size in SIZES:
        grown = resized(model, window, size)
        calls[str(size)] = training(grown, rows, negative, batch, steps, window, rest=True)
    times = interleaved(calls, steps, repeats)
    few = 20
    grown = resized(model, window, 2000)
    full = interleaved(
        {
            "full": training(grown, rows, negative, batch, few),
            "moved": training(grown, rows, negative, batch, few, window),
        },
        few,
        max(3, repeats // 2),
    )
    return {
        "window": window,
        "seconds": times | full,
        "memory": [
            {
                "K": size,
                "batch": rows_in_batch,
                "bytes": _memory(model, window, size, rows_in_batch),
            }
            for size in SIZES
            for rows_in_batch in (100, 1000)
        ],
    }


def _memory(model: vrbm.GrandCanonicalRBM, window: int, size: int, batch: int) -> int:
    """What the compiled steps hold beside the rows: arguments, results and temporary arrays."""
    from vrbm.training import resting, step
    from vrbm.training.loop import start
    from vrbm.training.observed import Observed

    grown = resized(model, window, size)
    config = Config.paper(batch_size=batch)
    rows = np.ones((batch, model.n_visible), np.int8)
    carry = start(grown, rows, config, jax.random.key(0)).carry
    rules = step.Rules(config.optimizer.update_rule(model.W.dtype), config.negative)
    order, rates = jnp.zeros((100, batch), int), jnp.zeros(100, model.W.dtype)
    compiled: Any = resting.run
    lowered = compiled.lower(
        carry, jnp.asarray(rows), order, rates, jax.random.key(0), window, rules, Observed()
    )
    facts = lowered.compile().compiled.memory_analysis()
    return int(facts.temp_size_in_bytes + facts.output_size_in_bytes)
