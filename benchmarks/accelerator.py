"""The same steps on an accelerator, as parts of its roofline, and the paper's Ising preset.

    python benchmarks/accelerator.py FOLDER

Each part runs in a process of its own with the XLA flags that suit it, and adds to
`accelerator.json`; the table is `accelerator.md`. Needs JAX, equinox, optax, jaxtyping, numpy,
scipy, scikit-learn and safetensors alone; `rbms` with torch is timed beside, where it is there.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from peers import on_accelerator
from problems import ALGORITHMS, BATCHES, SHAPES, flops, k_of, ours, rows_of, steps_at
from report import table
from timing import interleaved, machine

LARGE = ((784, 4096), 4096)
#: Operations in a timed call.
MOST = 4e12
#: Programs compiled at a time.
COMPILERS = 8
UNTUNED = "--xla_gpu_autotune_level=0"
CONCURRENT = "--xla_gpu_command_buffer_scheduling_mode=CONCURRENT"
FLAGS = {
    "steps": CONCURRENT,
    "large": f"{UNTUNED} --xla_gpu_enable_triton_gemm=false",
    "preset": f"{UNTUNED} {CONCURRENT}",
}


def rooflines(repeats: int = 5) -> dict[str, float]:
    """What the machine does: operations a second at three precisions, and bytes a second."""
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


def cells(wanted: list[tuple[tuple[int, int], int, str]], repeats: int = 9) -> list[dict[str, Any]]:
    """Seconds per step of each shape, batch and algorithm, with the least that they could take."""
    roof = rooflines()
    print({name: f"{rate:.3g}" for name, rate in roof.items()}, flush=True)
    prepared = []
    for (n_visible, n_hidden), batch, algorithm in wanted:
        steps = steps_at(n_visible, n_hidden, batch, algorithm, MOST)
        calls = ours((n_visible, n_hidden), batch, algorithm, steps)
        prepared.append((n_visible, n_hidden, batch, algorithm, steps, calls))
    with ThreadPoolExecutor(COMPILERS) as pool:
        list(pool.map(lambda call: call(), [call for one in prepared for call in one[-1].values()]))
    found = []
    for n_visible, n_hidden, batch, algorithm, steps, calls in prepared:
        peers = on_accelerator(algorithm, rows_of(n_visible), n_hidden, batch, steps)
        times = interleaved(calls | peers, steps, repeats)
        k = k_of(algorithm)
        # Each step reads and writes W and its momentum, and a few arrays of the batch.
        moved = 4.0 * (8 * n_visible * n_hidden + (4 * k + 6) * batch * (n_hidden + n_visible))
        limit = max(flops(n_visible, n_hidden, batch, k) / roof["highest"], moved / roof["bytes"])
        cell = {"N": n_visible, "K": n_hidden, "batch": batch, "algorithm": algorithm}
        print(
            cell,
            {name: f"{1e6 * t['median']:.0f} µs" for name, t in times.items()},
            f"roofline {1e6 * limit:.0f} µs",
            flush=True,
        )
        found.append(cell | {"seconds": times, "roofline_seconds": limit, "rooflines": roof})
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


def preset(began: float) -> dict[str, Any]:
    """The paper's Ising run with all its measures, in seconds since the process began.

    Its data, which are drawn once and kept, are there before.
    """
    from vrbm.experiments import catalogue, presets
    from vrbm.experiments.conduct import conduct

    paper = presets.PRESETS["ising", "paper"]
    data = catalogue.EXPERIMENTS["ising"].load(paper)
    marks: dict[str, float] = {}

    def tell(name: str, share: float, line: str) -> None:
        marks["trained"] = time.time() - began
        marks.setdefault("first epoch", marks["trained"])

    with tempfile.TemporaryDirectory() as folder:
        conduct(paper, Path(folder), data, members=["vrbm"], seeds=[0], progress=tell)
        measured = json.loads((Path(folder) / "runs/vrbm-0/measures.json").read_text())
    marks["measured"] = time.time() - began
    facts = {name: measured[name] for name in ("mean_size", "mu")}
    return {"seconds": marks, "error_test": measured["test"]["error"], **facts}


def part(name: str, began: float) -> Any:
    """One of the parts."""
    if name == "preset":
        return preset(began)
    if name == "large":
        return cells([(*LARGE, algorithm) for algorithm in ALGORITHMS[1:]])
    return cells([(s, b, a) for s in SHAPES for b in BATCHES for a in ALGORITHMS])


def tables(results: dict[str, Any]) -> str:
    """The table of the documentation."""
    rows = []
    for cell in results.get("steps", []) + results.get("large", []):
        times = {name: 1e6 * t["median"] for name, t in cell["seconds"].items()}
        shape = [f"{cell['N']}×{cell['K']}", str(cell["batch"]), cell["algorithm"]]
        limit = 1e6 * cell["roofline_seconds"]
        parts = [f"{100 * limit / times[name]:.0f} %" for name in ("RBM", "vRBM")]
        peer = f"{times['rbms'] / times['RBM']:.1f}" if "rbms" in times else "—"
        alone = [f"{times[name]:.0f}" for name in ("products", "RBM", "vRBM")]
        rows.append([*shape, f"{limit:.0f}", *alone, *parts, peer])
    head = ["N×K", "batch", "algorithm", "roofline, µs", "products, µs", "RBM, µs", "vRBM, µs"]
    return table([*head, "RBM of roofline", "vRBM of roofline", "rbms / RBM"], rows) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        name, began = sys.argv[2], float(sys.argv[3])
        found = {"machine": machine(), "precision_errors": precision_errors(), name: None}
        found[name] = part(name, began)
        (folder / f"{name}.json").write_text(json.dumps(found))
        return
    folder.mkdir(parents=True, exist_ok=True)
    drawn = "from vrbm.data import ising; ising.paper_set()"
    subprocess.run([sys.executable, "-c", drawn], check=True)
    results: dict[str, Any] = {"flags": FLAGS}
    for name, flags in FLAGS.items():
        environment = os.environ | {"XLA_FLAGS": flags, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        command = [sys.executable, __file__, str(folder), name, str(time.time())]
        subprocess.run(command, env=environment, check=True)
        one = folder / f"{name}.json"
        results |= json.loads(one.read_text())
        one.unlink()
        (folder / "accelerator.json").write_text(json.dumps(results, indent=1) + "\n")
        (folder / "accelerator.md").write_text(tables(results))
    print(json.dumps(results["preset"]), flush=True)


if __name__ == "__main__":
    main()
