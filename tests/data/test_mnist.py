import gzip
import hashlib

import numpy as np
import pytest

from tests.data.idx_bytes import idx
from vrbm.data import binarized_mnist as binarized
from vrbm.data import images as steps
from vrbm.data import mnist
from vrbm.data.dataset import Domain
from vrbm.data.digits import digits
from vrbm.data.idx import read_idx

FILES = [f"{s}-{k}-ubyte" for s in ("train", "t10k") for k in ("images-idx3", "labels-idx1")]


def test_idx_raw_and_gzipped(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "raw").write_bytes(idx(array))
    (tmp_path / "zipped").write_bytes(gzip.compress(idx(array), mtime=0))
    for name in ("raw", "zipped"):
        np.testing.assert_array_equal(read_idx(tmp_path / name, axes=3), array)


def test_idx_big_endian_types(tmp_path):
    values = np.array([1, -2, 70000], ">i4")
    (tmp_path / "ints").write_bytes(bytes([0, 0, 0x0C, 1, 0, 0, 0, 3]) + values.tobytes())
    read = read_idx(tmp_path / "ints")
    np.testing.assert_array_equal(read, values)
    assert read.dtype == np.int32


GOOD = idx(np.zeros((2, 3, 4)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"no idx file.*begins with nothing: it is empty"),
        (b"\x89PNG", r"no idx file: it should begin with 00 00.*begins with 89 50 4e 47"),
        (bytes([0, 0, 7, 3]), r"no idx file"),
        (GOOD[:10], r"truncated: its header should have 16 bytes, but the file has 10"),
        (GOOD[:-1], r"promises shape \(2, 3, 4\), i\.e\. 24 bytes of values, but 23 follow"),
        (GOOD + b"0", r"24 bytes of values, but more follow"),
        (gzip.compress(GOOD, mtime=0)[:-9], r"damaged or truncated gzip file"),
        (gzip.compress(GOOD, mtime=0)[:12] + b"\xff" * 20, r"is no idx file"),
        (idx(np.zeros(3)), r"an array with 1 axes where 3 were expected"),
    ],
)
def test_bad_idx_files_say_what_was_expected_and_found(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path, axes=3)
    assert str(path) in str(caught.value)


def test_paper_set_is_the_steps_in_turn(small_mnist):
    pixels = read_idx(small_mnist / "train-images-idx3-ubyte.gz")
    data = mnist.paper_set(str(small_mnist))
    expected = steps.binarize(steps.recentre(steps.mean_pool(pixels)))
    np.testing.assert_array_equal(data.train, expected.reshape(20, 196))
    assert (data.name, data.domain, data.image_shape) == ("mnist", Domain.SPIN, (14, 14))
    assert data.train.dtype == np.int8
    np.testing.assert_array_equal(data.test_labels, np.arange(10))
    maximal = mnist.paper_set(small_mnist, pooling="max", smooth=True)
    expected = steps.recentre(steps.smooth(steps.recentre(steps.max_pool(pixels))))
    np.testing.assert_array_equal(maximal.train, steps.binarize(expected).reshape(20, 196))


def test_grey_and_binary_loaders(small_mnist):
    pixels = read_idx(small_mnist / "t10k-images-idx3-ubyte.gz").reshape(10, 784)
    grey = mnist.mnist(small_mnist)
    np.testing.assert_allclose(grey.test, pixels / 255, rtol=1e-6)
    assert (grey.domain, grey.test.dtype, grey.image_shape) == (Domain.UNIT, np.float32, (28, 28))
    binary = mnist.fashion_mnist(small_mnist, Domain.BINARY)
    np.testing.assert_array_equal(binary.test, pixels > 127)
    assert binary.name == "fashion_mnist-28x28"


def test_folder_by_environment(small_mnist, cache, monkeypatch):
    small_mnist.rename(small_mnist.parent / "mnist")
    monkeypatch.setenv("VRBM_DATA", str(small_mnist.parent))
    assert len(mnist.paper_set().train) == 20
    assert not cache.exists()


def test_download_to_the_cache(small_mnist, cache, server):
    collection = mnist.Collection(
        "mnist",
        (server.url + "/absent/", server.url),
        {
            f"{name}.gz": "sha256:"
            + hashlib.sha256((small_mnist / f"{name}.gz").read_bytes()).hexdigest()
            for name in FILES
        },
    )
    for name in FILES:
        server.files[f"/{name}.gz"] = (small_mnist / f"{name}.gz").read_bytes()
    train, labels, _, _ = mnist.read(collection)
    assert train.shape == (20, 28, 28)
    assert len(labels) == 20
    assert sorted(path.name for path in (cache / "mnist").iterdir()) == sorted(
        f"{name}.gz" for name in FILES
    )
    count = len(server.requests)
    mnist.read(collection)
    assert len(server.requests) == count


