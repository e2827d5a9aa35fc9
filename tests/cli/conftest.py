import numpy as np
import pytest


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """A file of 300 rows of 16 bits."""
    path = tmp_path_factory.mktemp("data") / "rows.npy"
    np.save(path, np.random.default_rng(0).integers(0, 2, (300, 16)))
    return path
