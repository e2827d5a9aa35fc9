import tracemalloc

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

from vrbm.data.dataset import Domain
from vrbm.data.stream import Stream


def numbered(count: int, width: int = 12) -> np.ndarray:
    """Rows that spell their own number in bits, so that every order can be read back."""
    return (np.arange(count)[:, None] >> np.arange(width) & 1).astype(np.int8)


def numbers(pieces) -> list[np.ndarray]:
    return [piece.astype(int) @ (1 << np.arange(piece.shape[1])) for piece in pieces]


@pytest.fixture(params=["array", "sparse", "npy", "hdf5", "parquet", "csv"])
def source(request, tmp_path):
    rows = numbered(1003)
    match request.param:
        case "array":
            return rows
        case "sparse":
            return scipy.sparse.csr_array(rows)
        case "npy":
            np.save(tmp_path / "a.npy", rows)
            return tmp_path / "a.npy"
        case "csv":
            np.savetxt(tmp_path / "a.csv", rows, delimiter=",")
            return str(tmp_path / "a.csv")
        case "hdf5":
            with h5py.File(tmp_path / "a.h5", "w") as file:
                file["rows"] = rows
            return tmp_path / "a.h5"
        case "parquet":
            table = pyarrow.table({f"bit {i}": column for i, column in enumerate(rows.T)})
            pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=61)
            return tmp_path / "a.parquet"


def test_every_row_once_and_the_same_again(source):
    stream = Stream(source, chunk_rows=50, window=4, seed=3)
    assert (stream.shape, stream.domain) == ((1003, 12), Domain.BINARY)
    first = numbers(stream.epoch(0))
    np.testing.assert_array_equal(np.sort(np.concatenate(first)), np.arange(1003))
    assert max(len(piece) for piece in first) == 50
    again = numbers(Stream(source, chunk_rows=50, window=4, seed=3).epoch(0))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    reseeded = Stream(source, chunk_rows=50, window=4, seed=4)
    for pieces in (stream.epoch(1), reseeded.epoch(0)):
        other = np.concatenate(numbers(pieces))
        np.testing.assert_array_equal(np.sort(other), np.arange(1003))
        assert (other != np.concatenate(first)).mean() > 0.9


@pytest.mark.parametrize("start", [0, 1, 4, 7, 20, 21, 1000])
def test_resume(source, start):
    stream = Stream(source, chunk_rows=50, window=4)
    whole, rest = numbers(stream.epoch(2)), numbers(stream.epoch(2, start=start))
    assert len(rest) == max(0, len(whole) - start)
    for one, other in zip(whole[start:], rest, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_mix_within_the_window():
    """With the whole table in the window, the order is a uniform permutation.

    The correlation of place and row number has standard deviation 1/√n = 0.016; 5 of them are
    exceeded once in 1.7 million seeds.
    """
    order = np.concatenate(numbers(Stream(numbered(4000), chunk_rows=100, window=40).epoch(0)))
    assert abs(np.corrcoef(order, np.arange(4000))[0, 1]) < 5 / np.sqrt(4000)
    piece = next(iter(numbers(Stream(numbered(4000), chunk_rows=100, window=5).epoch(0))))
    assert len(set(piece // 100)) == 5  # rows of all five chunks of the window


@pytest.mark.parametrize("kind", ["npy", "h5"])
def test_memory_is_bounded_by_the_window(tmp_path, kind):
    count, width, chunk_rows, window = 40_000, 500, 500, 4  # 20 MB; the window has 1 MB
    rows = np.random.default_rng(0).integers(0, 2, (count, width), np.int8)
    path = tmp_path / f"a.{kind}"
    if kind == "npy":
        np.save(path, rows)
    else:
        with h5py.File(path, "w") as file:
            file.create_dataset("rows", data=rows, chunks=(chunk_rows, width))
    total = int(rows.sum())
    del rows
    tracemalloc.start()
    try:
        stream = Stream(path, chunk_rows=chunk_rows, window=window, domain=Domain.BINARY)
        assert sum(int(piece.sum()) for piece in stream.epoch(0)) == total
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * window * chunk_rows * width  # 2.5 MB of the 20 MB


def test_bad_values_are_named_by_their_row_in_the_file():
    rows = numbered(100).astype(float)
    rows[63, 5] = 9
    with pytest.raises(ValueError, match=r"holds 9\.0 in row 63, column 5"):
        Stream(rows)
    lazy = Stream(rows, chunk_rows=10, domain=Domain.BINARY)
    with pytest.raises(ValueError, match=r"holds 9\.0 in row 63, column 5"):
        list(lazy.epoch(0))
    with pytest.raises(ValueError, match=r"outside the domain ±1"):
        list(Stream(numbered(5), domain=Domain.SPIN).epoch(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunk_rows": 0}, "chunk_rows is 0: pass a whole number of at least 1"),
        ({"window": -1}, "window is -1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Stream(numbered(5), **arguments)


def test_epochs_count_from_zero():
    with pytest.raises(ValueError, match="epoch -1 from piece 0"):
        next(Stream(numbered(5)).epoch(-1))


def test_one_row():
    assert [piece.tolist() for piece in Stream([[1, 0]]).epoch(0)] == [[[1, 0]]]
