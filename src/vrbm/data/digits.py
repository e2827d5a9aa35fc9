"""Real handwriting without a download: the 8×8 digits that come with scikit-learn."""

import numpy as np

from vrbm.data import images as steps
from vrbm.data.dataset import Dataset, Domain


def digits(domain: Domain = Domain.SPIN) -> Dataset:
    """1,797 digits of 8×8 pixels, 1,438 for training and 359 for test, with labels.

    Grey values 0 … 16 become ±1 or 0/1 by rounding value/16, or value/16 itself for [0, 1]. Of the
    images of each digit, in the order of the collection, the third of every five is for test.
    """
    from sklearn.datasets import load_digits

    stored = load_digits()
    pixels, labels = stored.images, stored.target.astype(np.int64)
    if domain is Domain.UNIT:
        rows = steps.flatten(pixels).astype(np.float32) / np.float32(16)
    else:
        rows = steps.flatten(steps.binarize(pixels, full=16.0, domain=domain))
    is_test = np.zeros(len(labels), bool)
    for digit in range(10):
        is_test[np.flatnonzero(labels == digit)[2::5]] = True
    return Dataset(
        name="digits",
        domain=domain,
        train=rows[~is_test],
        test=rows[is_test],
        train_labels=labels[~is_test],
        test_labels=labels[is_test],
        image_shape=(8, 8),
    )
