"""Training steps of this package, and the bare matrix products of the same steps."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vrbm
from vrbm.training import Config, Gibbs, MeanField, Optimizer, Persistent, resting, step
from vrbm.training.loop import start
from vrbm.training.observed import Observed

SEED = 0
SHAPES = ((784, 500), (64, 128), (196, 900), (64, 2000))
BATCHES = (10, 100, 1000)
ALGORITHMS = ("CD-1", "PCD-1", "mean-field CD-2")


def rows_of(n_visible: int, count: int = 4000) -> np.ndarray:
    """Independent columns, 0/1: the time of a step does not depend on the values."""
    rng = np.random.default_rng(SEED)
    return (rng.random((count, n_visible)) < rng.random(n_visible)).astype(np.float32)


def k_of(algorithm: str) -> int:
    """The k of a name such as «CD-1»."""
    return int(algorithm.rsplit("-", 1)[1])


def phase(algorithm: str, batch: int) -> Any:
    """The negative phase of a name such as «CD-1»."""
    name, k = algorithm.rsplit("-", 1)[0], k_of(algorithm)
    if name == "PCD":
        return Persistent(k, batch)
    return {"CD": Gibbs, "mean-field CD": MeanField}[name](k)


def training(
    model: vrbm.GrandCanonicalRBM,
    rows: np.ndarray,
    negative: Any,
    batch: int,
    steps: int,
    width: int | None = None,
    rest: bool = False,
) -> Callable[[], Any]:
    """A call that does so many steps of the training loop, in one block."""
    # Peers take plain gradient steps for their sampled phases; momentum is the paper's.
    rule = Optimizer.paper("momentum" if isinstance(negative, MeanField) else "sgd", 0.01)
    config = Config.paper(epochs=1, batch_size=batch, negative=negative, optimizer=rule)
    carry = start(model, rows, config, jax.random.key(1)).carry
    rules = step.Rules(config.optimizer.update_rule(model.W.dtype), negative)
    states = np.where(rows == 1, *(np.int8(s) for s in reversed(model.visible.states)))
    order = np.random.default_rng(SEED).integers(0, len(rows), (steps, batch))
    rates = config.optimizer.rates(np.arange(steps), steps).astype(model.W.dtype)
    on_device = jax.device_put((carry, states, order, rates))
    kernel: Any = resting.run if rest else step.run
    units = width or model.max_hidden

    def call() -> Any:
        new, shown, _ = kernel(*on_device, jax.random.key(2), units, rules, Observed())
        return float(shown.log_missing), new.model.c.block_until_ready()

    return call


def fresh(
    n_visible: int, max_hidden: int, potential: vrbm.Potential, rows: np.ndarray
) -> vrbm.GrandCanonicalRBM:
    """0/1 units and small weights."""
    return vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0),
        n_visible,
        max_hidden,
        data=rows,
        weight_scale=0.05,
        visible=vrbm.Binary(),
        hidden=vrbm.Binary(),
        potential=potential,
        dtype=jnp.float32,
    )


def products(
    n_visible: int, n_hidden: int, batch: int, k: int, steps: int, precision: Any = "highest"
) -> Callable[[], Any]:
    """The matrix products of CD-k alone: k + 1 times up, k times down, and two for the gradient."""
    W = 0.05 * jax.random.normal(jax.random.key(0), (n_hidden, n_visible), jnp.float32)
    v = jax.random.normal(jax.random.key(1), (batch, n_visible), jnp.float32)

    def dot(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.matmul(a, b, precision=precision)

    def one(W: jax.Array, _: Any) -> tuple[jax.Array, None]:
        data = here = dot(v, W.T)
        below = v
        for _ in range(k):
            below = dot(here, W)
            here = dot(below, W.T)
        return W + 1e-9 * (dot(data.T, v) - dot(here.T, below)), None

    @jax.jit
    def run(W: jax.Array) -> jax.Array:
        return jax.lax.scan(one, W, None, length=steps)[0]

    return lambda: run(W).block_until_ready()


def flops(n_visible: int, n_hidden: int, batch: int, k: int) -> float:
    """Operations of these products."""
    return 2.0 * batch * n_visible * n_hidden * (2 * k + 3)


def steps_at(n_visible: int, n_hidden: int, batch: int, algorithm: str, most: float) -> int:
    """How many steps a call takes, 5 to 200, so that it has about `most` operations."""
    work = flops(n_visible, n_hidden, batch, k_of(algorithm))
    return int(min(200, max(5, most / work)))


def ours(shape: tuple[int, int], batch: int, algorithm: str, steps: int) -> dict[str, Any]:
    """The bare products, an ordinary RBM and a vRBM; the rows are those of `rows_of`."""
    n_visible, n_hidden = shape
    rows = rows_of(n_visible)
    calls = {"products": products(n_visible, n_hidden, batch, k_of(algorithm), steps)}
    for name, potential in (("RBM", vrbm.FixedSize()), ("vRBM", vrbm.Penalizing())):
        model = fresh(n_visible, n_hidden, potential, rows)
        calls[name] = training(model, rows, phase(algorithm, batch), batch, steps)
    return calls
