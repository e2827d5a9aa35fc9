"""Peak memory of a process that trains one model: each in a process of its own."""

import subprocess
import sys
from pathlib import Path

N, K, BATCH, STEPS = 784, 500, 100, 20


def measure() -> dict[str, dict[str, float]]:
    """MiB at the end of the imports, and at the peak of the training."""
    return {name: _in_a_process(name) for name in ("vrbm", "scikit-learn", "rbms", "learnergy")}


def _in_a_process(name: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), name], capture_output=True, text=True, check=True
    )
    imported, peak = (float(x) for x in done.stdout.split()[-2:])
    return {"imported": imported, "peak": peak, "training": peak - imported}


def _peak() -> float:
    """MiB; not from getrusage, whose figure a process inherits from the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main(name: str) -> None:
    import peers
    import problems
    import vrbm

    rows = problems.rows_of(N)
    if name == "vrbm":
        model = problems.fresh(N, K, vrbm.Penalizing(), rows)
        imported = _peak()
        call = problems.training(model, rows, problems.phase("PCD-1", BATCH), BATCH, STEPS)
    else:
        makers = {
            "scikit-learn": peers.scikit_learn,
            "rbms": peers.rbms,
            "learnergy": peers.learnergy,
        }
        warm = makers[name](rows[:10], 2, 2, 1)[0]
        warm()
        imported = _peak()
        call = makers[name](rows, K, BATCH, STEPS)[0]
    call()
    call()
    print(imported, _peak())


if __name__ == "__main__":
    main(sys.argv[1])
