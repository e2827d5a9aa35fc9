"""The paper's data set: configurations at many temperatures, shuffled and split, kept on disk."""

import hashlib
import zipfile
import zlib
from pathlib import Path

import numpy as np

from vrbm.data.dataset import Dataset, Domain
from vrbm.data.ising import checks
from vrbm.data.ising.transfer import exact_draws
from vrbm.files import cache_directory
from vrbm.typing import Numbers, Values

#: T = 0.1, 0.2, …, 4.5 of [ssc:Ising].
PAPER_TEMPERATURES: tuple[float, ...] = tuple(k / 10 for k in range(1, 46))


def paper_set(seed: int = 0) -> Dataset:
    """The set of [ssc:Ising]: L = 8, T = 0.1 … 4.5, 60,000 + 10,000 configurations."""
    return mixture_set(seed=seed)


def mixture_set(
    L: int = 8,
    temperatures: Values = PAPER_TEMPERATURES,
    n_train: int = 60_000,
    n_test: int = 10_000,
    *,
    J: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Exact draws in equal parts from each temperature, which is kept as the label.

    The defaults are the paper's set. Made once and then read from the cache directory; a file there
    that is damaged is made anew.
    """
    J = checks.coupling(J)
    T = np.sort(checks.temperatures("temperatures", temperatures, J), axis=None)
    sizes = (checks.count("n_train", n_train), checks.count("n_test", n_test))
    checks.memory_for(sum(sizes), checks.side(L))
    path = _path(L, T, sizes, J, checks.seed(seed))
    stored = _read(path)
    if stored is None:
        stored = _draw(L, T, sizes, J, seed)
        stored.save(path)
    return stored


def _draw(L: int, T: Numbers, sizes: tuple[int, int], J: float, seed: int) -> Dataset:
    total = sum(sizes)
    counts = np.diff(np.arange(T.size + 1) * total // T.size)  # equal, or one more
    shuffle, *seeds = np.random.SeedSequence(seed).spawn(T.size + 1)
    order = np.random.default_rng(shuffle).permutation(total)
    parts = [
        exact_draws(L, float(t), int(n), J=J, seed=s)
        for t, n, s in zip(T, counts, seeds, strict=True)
        if n
    ]
    v, labels = np.concatenate(parts)[order], np.repeat(T, counts)[order]
    train, test = slice(None, sizes[0]), slice(sizes[0], None)
    return Dataset(
        name="ising",
        domain=Domain.SPIN,
        train=v[train],
        test=v[test],
        train_labels=labels[train],
        test_labels=labels[test],
        image_shape=(L, L),
    )


def _path(L: int, T: Numbers, sizes: tuple[int, int], J: float, seed: int) -> Path:
    """The name holds every parameter, the temperatures by their number, range and hash."""
    digest = hashlib.sha256(T.tobytes()).hexdigest()[:12]
    temperatures = f"T{T.size}x{T[0]:g}-{T[-1]:g}-{digest}"
    name = f"ising-L{L}-J{J!r}-{temperatures}-n{sizes[0]}+{sizes[1]}-seed{seed}.npz"
    return cache_directory() / name


def _read(path: Path) -> Dataset | None:
    """The stored set, or None where there is none that is whole."""
    if not zipfile.is_zipfile(path):  # absent, or cut short
        return None
    try:
        return Dataset.load(path)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
