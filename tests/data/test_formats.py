import gzip
import subprocess
import sys
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

from vrbm.data.arrays import from_array, load
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.domains import find_domain

BITS = np.random.default_rng(0).integers(0, 2, (30, 5))
SPINS = 2 * BITS - 1
GREY = np.random.default_rng(1).random((30, 5))


def write(path: Path, values: np.ndarray) -> Path:
    names = [f"pixel {i}" for i in range(values.shape[1])]
    match "".join(path.suffixes):
        case ".npy":
            np.save(path, values)
        case ".npz":
            np.savez(path, values=values)
        case ".csv":
            np.savetxt(path, values, delimiter=",", header=",".join(names), comments="")
        case ".csv.gz":
            path.write_bytes(
                gzip.compress("\n".join(";".join(map(str, r)) for r in values).encode())
            )
        case ".txt":
            np.savetxt(path, values)
        case ".parquet":
            table = pyarrow.table(dict(zip(names, values.T, strict=True)))
            pyarrow.parquet.write_table(table, path, row_group_size=7)
        case ".h5":
            with h5py.File(path, "w") as file:
                file["group/values"] = values
    return path


SUFFIXES = [".npy", ".npz", ".csv", ".csv.gz", ".txt", ".parquet", ".h5"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("values", [SPINS, BITS, GREY, BITS[:1], BITS[:, :1], np.ones((1, 1))])
def test_every_format_gives_the_same_rows(tmp_path, suffix, values):
    data = load(write(tmp_path / f"mine{suffix}", values))
    np.testing.assert_array_equal(data.train, values.astype(data.train.dtype))
    assert data.domain is find_domain(values)
    assert data.name == "mine"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bad_values_in_files_are_named(tmp_path, suffix):
    spoiled = BITS.astype(float)
    spoiled[17, 3] = np.nan
    path = write(tmp_path / f"mine{suffix}", spoiled)
    with pytest.raises(ValueError, match=r"holds nan in row 17, column 3") as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert ("'pixel 3'" in str(caught.value)) == (suffix in (".csv", ".parquet"))


def test_memory_map(tmp_path):
    path = write(tmp_path / "mine.npy", BITS)
    data = load(path, memory_map=True)
    assert isinstance(data.train, np.memmap)
    assert data.train.dtype == BITS.dtype
    assert data.content_hash == load(path).content_hash
    assert data.domain is Domain.BINARY
    with pytest.raises(ValueError, match=r"is no npy file: convert it"):
        load(write(tmp_path / "mine.csv", BITS), memory_map=True)


def test_sparse_file_and_data_set_file(tmp_path):
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_array(BITS))
    np.testing.assert_array_equal(load(tmp_path / "sparse.npz").train, BITS)
    labels = np.arange(30)
    data = from_array(
        BITS.reshape(15, 2, 5), test=BITS[:, :].reshape(15, 2, 5), train_labels=labels[:15]
    )
    data.save(tmp_path / "set.npz")
    again = load(str(tmp_path / "set.npz"))
    assert (
        again.content_hash == data.content_hash == Dataset.load(tmp_path / "set.npz").content_hash
    )
    assert again.image_shape == (2, 5)


def test_named_splits_keys_and_labels(tmp_path):
    path = tmp_path / "splits.npz"
    np.savez(path, x_train=BITS, x_valid=BITS[:4], x_test=BITS[:3], y_test=[1, 2, 3])
    data = load(path)
    assert [len(rows) for _, rows, _ in data.splits()] == [30, 4, 3]
    np.testing.assert_array_equal(data.test_labels, [1, 2, 3])
    assert len(load(path, key="x_test", labels="y_test").train) == 3
    with pytest.raises(ValueError, match=r"key is 'z', but .* holds: x_train \(30, 5\), x_valid"):
        load(path, key="z")
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["b/c"], file["y"] = BITS, SPINS, np.arange(30)
    with pytest.raises(
        ValueError, match=r"holds 2 tables; .* a \(30, 5\), b/c \(30, 5\), y \(30,\)"
    ):
        load(tmp_path / "two.h5")
    data = load(tmp_path / "two.h5", key="b/c", labels="y")
    np.testing.assert_array_equal(data.train, SPINS)
    np.testing.assert_array_equal(data.train_labels, np.arange(30))


