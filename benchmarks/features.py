"""Hidden means as features: digits by logistic regression, `VRBM()` against BernoulliRBM.

    python benchmarks/features.py [--seeds N]

Prints a table: the share of test rows that are told right, by seed. Digits are 0/1 (above half of
the range) and in [0, 1]; the regression has C = 100, and all machines their own defaults but for
what the line says.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM

from vrbm import RBM, VRBM

MACHINES: dict[str, Any] = {
    "VRBM()": lambda seed: VRBM(random_state=seed),
    "RBM(256)": lambda seed: RBM(256, random_state=seed),
    **{
        f"BernoulliRBM({units}, learning_rate=0.06, n_iter=20)": lambda seed, units=units: (
            BernoulliRBM(units, learning_rate=0.06, n_iter=20, random_state=seed)
        )
        for units in (64, 128, 256, 512)
    },
}


def accuracy(machine: Any, seed: int, is_binary: bool) -> tuple[float, int]:
    """The share of test rows told right, and the number of features."""
    X, y = load_digits(return_X_y=True)
    X = (X > 8).astype(float) if is_binary else X / 16
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    features = machine.fit(train).transform(train)
    regression = LogisticRegression(C=100, max_iter=1000).fit(features, y_train)
    return regression.score(machine.transform(test), y_test), features.shape[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    print("| features of | units | digits, 0/1 | digits in [0, 1] |\n| --- | --- | --- | --- |")
    for name, machine in MACHINES.items():
        found = [[accuracy(machine(seed), seed, kind) for seed in seeds] for kind in (True, False)]
        units = ", ".join(str(size) for _, size in found[0])
        cells = [", ".join(f"{share:.3f}" for share, _ in one) for one in found]
        means = [f"{np.mean([share for share, _ in one]):.3f}" for one in found]
        text = [f"{cell} (mean {mean})" for cell, mean in zip(cells, means, strict=True)]
        print(f"| `{name}` | {units} | {' | '.join(text)} |", flush=True)


if __name__ == "__main__":
    main()
