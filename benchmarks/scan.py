"""The running sums of `vrbm.model.layer_size` against two plain cumulative sums, in one run."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from vrbm.model import layer_size

SHAPES = ((100, 128), (100, 512), (100, 2048), (1000, 2000), (10, 128))
BLOCKS = (4, 8, 16, 32, 64)
REPEATS = 9


def plain(steps: Array) -> tuple[Array, Array]:
    log_weights = jnp.cumsum(steps, axis=-1)
    peak = log_weights.max(axis=-1, keepdims=True)
    tails = jnp.cumsum(jnp.exp(log_weights - peak)[..., ::-1], axis=-1)[..., ::-1]
    return peak[..., 0] + jnp.log(tails[..., 0]), tails / tails[..., :1]


def blocked(width: int) -> jax.stages.Wrapped:
    def survival(steps: Array) -> tuple[Array, Array]:
        layer_size.BLOCK = width  # read while tracing, i.e. once for each compiled function
        sizes = layer_size.scan(steps)
        return sizes.log_norm, sizes.survival

    return jax.jit(survival)


def main() -> None:
    chosen = layer_size.BLOCK
    print("batch     K | plain µs | time of plain over time of block width")
    for batch, size in SHAPES:
        steps = jax.random.normal(jax.random.key(0), (batch, size))
        functions = {"plain": jax.jit(plain)} | {str(w): blocked(w) for w in BLOCKS}
        results = {name: function(steps) for name, function in functions.items()}
        for result in results.values():
            np.testing.assert_allclose(result[1], results["plain"][1], atol=1e-4)
        times: dict[str, list[float]] = {name: [] for name in functions}
        calls = max(5, 2_000_000 // (batch * size))
        for _ in range(REPEATS):
            for name, function in functions.items():
                start = time.perf_counter()
                for _ in range(calls):
                    result = function(steps)
                result[1].block_until_ready()
                times[name].append((time.perf_counter() - start) / calls)
        median = {name: float(np.median(values)) for name, values in times.items()}
        ratios = "  ".join(f"{w}: {median['plain'] / median[str(w)]:.2f}" for w in BLOCKS)
        print(f"{batch:5d} {size:5d} | {1e6 * median['plain']:8.0f} | {ratios}")
    print(f"the package uses width {chosen}")


if __name__ == "__main__":
    main()
