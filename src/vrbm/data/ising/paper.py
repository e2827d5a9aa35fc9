"""The paper's data set: configurations at many temperatures, shuffled and split, kept on disk."""

import hashlib
from pathlib import Path

import numpy as np

from vrbm.data.dataset import Dataset, Domain
from vrbm.data.ising import checks
from vrbm.data.ising.transfer import exact_draws
from vrbm.files import cache_directory
from vrbm.typing import Numbers, Values

#: T = 0.1, 0.2, …, 4.5 of [ssc:Ising].
PAPER_TEMPERATURES: tuple[float, ...] = tuple(k / 10 for k in range(1, 46))

NAME = "ising"


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
    that is damaged, or is not what was asked for, is made anew.
    """
    J = checks.coupling(J)
    T = np.sort(checks.temperatures("temperatures", temperatures, J), axis=None)
    sizes = (checks.count("n_train", n_train), checks.count("n_test", n_test))
    checks.memory_for(sum(sizes), checks.side(L))
    path = _path(L, T, sizes, J, checks.seed(seed))
    stored = _read(path, L, T, sizes, seed)
    if stored is None:
        stored = _draw(L, T, sizes, J, seed)
        stored.save(path)
    return stored


def _draw(L: int, T: Numbers, sizes: tuple[int, int], J: float, seed: int) -> Dataset:
    counts, order, seeds = _plan(T, sizes, seed)
    parts = [
        exact_draws(L, float(t), int(n), J=J, seed=s)
        for t, n, s in zip(T, counts, seeds, strict=True)
        if n
    ]
    v, labels = np.concatenate(parts)[order], np.repeat(T, counts)[order]
    train, test = slice(None, sizes[0]), slice(sizes[0], None)
    return Dataset(
        name=NAME,
        domain=Domain.SPIN,
        train=v[train],
        test=v[test],
        train_labels=labels[train],
        test_labels=labels[test],
        image_shape=(L, L),
    )


def _plan(
    T: Numbers, sizes: tuple[int, int], seed: int
) -> tuple[np.ndarray, np.ndarray, list[np.random.SeedSequence]]:
    """How many configurations each temperature has, the order of all, and the seeds of draws."""
    total = sum(sizes)
    counts = np.diff(np.arange(T.size + 1) * total // T.size)  # equal, or one more
    shuffle, *seeds = np.random.SeedSequence(seed).spawn(T.size + 1)
    return counts, np.random.default_rng(shuffle).permutation(total), seeds


def _path(L: int, T: Numbers, sizes: tuple[int, int], J: float, seed: int) -> Path:
    """The name holds every parameter, the temperatures by their number, range and hash."""
    digest = hashlib.sha256(T.tobytes()).hexdigest()[:12]
    temperatures = f"T{T.size}x{T[0]:g}-{T[-1]:g}-{digest}"
    name = f"ising-L{L}-J{J!r}-{temperatures}-n{sizes[0]}+{sizes[1]}-seed{seed}.npz"
    return cache_directory() / name


def _read(path: Path, L: int, T: Numbers, sizes: tuple[int, int], seed: int) -> Dataset | None:
    """The stored set, or None where there is none that is whole and is what was asked for."""
    try:
        stored = Dataset.load(path, require_hash=True)
    except (ValueError, OSError):
        return None
    counts, order, _ = _plan(T, sizes, seed)
    expected = np.split(np.repeat(T, counts)[order], [sizes[0]])
    is_asked_for = (
        (stored.name, stored.domain, stored.image_shape) == (NAME, Domain.SPIN, (L, L))
        and [split for split, _, _ in stored.splits()] == ["train", "test"]
        and all(
            (np.abs(rows) == 1).all() and labels is not None and np.array_equal(labels, wanted)
            for (_, rows, labels), wanted in zip(stored.splits(), expected, strict=True)
        )
    )
    return stored if is_asked_for else None
