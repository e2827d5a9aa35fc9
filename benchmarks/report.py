"""Tables and the plot of the documentation, from the results alone."""

from pathlib import Path
from typing import Any

OURS = ("RBM", "vRBM")
PEERS = ("scikit-learn", "rbms", "learnergy")
PICTURE = (
    "![Time of a step around a base shape, with fitted curves; of a settled vRBM by K; "
    "likelihood by time](benchmarks/benchmarks.svg)"
)


def write(results: dict[str, Any], folder: Path) -> None:
    """`tables.md` and `benchmarks.svg`."""
    parts = [_steps(results), _settled(results["settled"])]
    if "cost" in results:
        parts += [_memory(results["memory"]), _likelihood(results["likelihood"])]
        parts.append(_cost(results["cost"]))
        _plot(results, folder / "benchmarks.svg")
        parts.append(PICTURE)
    (folder / "tables.md").write_text("\n\n".join(parts) + "\n")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _steps(results: dict[str, Any]) -> str:
    facts = results["machine"]
    rows = []
    for cell in results["cells"]:
        times = {name: t["median"] for name, t in cell["seconds"].items()}
        spread = cell["seconds"]["vRBM"]
        limit = times["products"]

        def against(name: str, times: dict[str, float] = times) -> str:
            if name not in times:
                return "—"
            return " / ".join(f"{times[name] / times[mine]:.1f}" for mine in OURS)

        rows.append(
            [
                f"{cell['N']}×{cell['K']}",
                str(cell["batch"]),
                cell["algorithm"],
                *(against(name) for name in PEERS),
                *(f"{times[name] / limit:.2f}" for name in OURS),
                f"{1e6 * limit / cell['batch']:.2f}",
                "{median:.2f} ({low:.2f}–{high:.2f})".format(
                    **{name: 1e6 * t / cell["batch"] for name, t in spread.items()}
                ),
            ]
        )
    head = ["N×K", "batch", "algorithm", *(f"{name} / RBM, / vRBM" for name in PEERS)]
    head += ["RBM / products", "vRBM / products", "products, µs a sample", "vRBM, µs a sample"]
    note = (
        f"{facts['cores']} cores, {facts['device']}, float32; JAX {facts['jax']}, scikit-learn "
        f"{facts['scikit-learn']}, torch {facts['torch']}; load of the "
        f"machine at the start {facts['load']:.1f}. Medians of interleaved repeats, quartiles in "
        "brackets; a ratio of 2 means twice as long."
    )
    return f"## Time of a training step\n\n{note}\n\n" + table(head, rows)


def _settled(found: dict[str, Any]) -> str:
    times = {name: t["median"] for name, t in found["seconds"].items()}
    held = {(m["K"], m["batch"]): m["bytes"] for m in found["memory"]}
    rows = [
        [
            name,
            f"{1e3 * t:.3f}",
            f"{t / times['ordinary']:.2f}",
            f"{held[int(name), 100] / 2**20:.1f}",
            f"{held[int(name), 1000] / 2**20:.1f}",
        ]
        for name, t in times.items()
        if name.isdigit()
    ]
    note = (
        f"Ising data, N = 64, batch 100, mean-field CD-2, a window of {found['window']} units. An "
        f"ordinary RBM of 128 units takes {1e3 * times['ordinary']:.3f} ms; with all units moved "
        f"in each step K = 2000 takes {1e3 * times['moved']:.3f} ms, and with all units computed "
        f"{1e3 * times['full']:.2f} ms."
    )
    head = ["K", "ms a step", "/ RBM of 128", "MiB at batch 100", "MiB at batch 1000"]
    return f"## A settled vRBM\n\n{note}\n\n" + table(head, rows)


