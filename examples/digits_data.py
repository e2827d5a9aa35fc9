"""The digits of scikit-learn's RBM example: each image and its shifts by one pixel, 0/1."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def shifted_digits(shifts=True):
    """Training and test rows (n, 64) of 0/1, and their labels; 80% and 20%."""
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) >= 8).astype(np.float32)
    moves = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)] if shifts else [(0, 0)]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows = [padded[:, 1 + i : 9 + i, 1 + j : 9 + j].reshape(-1, 64) for i, j in moves]
    return train_test_split(
        np.concatenate(rows), np.tile(labels, len(moves)), test_size=0.2, random_state=0
    )
