"""Sparse matrices whose structure is broken: a sentence, in place of foreign memory."""

import numpy as np
import pytest
import scipy.sparse

from vrbm.data.arrays import from_array, load
from vrbm.data.rows import SparseRows

BITS = np.random.default_rng(0).integers(0, 2, (12, 6))


def csr(indices, indptr, shape=(3, 4), kind="csr", data=None) -> dict[str, np.ndarray]:
    data = np.ones(len(indices)) if data is None else data
    return {
        "format": np.array(kind.encode()),
        "shape": np.array(shape),
        "data": data,
        "indices": np.array(indices),
        "indptr": np.array(indptr),
    }


COO = {
    "format": np.array(b"coo"),
    "shape": np.array((3, 4)),
    "data": np.ones(2),
    "row": np.array([0, 10**6]),
    "col": np.array([0, 1]),
}


@pytest.mark.parametrize(
    "arrays",
    [
        csr([0, 10**9, 2], [0, 1, 2, 3]),
        csr([0, -5, 2], [0, 1, 2, 3]),
        csr([0, 1, 2], [0, 10**9, 2, 3]),
        csr([0, 1, 2], [0, 1, 2, 10**9]),
        csr([0, 1, 2], [-7, 1, 2, 3]),
        csr([0, 1, 2], [0, 3, 1, 3]),
        csr([0, 1, 2], [0, 1, 3]),
        csr([0.5, 1, 2], [0, 1, 2, 3]),
        csr([0, 1, 2], [0, 1, 2, 3], data=np.ones((3, 2))),
        csr([0, 1, 10**9], [0, 1, 2, 2, 3], kind="csc"),
        csr([0, 10**6], [0, 1, 2], (4, 4), "bsr", np.ones((2, 2, 2))),
        csr([0, 1], [0, 1, 2], (4, 5), "bsr", np.ones((2, 2, 2))),
        csr([0, 1], [0, 1, 2], (4, 4), "bsr", np.ones((2, 0, 2))),
        csr([0, 1, 2], [0, 1, 2, 3], (10**15, 4)),
        csr([0, 1, 2], [0, 1, 2, 3], (-3, 4)),
        csr([0, 1, 2], [0, 1, 2, 3], kind="lil"),
        csr([0, 1, 2], [0, 1, 2, 3], data=np.array(["a", "b", "c"])),
        COO,
        COO | {"row": np.array([0])},
        COO | {"shape": np.array((10**15, 4)), "row": np.array([0, 10**14])},
        COO | {"format": np.array(b"dia"), "offsets": np.array([10**9])},
        COO | {"format": np.array(b"dia"), "offsets": np.array([2**62]), "data": np.ones((1, 2))},
        COO | {"format": np.array(b"dia"), "offsets": np.array([0, 0]), "data": np.ones((2, 4))},
    ],
)
def test_sparse_files_are_checked_before_any_product(tmp_path, arrays):
    """Unchecked, most of them end the process by a signal."""
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=r"sparse matrix|sparse format|at least one row|memory"):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia"])
def test_every_sparse_format_is_read(tmp_path, kind):
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.coo_matrix(BITS).asformat(kind))
    np.testing.assert_array_equal(load(tmp_path / "a.npz").train, BITS)


def broken(kind: str):
    matrix = scipy.sparse.csr_array(BITS.astype(float)).asformat(kind)
    if kind in ("csr", "csc", "bsr"):
        matrix.indices[3] = 10**8
    elif kind == "coo":
        matrix.coords[0][3] = 10**8
    else:
        matrix.rows[2][0] = 10**8
    return matrix


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil"])
def test_sparse_matrices_in_hand_are_checked_too(kind):
    with pytest.raises(ValueError, match="X is no valid sparse matrix: indices run from"):
        SparseRows(broken(kind), "X")
    with pytest.raises(ValueError, match="train is no valid sparse matrix"):
        from_array(broken(kind))
