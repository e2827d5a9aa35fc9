"""Whether the figures of `results.json` are what this package promises; exit status 1 if not."""

import json
import sys
from pathlib import Path
from typing import Any


def promises(results: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """Pairs of a figure and its limit, each with a sentence and a direction."""
    cells = {(c["N"], c["K"], c["batch"], c["algorithm"]): c["seconds"] for c in results["cells"]}

    def ratio(key: tuple[int, int, int, str], one: str, other: str) -> float:
        return cells[key][one]["median"] / cells[key][other]["median"]

    sklearn = "scikit-learn"
    found = [
        (
            "RBM over BernoulliRBM, 784×500, batch 100",
            ratio((784, 500, 100, "PCD-1"), sklearn, "RBM"),
            "≥",
            1.6,
        ),
        (
            "RBM over BernoulliRBM, 784×500, batch 10",
            ratio((784, 500, 10, "PCD-1"), sklearn, "RBM"),
            "≥",
            3.0,
        ),
        (
            "vRBM over BernoulliRBM, 784×500, batch 100",
            ratio((784, 500, 100, "PCD-1"), sklearn, "vRBM"),
            "≥",
            1.2,
        ),
        (
            "vRBM over its products, 784×512",
            ratio((784, 512, 100, "mean-field CD-2"), "vRBM", "products"),
            "≤",
            1.4,
        ),
        (
            "vRBM over its products, 64×128",
            ratio((64, 128, 100, "mean-field CD-2"), "vRBM", "products"),
            "≤",
            2.2,
        ),
    ]
    times = {name: t["median"] for name, t in results["settled"]["seconds"].items()}
    by_size = {int(name): t for name, t in times.items() if name.isdigit()}
    held = {(m["K"], m["batch"]): m["bytes"] for m in results["settled"]["memory"]}
    largest, smallest = max(by_size), min(by_size)
    weights = 4 * 64 * (largest - smallest)
    grown = {batch: held[largest, batch] - held[smallest, batch] for batch in (100, 1000)}
    found += [
        ("settled vRBM, K = 2000, over an RBM of 128", by_size[2000] / times["ordinary"], "≤", 2.5),
        ("all 2000 units over the settled step", times["full"] / by_size[2000], "≥", 10.0),
        ("settled step, K = 8000 over K = 500", by_size[largest] / by_size[smallest], "≤", 1.2),
        ("arrays of K N numbers held", grown[100] / weights, "≤", 16.0),
        ("the same at batch 1000 over batch 100", grown[1000] / grown[100], "≤", 1.1),
    ]
    return found


def main() -> int:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/benchmarks/results.json")
    failed = 0
    for sentence, value, direction, limit in promises(json.loads(path.read_text())):
        holds = value >= limit if direction == "≥" else value <= limit
        failed += not holds
        print(f"{'holds ' if holds else 'FAILS '} {sentence}: {value:.2f} ({direction} {limit:g})")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
