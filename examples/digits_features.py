"""Digits → VRBM → logistic regression, against BernoulliRBM at several sizes.

Prints a table of accuracies and seconds, and draws the weights of the first units.
"""

import time

import matplotlib.pyplot as plt
from digits_data import shifted_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline

from vrbm import VRBM


def measured(machine, data):
    """Accuracy on test rows and seconds, of features and classifier together."""
    X, X_test, y, y_test = data
    began = time.perf_counter()
    classifier = LogisticRegression(C=100, solver="newton-cg")
    accuracy = make_pipeline(machine, classifier).fit(X, y).score(X_test, y_test)
    return accuracy, time.perf_counter() - began


def main(
    shifts=True, max_hidden=None, sizes=(25, 50, 100, 200), n_iter=50, picture="digits_features.png"
):
    """Measure, print and draw; the results by name."""
    data = shifted_digits(shifts)
    machines = {
        f"BernoulliRBM({size})": BernoulliRBM(
            size, learning_rate=0.06, n_iter=n_iter, random_state=0
        )
        for size in sizes
    }
    machines["VRBM()"] = own = VRBM(max_hidden, n_iter=n_iter, random_state=0)
    results = {name: measured(machine, data) for name, machine in machines.items()}
    for name, (accuracy, seconds) in results.items():
        print(f"{name:18} accuracy {accuracy:.4f}  {seconds:6.1f} s")
    print(f"VRBM found {own.n_hidden_} units, {own.mean_size_:.0f} on average")
    figure, axes = plt.subplots(5, 10, figsize=(8, 4))
    for axis, weights in zip(axes.flat, own.components_, strict=False):
        axis.imshow(weights.reshape(8, 8), cmap="gray")
    for axis in axes.flat:
        axis.set_axis_off()
    figure.savefig(picture)
    plt.close(figure)
    return results


if __name__ == "__main__":
    main()
