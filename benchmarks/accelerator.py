"""The same table on an accelerator, with the part of its roofline, and the paper's Ising preset.

    python benchmarks/accelerator.py FOLDER [seconds for the preset]

Needs JAX, equinox, optax, jaxtyping, numpy, scipy and safetensors alone. Writes
`accelerator.json` after each part, so that a run that is stopped leaves what it has.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vrbm
from problems import flops, fresh, phase, products, rows_of, training
from timing import interleaved, machine
from vrbm.model import layer_size

SHAPES = ((784, 500, 100), (64, 128, 100), (64, 2000, 1000), (196, 900, 1000), (784, 4096, 4096))
ALGORITHMS = ("PCD-1", "mean-field CD-2")
PRESET_EPOCHS = 4000


def rooflines(repeats: int = 5) -> dict[str, float]:
    """What the machine does: float32 and tf32 operations a second, and bytes a second."""
    size, loops = 8192, 4
    a = jnp.ones((size, size), jnp.float32)

    def chain(precision: str) -> Any:
        @jax.jit
        def run(x: jax.Array) -> jax.Array:
            for _ in range(loops):
                x = jnp.matmul(x, a, precision=precision) * 1e-4
            return x

        return lambda: run(a).block_until_ready()

    @jax.jit
    def passed(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 20, lambda _, y: y * 1.0001 + 1e-6, x)

    big = jnp.ones((1 << 28,), jnp.float32)
    calls = {name: chain(name) for name in ("highest", "high", "default")}
    calls["bytes"] = lambda: passed(big).block_until_ready()
    times = interleaved(calls, 1, repeats)
    work = 2.0 * loops * size**3
    rates = {name: work / times[name]["median"] for name in ("highest", "high", "default")}
    return rates | {"bytes": 20 * 2 * 4.0 * big.size / times["bytes"]["median"]}


def steps(roof: dict[str, float]) -> list[dict[str, Any]]:
    """Seconds per step of each shape, with the bare products at three precisions."""
    found = []
    for n_visible, n_hidden, batch in SHAPES:
        rows = rows_of(n_visible, 8192)
        for algorithm in ALGORITHMS:
            k = int(algorithm[-1])
            count = 20 if batch >= 4096 else 200
            calls = {
                f"products, {p}": products(n_visible, n_hidden, batch, k, count, p)
                for p in ("highest", "high", "default")
            }
            for name, potential in (("RBM", vrbm.FixedSize()), ("vRBM", vrbm.Penalizing())):
                model = fresh(n_visible, n_hidden, potential, rows)
                calls[name] = training(model, rows, phase(algorithm, batch), batch, count)
            times = interleaved(calls, count, 5)
            work = flops(n_visible, n_hidden, batch, k)
            # Each step reads and writes W and its momentum, and a few arrays of the batch.
            moved = 4.0 * (8 * n_visible * n_hidden + (4 * k + 6) * batch * (n_hidden + n_visible))
            limit = max(work / roof["highest"], moved / roof["bytes"])
            cell = {"N": n_visible, "K": n_hidden, "batch": batch, "algorithm": algorithm}
            found.append(cell | {
                "seconds": times,
                "roofline_seconds": limit,
                "part_of_roofline": {n: limit / times[n]["median"] for n in ("RBM", "vRBM")},
            })  # fmt: skip
            print(cell, {name: f"{1e6 * t['median']:.0f} µs" for name, t in times.items()},
                  f"roofline {1e6 * limit:.0f} µs", flush=True)  # fmt: skip
    return found


def widths() -> dict[str, Any]:
    """The running sums of the layer size by the width of their triangular products."""
    found = {}
    for batch, size in ((100, 128), (100, 2000), (4096, 4096)):
        x = jax.random.normal(jax.random.key(0), (batch, size), jnp.float32)
        calls: dict[str, Any] = {}
        for block in (8, 16, 32, 64, 128, 256):

            def run(x: jax.Array, block: int = block) -> jax.Array:
                def one(x: jax.Array, _: None) -> tuple[jax.Array, None]:
                    return x + 1e-9 * layer_size._blocked_sum(x, block, False), None

                return jax.lax.scan(one, x, None, length=100)[0]

            compiled = jax.jit(run)
            calls[str(block)] = lambda compiled=compiled, x=x: compiled(x).block_until_ready()
        found[f"{batch}x{size}"] = interleaved(calls, 100, 5)
    return found


def precision_errors() -> dict[str, float]:
    """Largest error of x = Wv at each precision against float64, relative to the largest x."""
    rng = np.random.default_rng(0)
    v, W = rng.choice([-1.0, 1.0], (256, 784)), rng.normal(0, 0.3, (512, 784))
    exact = v @ W.T
    found = {}
    for name in ("highest", "high", "default"):
        x = jnp.matmul(jnp.float32(v), jnp.float32(W).T, precision=name)
        found[name] = float(np.abs(np.asarray(x) - exact).max() / np.abs(exact).max())
    return found


def preset(seconds: float) -> dict[str, Any]:
    """The paper's Ising run, K = 2000, 60,000 rows, batch 100, as far as the time goes."""
    from vrbm.data import ising
    from vrbm.training import Config, Optimizer, train

    data = ising.paper_set()
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0), 64, 2000, data=data.train, dtype=jnp.float32
    )
    config = Config(epochs=PRESET_EPOCHS, batch_size=100, optimizer=Optimizer(learning_rate=0.1))
    began = time.perf_counter()
    epochs: list[Any] = []
    for record in train(model, data, config, jax.random.key(1)):
        epochs.append([time.perf_counter() - began, record.window, record.repeats,
                       record.mean_size, record.mu, record.error_heldout])  # fmt: skip
        if epochs[-1][0] > seconds:
            break
    done, spent = len(epochs), epochs[-1][0]
    late = np.diff([e[0] for e in epochs[done // 2 :]])
    typical = float(np.median(late)) if late.size else spent
    return {
        "epochs": done,
        "seconds": spent,
        "seconds_per_settled_epoch": typical,
        "projected_seconds": spent + (PRESET_EPOCHS - done) * typical,
        "every_tenth": epochs[::10],
        "last": epochs[-1],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else 200.0
    results: dict[str, Any] = {"machine": machine()}

    def keep(name: str, value: Any) -> None:
        results[name] = value
        (folder / "accelerator.json").write_text(json.dumps(results, indent=1) + "\n")

    keep("rooflines", rooflines())
    print({name: f"{value:.3g}" for name, value in results["rooflines"].items()}, flush=True)
    keep("precision_errors", precision_errors())
    keep("steps", steps(results["rooflines"]))
    keep("scan_widths", widths())
    keep("preset", preset(budget))
    facts = {k: v for k, v in results["preset"].items() if k != "every_tenth"}
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