def _memory(found: dict[str, Any]) -> str:
    rows = [
        [name, f"{m['training']:.0f}", f"{m['peak']:.0f}", f"{m['imported']:.0f}"]
        for name, m in found.items()
    ]
    head = ["package", "MiB for the training", "MiB at the peak", "of these after the imports"]
    note = "Resident memory of a process that trains 784×500 with batch 100; compilation included."
    return f"## Memory\n\n{note}\n\n" + table(head, rows)


def _likelihood(found: dict[str, Any]) -> str:
    goal = found["goal"]
    rows = []
    for name, curve in found["curves"].items():
        seconds = found["seconds_to_goal"][name]
        rate = len(curve) / curve[-1][0]
        rows.append(
            [
                name,
                "—" if seconds is None else f"{seconds:.2f}",
                f"{max(value for _, value in curve):.2f}",
                f"{rate:.1f}",
            ]
        )
    head = ["package", "seconds to the goal", "best within the time", "epochs a second"]
    note = (
        f"8×8 digits, 14 hidden units, batch 10, rate 0.05, one Gibbs step; exact likelihood, "
        f"goal {goal:.2f} nats, which all of them reach. Compilation is left out."
    )
    return f"## Likelihood per second\n\n{note}\n\n" + table(head, rows)


def _cost(found: dict[str, Any]) -> str:
    c = found["coefficients"]
    formula = (
        f"t = {1e6 * c['start']:.0f} µs + (2k + 3) BNK · {1e12 * c['product']:.1f} ps + "
        f"(k + 1) BK · {1e9 * c['scan']:.2f} ns + NK · {1e9 * c['weights']:.2f} ns"
    )
    rows = [
        [
            p["axis"],
            str(p[p["axis"]]),
            f"{1e3 * p['median']:.3f}",
            f"{1e3 * p['fitted']:.3f}",
        ]
        for p in found["points"]
    ]
    base = ", ".join(f"{name} = {value}" for name, value in found["base"].items())
    note = (
        f"Mean-field CD-k of a vRBM with all units in use, around {base}; fitted in relative "
        f"terms, {formula}, off by {100 * found['largest_relative_error']:.0f}% at most."
    )
    head = ["axis", "value", "ms a step", "fitted"]
    return f"## Fitted curves\n\n{note}\n\n" + table(head, rows)


def _plot(results: dict[str, Any], path: Path) -> None:
    import matplotlib.pyplot as plt
    import numpy as np

    from vrbm.report.figures import COLOURS

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    left, middle, right = axes
    for axes in (left, middle, right):
        axes.set_prop_cycle(color=[COLOURS[i] for i in (5, 6, 3, 7)])
    for axis in ("N", "K", "batch", "k"):
        points = [p for p in results["cost"]["points"] if p["axis"] == axis]
        base = results["cost"]["base"][axis]
        x = [p[axis] / base for p in points]
        line = left.plot(x, [1e3 * p["fitted"] for p in points], label=axis)[0]
        left.plot(x, [1e3 * p["median"] for p in points], "o", color=line.get_color())
    left.set(xscale="log", yscale="log", xlabel="value / base", ylabel="ms a step")
    left.legend(frameon=False)
    found = results["settled"]["seconds"]
    sizes = [int(name) for name in found if name.isdigit()]
    middle.plot(sizes, [1e3 * found[str(s)]["median"] for s in sizes], "o-", label="settled vRBM")
    middle.axhline(1e3 * found["ordinary"]["median"], color="gray", ls=":", label="RBM of 128")
    middle.set(xscale="log", xlabel="K", ylabel="ms a step", ylim=(0, None))
    middle.set_xticks(sizes, [f"{size:,}" for size in sizes])
    middle.minorticks_off()
    middle.legend(frameon=False)
    for name, curve in results["likelihood"]["curves"].items():
        seconds, values = np.transpose(curve)
        right.plot(seconds, np.maximum.accumulate(values), label=name)
    right.set(xscale="log", xlabel="seconds of training", ylabel="best log-likelihood so far, nats")
    right.legend(frameon=False)
    figure.savefig(path)
    plt.close(figure)
