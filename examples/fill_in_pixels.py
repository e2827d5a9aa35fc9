"""A fifth of the pixels is missing, in training and in test images: fill them in."""

import numpy as np
from digits_data import shifted_digits

from vrbm import VRBM


def main(shifts=True, max_hidden=None, n_iter=10, rows=400):
    """Mean square errors on missing test pixels: by the model, and by column means."""
    X, X_test, _, _ = shifted_digits(shifts)
    X_test = X_test[:rows]
    random = np.random.default_rng(0)
    with_holes, test_with_holes = (
        np.where(random.random(x.shape) < 0.2, np.nan, x) for x in (X, X_test)
    )
    filled = VRBM(max_hidden, n_iter=n_iter, random_state=0).fit(with_holes).impute(test_with_holes)
    holes = np.isnan(test_with_holes)
    means = np.broadcast_to(np.nanmean(with_holes, axis=0), X_test.shape)
    errors = [float(((guess - X_test)[holes] ** 2).mean()) for guess in (filled, means)]
    print(f"mean square error: VRBM {errors[0]:.4f}, column means {errors[1]:.4f}")
    return errors


if __name__ == "__main__":
    main()