def test_files_that_do_not_belong_together(small_mnist):
    (small_mnist / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(7)))
    with pytest.raises(ValueError, match=r"20 images, but .* holds 7 labels"):
        mnist.paper_set(small_mnist)
    (small_mnist / "train-labels-idx1-ubyte").unlink()
    (small_mnist / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((10, 8, 8))))
    with pytest.raises(
        ValueError, match=r"images of \(28, 28\) pixels but test images of \(8, 8\)"
    ):
        mnist.paper_set(small_mnist)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"neither train-images-idx3-ubyte nor"):
        mnist.mnist(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist"):
        mnist.mnist(tmp_path / "nowhere")


def _binarized(rows=6):
    random = np.random.default_rng(1)
    tables = {split: random.integers(0, 2, (rows, 784)) for split in ("train", "valid", "test")}
    packed = {s: np.packbits(t.astype(np.uint8), axis=1) for s, t in tables.items()}
    expected = {s: (rows, hashlib.sha256(p.tobytes()).hexdigest()) for s, p in packed.items()}
    text = {
        f"binarized_mnist_{s}.amat": "".join(" ".join(map(str, r)) + " \n" for r in t).encode()
        for s, t in tables.items()
    }
    return packed, expected, text


def test_binarized_mnist_is_downloaded_once_and_kept_packed(cache, server):
    packed, expected, text = _binarized()
    server.files.update({f"/{name}": content for name, content in text.items()})
    for _ in range(2):
        read = binarized.read_packed(mirrors=[server.url], expected=expected)
        for split in packed:
            np.testing.assert_array_equal(read[split], packed[split])
    assert len(server.requests) == 3
    (cache / "binarized_mnist" / binarized.PACKED).write_bytes(b"damaged")
    binarized.read_packed(mirrors=[server.url], expected=expected)
    assert len(server.requests) == 6
    assert [path.name for path in (cache / "binarized_mnist").iterdir()] == [binarized.PACKED]


def test_binarized_mnist_with_wrong_content_is_not_kept(cache, server):
    _, expected, text = _binarized()
    name = "binarized_mnist_test.amat"
    text[name] = text[name].replace(b"1", b"0", 1)
    server.files.update({f"/{name}": content for name, content in text.items()})
    with pytest.raises(ValueError, match=r"other images than the fixed binarization"):
        binarized.read_packed(mirrors=[server.url], expected=expected)
    assert list((cache / "binarized_mnist").iterdir()) == []


def test_binarized_mnist_from_a_folder(tmp_path):
    packed, expected, text = _binarized()
    for name, content in text.items():
        (tmp_path / name).write_bytes(content)
    read = binarized.read_packed(tmp_path, expected=expected)
    np.testing.assert_array_equal(read["valid"], packed["valid"])
    train = tmp_path / "binarized_mnist_train.amat"
    train.write_bytes(train.read_bytes()[:-3])
    with pytest.raises(ValueError, match=r"holds 4703 values: expected 6 rows of 784, i\.e\. 4704"):
        binarized.read_packed(tmp_path, expected=expected)
    train.write_bytes(b"0 1 x")
    with pytest.raises(ValueError, match=r"holds 'x': expected only 0, 1"):
        binarized.read_packed(tmp_path, expected=expected)
    train.unlink()
    with pytest.raises(FileNotFoundError, match=r"neither binarized_mnist_packed\.npz nor"):
        binarized.read_packed(tmp_path, expected=expected)
    (tmp_path / binarized.PACKED).write_bytes(b"PK damaged")
    with pytest.raises(ValueError, match="no whole npz file"):
        binarized.read_packed(tmp_path, expected=expected)
    np.savez(tmp_path / binarized.PACKED, train=packed["train"][:, :3], valid=0, test=0)
    with pytest.raises(ValueError, match=r"shape \(6, 3\): expected packed bits"):
        binarized.read_packed(tmp_path, expected=expected)


def test_digits_are_split_evenly():
    data = digits()
    assert (data.train.shape, data.test.shape) == ((1438, 64), (359, 64))
    assert data.image_shape == (8, 8)
    assert set(np.unique(data.train)) == {-1, 1}
    share = np.bincount(data.test_labels) / (
        np.bincount(data.test_labels) + np.bincount(data.train_labels)
    )
    assert share.min() > 0.19
    assert share.max() < 0.21
    assert data.content_hash == digits().content_hash
    grey, binary = digits(Domain.UNIT), digits(Domain.BINARY)
    np.testing.assert_array_equal(2 * binary.test - 1, data.test)
    np.testing.assert_array_equal(np.round(grey.train), binary.train)


def test_real_mnist(real_mnist):
    data = mnist.paper_set(real_mnist)
    assert (data.train.shape, data.test.shape) == ((60000, 196), (10000, 196))
    assert data.content_hash == "6e38e59c3d3908785aca79d18128b0d47582a0a47c238fc5325069371f9d5f01"
    pooled = steps.mean_pool(read_idx(real_mnist / "t10k-images-idx3-ubyte.gz"))
    moved = steps.recentre(pooled)
    assert moved.sum() == pooled.sum()  # no ink is lost
    assert np.abs(steps.centre_of_mass(moved) - 6.5).max() <= 0.5


def test_real_binarized_mnist(real_mnist):
    folder = real_mnist.parent / "binarized_mnist"
    if not folder.is_dir():
        pytest.skip(f"no files in {folder}")
    data = binarized.binarized_mnist(folder)
    assert [len(rows) for _, rows, _ in data.splits()] == [50000, 10000, 10000]
    assert data.domain is Domain.BINARY
