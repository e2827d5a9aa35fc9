"""All measurements in one run: times, memory and likelihood, against peers and the limit.

Writes `results.json` beside the tables and the plot of the documentation.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import cost
import likelihood
import memory
import settled
import vrbm
from peers import available
from problems import flops, fresh, phase, products, rows_of, training
from report import write
from timing import interleaved, machine

SHAPES = ((784, 500), (64, 128), (196, 900), (64, 2000))
LIMITS = ((784, 512), (64, 128))
BATCHES = (10, 100, 1000)
ALGORITHMS = ("CD-1", "PCD-1", "mean-field CD-2")
DOCS = Path(__file__).parent.parent / "docs"


def cell(shape: tuple[int, int], batch: int, algorithm: str, repeats: int) -> dict[str, Any]:
    """One shape, batch and algorithm: all candidates, in turns."""
    n_visible, n_hidden = shape
    k = int(algorithm.rsplit("-", 1)[1])
    steps = int(min(200, max(5, 4e9 / flops(n_visible, n_hidden, batch, k))))
    rows = rows_of(n_visible)
    calls = {"products": products(n_visible, n_hidden, batch, k, steps)}
    for name, potential in (("RBM", vrbm.FixedSize()), ("vRBM", vrbm.Penalizing())):
        model = fresh(n_visible, n_hidden, potential, rows)
        calls[name] = training(model, rows, phase(algorithm, batch), batch, steps)
    calls |= available(algorithm, rows, n_hidden, batch, steps)
    times = interleaved(calls, steps, repeats)
    facts = {"N": n_visible, "K": n_hidden, "batch": batch, "algorithm": algorithm}
    return facts | {"seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DOCS / "benchmarks")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="the cells of the acceptance alone")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(), "cells": []}
    wanted = [(s, b, a) for s in SHAPES for b in BATCHES for a in ALGORITHMS]
    if options.quick:
        wanted = [((784, 500), b, "PCD-1") for b in (10, 100)]
    wanted += [
        (shape, 100, "mean-field CD-2")
        for shape in LIMITS
        if (shape, 100, "mean-field CD-2") not in wanted
    ]
    for shape, batch, algorithm in wanted:
        found = cell(shape, batch, algorithm, options.repeats)
        results["cells"].append(found)
        line = {name: round(1e6 * t["median"] / batch, 2) for name, t in found["seconds"].items()}
        print(f"{shape} batch {batch} {algorithm}: µs per sample {line}", flush=True)
    results["settled"] = settled.measure(options.repeats)
    if not options.quick:
        results["memory"] = memory.measure()
        results["likelihood"] = likelihood.measure()
        results["cost"] = cost.measure(max(3, options.repeats // 2))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    write(results, options.out)


if __name__ == "__main__":
    main()
