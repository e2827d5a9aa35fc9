"""Files that lie, expand, never end or are damaged: one sentence each, before memory is claimed."""

import gzip
import io
import os
import subprocess
import sys
import textwrap
import time
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from vrbm import memory
from vrbm.data.arrays import from_array, load
from vrbm.data.dataset import Dataset
from vrbm.data.idx import read_idx
from vrbm.data.stream import Stream
from vrbm.reading import read_npz

BITS = np.random.default_rng(0).integers(0, 2, (12, 6))


def npy_head(shape: str, descr: str = "'<f8'", version: int = 1) -> bytes:
    """The beginning of an npy file with any shape and type."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture
def little_memory(monkeypatch):
    """20 MB at hand."""
    monkeypatch.setattr(memory, "available", lambda: 20_000_000)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (npy_head("(1000000000000, 5)"), r"promises shape \(1000000000000, 5\) of float64"),
        (npy_head("(-3, 5)"), "its header is"),
        (npy_head("(3, 5"), "its header is"),
        (npy_head("(" * 3000), "its header is"),
        (npy_head("()"), r"shape \(\): pass at least one row"),
        (npy_head("(0, 5)"), r"shape \(0, 5\): pass at least one row"),
        (npy_head("(3, 5)", "'|O'"), r"values of type '\|O'"),
        (npy_head("(3, 5)", "[('a', '<f8')]"), "its header is"),
        (npy_head("(3, 5)", "'(9,9)f8'"), "values of type"),
        (npy_head("(3, 5)", "'<f8\\x1b'"), "values of type"),
        (npy_head("(3, 5)", version=2), "is no whole npy file"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header of 4294967295 bytes is .* too long"),
        (b"\x93NUMPY\x01", "its header is"),
    ],
)
def test_npy_headers_are_not_believed(tmp_path, head, message):
    path = tmp_path / "a.npy"
    path.write_bytes(head + bytes(64))
    for memory_map in (False, True):
        with pytest.raises(ValueError, match=message):
            load(path, memory_map=memory_map)
    with pytest.raises(ValueError, match=r"no whole npz file|shape|values of type"):
        load(zipped(tmp_path / "a.npz", values=head + bytes(64)))


def test_spaces_in_a_header_take_no_time(tmp_path):
    """A pattern that can split them in many ways would try all of them."""
    spaces = 3000 * " "
    text = f"{{'descr': '<f8'{spaces}'fortran_order': False{spaces}'shape': (3,){spaces}x"
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    (tmp_path / "a.npy").write_bytes(head + bytes(24))
    began = time.perf_counter()
    with pytest.raises(ValueError, match="its header is"):
        load(tmp_path / "a.npy")
    assert time.perf_counter() - began < 2


def test_a_parquet_label_that_is_repeated_does_not_fill_the_memory(tmp_path, little_memory):
    labels = pyarrow.DictionaryArray.from_arrays(np.zeros(4000, np.int32), ["x" * 10**6])
    table = pyarrow.table({"a": np.zeros(4000), "label": labels})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"column 'label' of .* needs [\d,.]* .iB"):
        load(tmp_path / "a.parquet", labels="label")


def test_an_npz_that_expands_is_refused_by_its_size(tmp_path, little_memory):
    path = zipped(tmp_path / "a.npz", values=npy_head("(10000000, 3)", "'|i1'") + bytes(30_000_000))
    assert path.stat().st_size < 50_000
    with pytest.raises(ValueError, match=r"a\.npz needs 29 MiB of memory, but 14 MiB may be used"):
        load(path)
    with pytest.raises(ValueError, match="29 MiB"):
        read_npz(path)


def test_an_npz_header_that_expands_is_not_read(tmp_path):
    length = (1 << 26).to_bytes(4, "little")
    path = zipped(tmp_path / "a.npz", values=b"\x93NUMPY\x02\x00" + length + b" " * (1 << 26))
    with pytest.raises(ValueError, match="too long"):
        load(path)


def test_a_member_that_inflates_beyond_its_size_is_stopped(tmp_path):
    """The directory of the archive claims 12 × 6 bytes; what is packed there is larger."""
    head = npy_head("(12, 6)", "'|i1'")
    path = zipped(tmp_path / "a.npz", values=head + bytes(5_000_000))
    content = bytearray(path.read_bytes())
    for place in (content.index(b"PK\x03\x04") + 22, content.index(b"PK\x01\x02") + 24):
        content[place : place + 4] = (len(head) + 72).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="no whole npz file"):
        load(path)


def test_damaged_and_encrypted_archives(tmp_path):
    good = zipped(tmp_path / "good.npz", values=npy(BITS)).read_bytes()
    directory = good.index(b"PK\x01\x02")
    damaged = {
        "encrypted": (directory + 8, b"\x01"),
        "lzma": (directory + 10, b"\x0e"),
        "unknown method": (directory + 10, b"\x63"),
        "other version": (directory + 6, b"\xff\xff"),
        "other name": (directory + 46, b"\xff"),
        "offset": (directory + 42, b"\xff\xff\xff\x7f"),
        "values": (60, b"\xff\xff\xff"),
    }
    for name, (place, patch) in damaged.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(good[:place] + patch + good[place + len(patch) :])
        with pytest.raises(ValueError, match="is no whole npz file of numbers"):
            load(path)
    path = tmp_path / "twice.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(BITS))
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("a.npy", npy(BITS))
    with pytest.raises(ValueError, match="there twice"):
        load(path)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as file:
        file.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match=r"'readme.txt' is no array"):
        load(tmp_path / "text.npz")


def test_text_that_is_not_unicode(tmp_path):
    """Such a code point cannot even be shown."""
    labels = npy(np.array(["cat"] * 12))
    path = zipped(tmp_path / "a.npz", rows=npy(BITS), kind=labels[:-1] + b"\x7f")
    with pytest.raises(ValueError, match="'kind' is no text"):
        load(path, labels="kind")


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for suffix in (".npy", ".npz", ".csv", ".csv.gz", ".parquet", ".h5"):
        for target in ("/dev/zero", tmp_path / "pipe"):
            path = tmp_path / f"a{suffix}"
            path.symlink_to(target)
            with pytest.raises(ValueError, match="is a pipe or a device: pass a regular file"):
                load(path)
            path.unlink()
    (tmp_path / "idx").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="pipe or a device"):
        read_idx(tmp_path / "idx")
    (tmp_path / "set.npz").symlink_to(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe or a device"):
        Dataset.load(tmp_path / "set.npz")


def test_text_that_expands_is_refused_while_it_is_counted(tmp_path, little_memory):
    many = gzip.compress(b"0,1\n" * 5_000_000)
    assert len(many) < 50_000
    (tmp_path / "a.csv.gz").write_bytes(many)
    with pytest.raises(ValueError, match=r"a\.csv\.gz needs .* of memory, but 14 MiB may be used"):
        load(tmp_path / "a.csv.gz")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"0" * (1 << 27)))
    with pytest.raises(ValueError, match=r"a line of more than 67,108,864 bytes"):
        load(tmp_path / "b.csv.gz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1," + b"9" * 200_000 + b"x\n", "field that is too long"),
        (b"a" * 200_000 + b",b\n1,0\n", "field that is too long"),
        (b"1,0\n1,\x000\n", "zero bytes"),
        ("1,0\n".encode("utf-16"), "zero bytes|no text file"),
        (b'1,0\n"1,0\n', "fields in row 1|could not be read"),
    ],
)
def test_text_that_is_none(tmp_path, content, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "a.csv")
    assert len(str(caught.value)) < 500


def test_long_labels_do_not_take_a_column_each(tmp_path, little_memory):
    rows = "".join(f"{i % 2},{'x' * (100_000 if i == 5 else 1)}\n" for i in range(1000))
    (tmp_path / "a.csv").write_text("v,kind\n" + rows)
    with pytest.raises(ValueError, match=r"labels of .* needs 381 MiB"):
        load(tmp_path / "a.csv", labels="kind")


def test_a_label_column_that_is_there_twice(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,0,1\n")
    with pytest.raises(ValueError, match="has several columns named 'a': rename all but one"):
        load(tmp_path / "a.csv", labels="a")
    np.testing.assert_array_equal(load(tmp_path / "a.csv").train, [[1, 0, 1]])
    table = pyarrow.Table.from_arrays([pyarrow.array([0, 1])] * 2, names=["a", "a"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for labels in (None, "a"):
        with pytest.raises(ValueError, match="has several columns named 'a'"):
            load(tmp_path / "a.parquet", labels=labels)


def test_hdf5_that_claims_more_than_it_stores(tmp_path, little_memory):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("fill", (10**12, 4), "i1", chunks=(100, 4))
        file["null"] = h5py.Empty("i1")
        file["good"] = BITS
        packed = file.create_dataset("packed", (6000, 6000), "i1", chunks=True, compression="gzip")
        packed[:] = 1
        file.create_dataset("chunk", (6000, 6000), "i1", chunks=(6000, 6000), compression="gzip")[
            :
        ] = np.random.default_rng(0).integers(0, 2, (6000, 6000))
    assert load(path, key="good").train.shape == (12, 6)
    for key, message in (
        ("fill", r"claims 4,000,000,000,000 values in /fill but stores 0 bytes"),
        ("null", r"shape \(\): pass at least one row"),
        ("packed", r"6,000×6,000 values, needs 34 MiB of memory, but 14 MiB"),
    ):
        with pytest.raises(ValueError, match=message):
            load(path, key=key)
    for key, message in (
        ("fill", r"stores 0 bytes"),
        ("chunk", r"a chunk of /chunk .* needs 34 MiB"),
    ):
        with pytest.raises(ValueError, match=message):
            Stream(path, key=key, chunk_rows=10)


def test_hdf5_links_and_foreign_values_are_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(bytes([0, 1] * 36))
    path = tmp_path / "a.h5"
    layout = h5py.VirtualLayout((12, 6), "i8")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        layout[:] = h5py.VirtualSource(file.create_dataset("rows", data=BITS))
    with h5py.File(path, "w") as file:
        file["link"] = h5py.ExternalLink("other.h5", "/rows")
        file["soft"] = h5py.SoftLink("/nowhere")
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", (12, 6), "i1", external=[(tmp_path / "secret", 0, 72)])
    for key in ("virtual", "external"):
        with pytest.raises(ValueError, match=f"values of /{key} in other files"):
            load(path, key=key)
    for key in ("link", "soft"):
        with pytest.raises(ValueError, match=f"key is '{key}', but .* holds: external"):
            load(path, key=key)


def test_damaged_hdf5_values(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        rows = file.create_dataset("a", (12, 6), "i8", chunks=(12, 6), compression="gzip")
        rows[:] = BITS
        place = rows.id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[place : place + 8] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no whole HDF5 file"):
        load(path)


def test_damaged_hdf5_text(tmp_path):
    """The library itself never ends at a free space of no size in a heap."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["rows"], file["kind"] = BITS, ["cat"] * 12
    content = bytearray(path.read_bytes())
    begin = content.index(b"GCOL") + 16
    content[begin : begin + 2] = content[begin + 8 : begin + 10] = bytes(2)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"its heap of text at byte \d+ is damaged"):
        load(path, labels="kind")


