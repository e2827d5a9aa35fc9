import numpy as np
import pytest


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """A file of 300 rows of 16 bits: four factors, each behind four noisy columns."""
    path = tmp_path_factory.mktemp("data") / "rows.npy"
    random = np.random.default_rng(0)
    factors = np.repeat(random.integers(0, 2, (300, 4)), 4, axis=1)
    np.save(path, factors ^ (random.random(factors.shape) < 0.1))
    return path
