"""How many hidden units each digit takes: the average of p(z|v) over its images."""

import matplotlib.pyplot as plt
from digits_data import shifted_digits

from vrbm import VRBM


def main(shifts=True, max_hidden=None, n_iter=10, picture="size_by_digit.png"):
    """Print ⟨z⟩ and draw p(z) for each digit; the mean sizes by digit."""
    X, X_test, _, labels = shifted_digits(shifts)
    machine = VRBM(max_hidden, n_iter=n_iter, random_state=0).fit(X)
    sizes = machine.size_probabilities(X_test)
    figure, axis = plt.subplots(figsize=(6, 3))
    means = {}
    for digit in range(10):
        profile = sizes[labels == digit].mean(axis=0)
        means[digit] = float((profile * range(1, len(profile) + 1)).sum())
        axis.plot(range(1, len(profile) + 1), profile, label=str(digit))
        print(f"digit {digit}: {means[digit]:.1f} units on average")
    axis.set_xlabel("z")
    axis.set_ylabel("p(z|v), average")
    axis.legend(ncol=2)
    figure.savefig(picture)
    plt.close(figure)
    return means


if __name__ == "__main__":
    main()