def test_damaged_parquet_pages(tmp_path):
    path = tmp_path / "a.parquet"
    names = [f"c{i}" for i in range(6)]
    table = pyarrow.table(dict(zip(names, BITS.T, strict=True)))
    pyarrow.parquet.write_table(table, path)
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no whole parquet file"):
        load(path)


def test_parquet_that_expands(tmp_path, little_memory):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": np.zeros(5_000_000, np.int8)}), path)
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"a\.parquet, read .* needs 16 MiB of memory, but 14 MiB"):
        load(path)


def test_idx_that_expands(tmp_path, little_memory):
    head = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (10**6, 10, 10))
    (tmp_path / "a.gz").write_bytes(gzip.compress(head + bytes(10**6)))
    with pytest.raises(ValueError, match=r"needs 191 MiB of memory"):
        read_idx(tmp_path / "a.gz")
    (tmp_path / "b.gz").write_bytes(gzip.compress(idx_small() + bytes(10**7)))
    with pytest.raises(ValueError, match="24 bytes of values, but more follow"):
        read_idx(tmp_path / "b.gz")


def idx_small() -> bytes:
    return b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (2, 3, 4)) + bytes(24)


def test_other_bytes_than_0_and_1_in_booleans(tmp_path):
    content = npy(BITS.astype(bool))
    (tmp_path / "a.npy").write_bytes(content[:-1] + b"\x07")
    with pytest.raises(ValueError, match="holds 7 in row 11, column 5"):
        load(tmp_path / "a.npy")


