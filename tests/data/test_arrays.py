import numpy as np
import pytest
import scipy.sparse

from vrbm.data.arrays import from_array
from vrbm.data.dataset import Domain
from vrbm.data.domains import find_domain

BITS = np.random.default_rng(0).integers(0, 2, (30, 5))
SPINS = 2 * BITS - 1
GREY = np.random.default_rng(1).random((30, 5))


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        (SPINS, Domain.SPIN),
        (SPINS.astype(np.float32), Domain.SPIN),
        (BITS, Domain.BINARY),
        (BITS.astype(bool), Domain.BINARY),
        (BITS.astype(np.uint8), Domain.BINARY),
        (BITS.tolist(), Domain.BINARY),
        (BITS.astype(object), Domain.BINARY),
        (scipy.sparse.csr_array(BITS), Domain.BINARY),
        (scipy.sparse.csr_matrix(BITS), Domain.BINARY),
        (scipy.sparse.coo_array(GREY), Domain.UNIT),
        (GREY, Domain.UNIT),
        ([[0, 0.5, 1]], Domain.UNIT),
        ([[0]], Domain.BINARY),
        ([[1]], Domain.BINARY),
        ([[-1]], Domain.SPIN),
    ],
)
def test_domain_is_found(values, domain):
    assert find_domain(values) is domain
    data = from_array(values)
    dense = values.toarray() if scipy.sparse.issparse(values) else np.array(values, float)
    np.testing.assert_array_equal(data.train, dense.astype(data.train.dtype))
    assert data.train.dtype == (np.float32 if domain is Domain.UNIT else np.int8)


def spoiled(value, base=BITS, dtype=float):
    array = base.astype(dtype)
    array[17, 3] = value
    return array


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (spoiled(np.nan), r"train holds nan in row 17, column 3.*Remove or fill in"),
        (spoiled(-np.inf), r"holds -inf in row 17, column 3"),
        (spoiled(7), r"holds 7\.0 in row 17, column 3.*divide 8-bit images by 255"),
        (spoiled(1e300), r"holds 1e\+300 in row 17, column 3"),
        (spoiled(-0.5), r"holds -0\.5 in row 17, column 3"),
        (spoiled("cat", dtype=object), r"holds 'cat' in row 17, column 3, which is no number"),
        (spoiled(None, dtype=object), r"holds None in row 17, column 3"),
        (BITS.astype(str), r"holds np\.str_\('1'\) in row 0|holds '.' in row 0"),
        (spoiled(0, SPINS), r"holds -1\.0 in row \d+, .* but train holds 0\.0 in row 17, column 3"),
        (spoiled(0.5, SPINS), r"but train holds 0\.5 in row 17, column 3: use one coding"),
        (BITS.astype(complex), r"dtype complex128: pass real numbers"),
        ([[1, 0], [1]], r"train is ragged"),
        ([1, 0, 1], r"shape \(3,\): pass at least one row"),
        (np.zeros((0, 5)), r"shape \(0, 5\)"),
        (np.zeros((5, 0)), r"shape \(5, 0\)"),
        (scipy.sparse.csr_array((0, 5)), r"shape \(0, 5\)"),
        (np.zeros((2, 2, 2, 2)), r"shape \(2, 2, 2, 2\)"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        from_array(values)


def test_a_late_row_is_named_by_its_number_in_the_whole_table():
    big = np.zeros((9000, 1000), np.uint8)  # more than one range
    big[8765, 432] = 2
    with pytest.raises(ValueError, match="holds 2 in row 8765, column 432"):
        find_domain(big)


def test_one_coding_over_all_splits():
    with pytest.raises(ValueError, match=r"test holds 0 in row"):
        from_array(SPINS, test=BITS)
    data = from_array(np.ones((2, 5)), test=SPINS)
    assert data.domain is Domain.SPIN


def test_domain_asked_for_is_checked():
    assert from_array(BITS, domain=Domain.UNIT).train.dtype == np.float32
    with pytest.raises(ValueError, match=r"holds 0 .*outside the domain ±1 that was asked for"):
        from_array(BITS, domain=Domain.SPIN)


def test_images_are_flattened():
    data = from_array(BITS.reshape(10, 3, 5))
    assert (data.train.shape, data.image_shape) == ((10, 15), (3, 5))
