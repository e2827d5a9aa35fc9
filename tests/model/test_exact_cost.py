"""The cost of exact sums over few states of one layer, with many units in the other."""

import time

import numpy as np

import vrbm
from vrbm.model import exact


def test_log_partition_over_few_visible_states_is_linear_in_the_hidden_units():
    """Independent of each other, K units of weight w give log Z in closed form."""
    k, n = 20_000, 4
    model = vrbm.GrandCanonicalRBM(
        np.zeros((k, n)), np.full(k, 0.1), np.zeros(n), potential=vrbm.FixedSize()
    )
    began = time.perf_counter()
    found = float(exact.log_partition(model))
    assert time.perf_counter() - began < 20  # minutes where it is cubic
    expected = n * np.log(2) + k * np.log(2 * np.cosh(0.1))
    assert abs(found / expected - 1) < 1e-5