@pytest.mark.parametrize(
    "change",
    [
        {"facts": "[1]"},
        {"facts": "{"},
        {"facts": "[" * 100_000},
        {"facts": '{"name": "a", "domain": "x", "image_shape": null}'},
        {"facts": '{"name": 3, "domain": "0/1", "image_shape": null}'},
        {"facts": '{"name": "a", "domain": "0/1", "image_shape": [6]}'},
        {"facts": '{"name": "a", "domain": "0/1", "image_shape": [1.0, 6.0]}'},
        {"facts": '{"name": "a", "domain": "0/1", "image_shape": [-1, -6]}'},
        {"save": BITS},
        {"train": np.ones(3)},
        {"train": np.array([["a"]])},
        {"train": np.array(3)},
        {"train": 1 - BITS.astype(np.int8)},
    ],
)
def test_stored_sets_are_checked(tmp_path, change):
    path = tmp_path / "a.npz"
    from_array(BITS, image_shape=(2, 3)).save(path)
    stored = read_npz(path)
    np.savez(path, **(stored | change))
    with pytest.raises(ValueError, match=r"is no valid data set of vrbm \(.+\): make it anew"):
        Dataset.load(path)
    with pytest.raises(ValueError, match="is no valid data set of vrbm"):
        load(path)


def test_limits_of_the_process_count():
    code = textwrap.dedent("""
        import resource
        from vrbm import memory
        before = memory.available()
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        assert 0 < memory.available() < 1 << 30 <= before, (memory.available(), before)
    """)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_memory_at_hand():
    assert 1 << 20 < memory.available() < 1 << 62
    memory.require(1000, "a", "b")
    with pytest.raises(ValueError, match=r"^a needs 1,024\.0 GiB of memory, but .* used: b\.$"):
        memory.require(1 << 40, "a", "b")


def test_wrong_checksums(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(BITS))
    content = path.read_bytes()
    right = zlib.crc32(npy(BITS)).to_bytes(4, "little")
    path.write_bytes(content.replace(right, b"abcd"))
    with pytest.raises(ValueError, match="Bad CRC"):
        load(path)
