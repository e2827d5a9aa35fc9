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
from peers import available
from problems import ALGORITHMS, BATCHES, SHAPES, ours, rows_of, steps_at
from report import write
from timing import interleaved, machine

LIMITS = ((784, 512), (64, 128))
DOCS = Path(__file__).parent.parent / "docs"


def cell(shape: tuple[int, int], batch: int, algorithm: str, repeats: int) -> dict[str, Any]:
    """One shape, batch and algorithm: all candidates, in turns."""
    n_visible, n_hidden = shape
    steps = steps_at(n_visible, n_hidden, batch, algorithm, 4e9)
    calls = ours(shape, batch, algorithm, steps)
    calls |= available(algorithm, rows_of(n_visible), n_hidden, batch, steps)
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
