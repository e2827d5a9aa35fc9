import json
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vrbm.data import ising
from vrbm.data.dataset import Dataset, Domain
from vrbm.reading import read_npz


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VRBM_CACHE", str(tmp_path))
    return tmp_path


def test_a_cached_set_without_a_hash_is_made_anew(cache):
    made = ising.mixture_set(3, [1.0], 20, 10)
    (path,) = cache.glob("*.npz")
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(str(arrays["facts"]))
    del facts["hash"]
    np.savez(path, **arrays | {"facts": json.dumps(facts), "train": np.ones_like(arrays["train"])})
    assert_array_equal(ising.mixture_set(3, [1.0], 20, 10).train, made.train)


def test_paper_set(cache):
    start = time.perf_counter()
    data = ising.paper_set()
    assert time.perf_counter() - start < 10
    assert data.name == "ising"
    assert data.domain is Domain.SPIN
    assert data.image_shape == (8, 8)
    assert data.train.shape == (60_000, 64)
    assert data.test.shape == (10_000, 64)
    assert data.train.dtype == data.test.dtype == np.int8
    labels = np.concatenate([data.train_labels, data.test_labels])
    temperatures, counts = np.unique(labels, return_counts=True)
    np.testing.assert_array_equal(temperatures, ising.PAPER_TEMPERATURES)
    assert set(counts) == {1555, 1556}

    # Shuffled: labels have no trend, within 4 standard errors (false failures: 6e-5).
    trend = np.corrcoef(labels, np.arange(labels.size))[0, 1]
    assert abs(trend) < 4 / labels.size**0.5
    # Each configuration belongs to its label, within 4 standard errors at every temperature
    # (false failures: 0.3 %, with a fixed seed). Cold lattices do not vary.
    E = ising.energy(np.concatenate([data.train, data.test]))
    for T in temperatures:
        exact, found = ising.thermodynamics(8, T), E[labels == T]
        error = (exact.heat_capacity * T**2 / found.size) ** 0.5
        assert abs(found.mean() - exact.energy) <= 4 * error + 1e-9, T
    # And so does their log-likelihood (false failures: 6e-5).
    log_p = ising.mixture_log_probability(data.test, ising.PAPER_TEMPERATURES)
    best = ising.highest_log_likelihood(8, ising.PAPER_TEMPERATURES)
    assert abs(log_p.mean() - best) < 4 * log_p.std() / 100

    start = time.perf_counter()
    again = ising.paper_set()
    assert time.perf_counter() - start < 1
    assert again.content_hash == data.content_hash
    assert len(list(cache.iterdir())) == 1


def small(**changes) -> Dataset:
    arguments = {"L": 4, "temperatures": [1.0, 2.0, 3.0], "n_train": 20, "n_test": 5} | changes
    return ising.mixture_set(**arguments)


def test_every_parameter_makes_a_set_of_its_own(cache):
    changes = [
        {},
        {"L": 5},
        {"temperatures": [1.0, 2.1, 3.0]},
        {"n_train": 21},
        {"n_test": 6},
        {"J": -1.0},
        {"seed": 1},
    ]
    hashes = {small(**change).content_hash for change in changes}
    assert len(hashes) == len(list(cache.iterdir())) == len(changes)
    assert hashes == {small(**change).content_hash for change in changes}


def test_the_cache_is_used(cache):
    small()
    (path,) = cache.iterdir()
    written = path.stat().st_mtime_ns
    small(temperatures=np.array([3.0, 1.0, 2.0]))
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "other"])
def test_a_damaged_file_is_made_anew(cache, damage):
    data = small()
    (path,) = cache.iterdir()
    content = path.read_bytes()
    if damage == "other":
        with path.open("wb") as file:
            np.savez(file, something=np.ones(3))
    else:
        middle = len(content) // 2
        flipped = content[:60] + bytes([content[60] ^ 255]) + content[61:]
        path.write_bytes({"cut": content[:middle], "empty": b"", "changed": flipped}[damage])
    assert small().content_hash == data.content_hash
    assert Dataset.load(path).content_hash == data.content_hash


@pytest.mark.parametrize("foreign", ["lattice", "rows", "seed", "temperatures", "values", "edited"])
def test_another_set_in_its_place_is_made_anew(cache, foreign):
    """A file is believed by what it holds, not by its name."""
    data = small()
    (path,) = cache.iterdir()
    if foreign in ("values", "edited"):
        stored = read_npz(path)
        stored["train"][3] *= 3 if foreign == "values" else -1
        np.savez(path, **stored)
    else:
        change = {
            "lattice": {"L": 3},
            "rows": {"n_train": 19},
            "seed": {"seed": 1},
            "temperatures": {"temperatures": [1.0, 2.0, 3.1]},
        }[foreign]
        small(**change).save(path)
    assert small().content_hash == data.content_hash
    assert Dataset.load(path).content_hash == data.content_hash


def test_few_draws_from_many_temperatures():
    data = ising.mixture_set(2, np.linspace(1, 2, 30), 10, 2)
    labels = np.concatenate([data.train_labels, data.test_labels])
    assert len(np.unique(labels)) == 12
