"""A model made by hand on embedded data: one hidden unit for each handwritten digit."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vrbm.data.digits import digits
from vrbm.model import GrandCanonicalRBM


@dataclass(frozen=True)
class Demo:
    """A model and the average of p(z|v) and P(z ≥ a|v) over the images of each digit, (10, K)."""

    model: GrandCanonicalRBM
    labels: np.ndarray
    probabilities: np.ndarray
    survival: np.ndarray

    def rows(self) -> Iterator[tuple[int, int, float, int]]:
        """Digit, number of images, ⟨z⟩ and most probable z."""
        for digit in range(10):
            images = int((self.labels == digit).sum())
            mean = float(self.survival[digit].sum())
            yield digit, images, mean, int(self.probabilities[digit].argmax()) + 1


def template_model(field: float = 4.0, max_hidden: int = 16) -> Demo:
    """Hidden unit d + 1 is the template of digit d; the units after the tenth are idle.

    A template is the mean image of its digit less the mean of all images, scaled so that its own
    digit gives the hidden unit a mean field of `field`.
    """
    data = digits()
    v, labels = data.train, data.train_labels
    assert labels is not None
    mean = v.mean(axis=0)
    W = np.zeros((max_hidden, v.shape[1]))
    b = np.zeros(max_hidden)
    for digit in range(10):
        template = v[labels == digit].mean(axis=0) - mean
        W[digit] = template * field / (template @ template)
        b[digit] = -W[digit] @ mean
    model = GrandCanonicalRBM(W, b, np.zeros(v.shape[1]))
    probabilities = np.asarray(model.size_probabilities(v))
    survival = np.asarray(model.size_survival(v))

    def by_digit(values: np.ndarray) -> np.ndarray:
        return np.stack([values[labels == digit].mean(axis=0) for digit in range(10)])

    return Demo(model, labels, by_digit(probabilities), by_digit(survival))