def test_label_columns(tmp_path):
    (tmp_path / "a.csv").write_text("x,kind,y\n1,cat,0\n\n0,dog,1\n")
    data = load(tmp_path / "a.csv", labels="kind")
    np.testing.assert_array_equal(data.train, [[1, 0], [0, 1]])
    assert data.train_labels.tolist() == ["cat", "dog"]
    (tmp_path / "b.csv").write_text("x,kind\n1,cat\n0,dog,1\n")
    with pytest.raises(ValueError, match=r"has 3 fields in row 1 \(line 3\): expected 2"):
        load(tmp_path / "b.csv", labels="kind")
    table = pyarrow.table({"x": [1, 0], "kind": ["cat", "dog"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["rows"], file["kind"] = [[1], [0]], ["cat", "dog"]
    for name in ("a.parquet", "a.h5"):
        load(tmp_path / name, labels="kind").save(tmp_path / "a.npz")
        assert load(tmp_path / "a.npz").train_labels.tolist() == ["cat", "dog"]
    with pytest.raises(ValueError, match=r"holds string in column 1 \('kind'\): expected numbers"):
        load(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(ValueError, match=r"labels is 'size', but the columns of .* are: x, "):
            load(tmp_path / name, labels="size")


def test_parquet_missing_values(tmp_path):
    table = pyarrow.table({"x": [1, 0, None], "y": [True, None, False]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"holds nan in row 1, column 1 \('y'\)"):
        load(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "holds no rows of numbers"),
        ("a,b\n1,0\n1,x\n", r"holds 'x' in row 1, column 1 \('b'\) \(line 3\)"),
        ("1,,0\n1,1,1\n", r"holds '' in row 0, column 1 \(line 1\)"),
        ("1,NA\n1,1\n", r"holds 'NA' in row 0, column 1 \(line 1\)"),
        ("1_0,1\n1,1\n", r"could not be read as numbers: .*1_0"),
        ("1,0\n1,\n", r"holds '' in row 1, column 1 \(line 2\)"),
        ("0,1,1\n1,0\n", r"has 2 fields in row 1"),
        ("1,0\n1,0,1\n", r"has 3 fields in row 1 \(line 2\): expected 2"),
        ("1,0\n1\n", r"has 1 fields in row 1 \(line 2\): expected 2"),
        ("1,0\n\n1,255\n", r"holds 255\.0 in row 1, column 1"),
    ],
)
def test_bad_text_files(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "a.csv")


def test_blank_lines_and_windows_line_ends(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\r\n"a, b",c\r\n1,0\r\n   \r\n0,1\r\n\r\n')
    np.testing.assert_array_equal(load(tmp_path / "a.csv").train, [[1, 0], [0, 1]])


def test_text_with_numbered_header_and_byte_order_mark(tmp_path):
    (tmp_path / "a.csv").write_text("0,1,2\n1,0,1\n", encoding="utf-8-sig")
    np.testing.assert_array_equal(load(tmp_path / "a.csv").train, [[1, 0, 1]])


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".h5"])
@pytest.mark.parametrize("content", [b"", b"not this format at all", None])
def test_empty_wrong_and_truncated_files(tmp_path, suffix, content):
    path = write(tmp_path / f"a{suffix}", BITS)
    path.write_bytes(path.read_bytes()[:-150] if content is None else content)
    with pytest.raises(ValueError, match=r"is no whole (npy|npz|parquet|HDF5) file") as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_damaged_npz(tmp_path):
    path = write(tmp_path / "a.npz", BITS)
    content = bytearray(path.read_bytes())
    content[400] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match="no whole npz file"):
        load(path)
    with pytest.raises(ValueError, match="no whole npz file"):
        Dataset.load(path)


def test_wrong_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.npy does not exist"):
        load(tmp_path / "a.npy")
    with pytest.raises(IsADirectoryError, match=r"is a folder: pass one file \(\.npy, \.npz"):
        load(tmp_path)
    (tmp_path / "a.npy.gz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"suffix '\.npy\.gz': expected one of"):
        load(tmp_path / "a.npy.gz")
    (tmp_path / "a.npy").write_text("text")
    with pytest.raises(ValueError, match=r"begins with 74 65 78 74, .*: write it by numpy\.save"):
        load(tmp_path / "a.npy")
    (tmp_path / "a.xyz").write_text("1")
    with pytest.raises(ValueError, match=r"suffix '\.xyz': expected one of \.npy"):
        load(tmp_path / "a.xyz")
    with pytest.raises(ValueError, match="has no named arrays"):
        load(write(tmp_path / "b.npy", BITS), key="b")
    with pytest.raises(ValueError, match="holds one array"):
        load(tmp_path / "b.npy", labels="b")
    np.save(tmp_path / "objects.npy", np.array([[1, "a"]], object))
    with pytest.raises(ValueError, match="no whole npy file of numbers"):
        load(tmp_path / "objects.npy")


@pytest.mark.parametrize(("suffix", "package"), [(".h5", "h5py"), (".parquet", "pyarrow")])
def test_missing_package_says_how_to_get_it(tmp_path, monkeypatch, suffix, package):
    path = write(tmp_path / f"a{suffix}", BITS)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=rf'needs {package}.*pip install "vrbm\[io\]"'):
        load(path)


def test_full_disk_leaves_no_partial_file(tmp_path):
    """A limit on the size of files stands for the full disk."""
    code = textwrap.dedent(f"""
        import resource
        from pathlib import Path
        import numpy as np
        from vrbm.data.arrays import from_array
        data = from_array(np.random.default_rng(0).random((100, 100)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            data.save(Path({str(tmp_path / "full.npz")!r}))
        except OSError as error:
            print(error)
    """)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.endswith("could not be written: File too large.\n"), result.stderr
    assert list(tmp_path.iterdir()) == []


def test_damaged_text(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,0\n" * 1000)[:-20])
    with pytest.raises(ValueError, match="truncated, damaged or no text"):
        load(tmp_path / "a.csv.gz")
    (tmp_path / "b.csv.gz").write_bytes(b"1,0")
    with pytest.raises(ValueError, match="truncated, damaged or no text"):
        load(tmp_path / "b.csv.gz")
    (tmp_path / "c.csv").write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="truncated, damaged or no text"):
        load(tmp_path / "c.csv")
