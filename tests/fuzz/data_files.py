"""Files of data, in every format that `vrbm.data.arrays.load` reads. No JAX is imported here."""

import gzip
import io
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.sparse

from tests.fuzz.mutations import mutate, mutate_in_place
from tests.fuzz.worker import Format
from vrbm.data.arrays import from_array, load
from vrbm.data.describe import summarize
from vrbm.data.fasta import read_fasta

BITS = np.random.default_rng(0).integers(0, 2, (20, 6))
LABELS = np.array(["cat", "dog"] * 10)


def read(path: Path, **options: str | bool) -> None:
    """All that `vrbm data describe` does with a file."""
    data = load(path, **options)
    summarize(data)
    assert len(data.content_hash) == 64


def read_mapped(path: Path) -> None:
    read(path)
    read(path, memory_map=True)


def read_with_labels(path: Path) -> None:
    load(path, labels="kind")


def within_archive(content: bytes, random: np.random.Generator) -> bytes:
    """Damage to one member, in an archive that is whole; or to the archive."""
    if random.random() < 0.4:
        return mutate(content, random)
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    chosen = list(members)[random.integers(len(members))]
    members[chosen] = mutate(members[chosen], random)
    if random.random() < 0.1:
        del members[chosen]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, member in members.items():
            file.writestr(name, member)
    return packed.getvalue()


def within_gzip(content: bytes, random: np.random.Generator) -> bytes:
    if random.random() < 0.4:
        return mutate(content, random)
    return gzip.compress(mutate(gzip.decompress(content), random), mtime=0)


def formats(folder: Path) -> list[Format]:
    """One of each kind, with valid examples."""
    npy = [_npy(BITS), _npy(BITS.astype(np.int8)), _npy(BITS / 2), _npy(BITS.reshape(20, 2, 3))]
    dense = [_npz(rows=BITS), _npz(x_train=BITS, y_train=LABELS, x_test=BITS[:3]), _dataset(folder)]
    sparse = [_sparse(kind) for kind in ("csr", "csc", "coo", "bsr", "dia")]
    header = ",".join([*"abcdef", "kind"])
    text = ["\n".join(",".join(map(str, row)) for row in BITS).encode()]
    text.append(f"{header}\n".encode() + _lines())
    tables = [_parquet(None), _parquet("snappy")]
    stored = [_hdf5(folder, **options) for options in HDF5]
    return [
        Format("npy", ".npy", npy, read_mapped),
        Format("npz", ".npz", dense, read, within_archive),
        Format("sparse npz", ".npz", sparse, read, within_archive),
        Format("csv", ".csv", text[:1], read),
        Format("labelled csv", ".csv", text[1:], read_with_labels),
        Format("csv.gz", ".csv.gz", [gzip.compress(text[0])], read, within_gzip),
        Format("FASTA", ".fa", [b">a\nAC-D\n>b\nWYX.\n"], read_alignment),
        Format("parquet", ".parquet", tables, read_with_labels, mutate_in_place),
        Format("HDF5", ".h5", stored, read, mutate_in_place),
    ]


def read_alignment(path: Path) -> None:
    """Colours and weights of an alignment."""
    assert (read_fasta(path).weights() > 0).all()


HDF5: list[dict] = [{}, {"chunks": (5, 3), "compression": "gzip", "shuffle": True}]


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _dataset(folder: Path) -> bytes:
    path = folder / "set.npz"
    from_array(BITS, train_labels=LABELS, image_shape=(2, 3)).save(path)
    return path.read_bytes()


def _sparse(kind: str) -> bytes:
    buffer = io.BytesIO()
    scipy.sparse.save_npz(buffer, scipy.sparse.coo_matrix(BITS).asformat(kind))
    return buffer.getvalue()


def _lines() -> bytes:
    rows = (",".join(map(str, [*row, label])) for row, label in zip(BITS, LABELS, strict=True))
    return "\n".join(rows).encode()


def _parquet(compression: str | None) -> bytes:
    columns = {name: BITS[:, i] for i, name in enumerate("abcdef")} | {"kind": LABELS}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.table(columns), buffer, compression=compression or "none", row_group_size=7
    )
    return buffer.getvalue()


def _hdf5(folder: Path, **options: object) -> bytes:
    path = folder / "rows.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x_train", data=BITS, **options)
        file["y_train"] = LABELS.tolist()
    return path.read_bytes()
