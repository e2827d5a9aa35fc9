import numpy as np
import pytest

from vrbm.data.arrays import from_array
from vrbm.data.dataset import Dataset, Domain
from vrbm.data.describe import summarize

BITS = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.int8)


def test_save_and_load(tmp_path):
    data = from_array(
        BITS,
        validation=BITS[:1],
        test=BITS[1:],
        train_labels=["a", "b", "a"],
        test_labels=[0.1, 0.2],
        image_shape=(2, 2),
        name="mine",
    )
    data.save(tmp_path / "deep" / "set.npz")
    again = Dataset.load(tmp_path / "deep" / "set.npz")
    assert again.content_hash == data.content_hash
    assert (again.name, again.domain, again.image_shape) == ("mine", Domain.BINARY, (2, 2))
    assert again.train_labels.tolist() == ["a", "b", "a"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["set.npz"]


def test_content_hash_tells_data_apart():
    other = BITS.copy()
    other[2, 3] = 1
    sets = [
        from_array(BITS),
        from_array(other),
        from_array(BITS[::-1]),
        from_array(BITS, domain=Domain.UNIT),
        from_array(BITS, image_shape=(2, 2)),
        from_array(BITS, train_labels=[1, 2, 3]),
        from_array(BITS, test=BITS),
        from_array(BITS, validation=BITS),
    ]
    assert len({data.content_hash for data in sets}) == len(sets)
    assert from_array(BITS.astype(float), name="other").content_hash == sets[0].content_hash


def test_wrong_shapes():
    with pytest.raises(ValueError, match=r"test of data set 'arrays' has shape \(3, 3\)"):
        from_array(BITS, test=BITS[:, :3])
    with pytest.raises(ValueError, match="3 rows but 2 labels: pass one label for each row"):
        from_array(BITS, train_labels=[1, 2])
    with pytest.raises(ValueError, match=r"train labels .* have shape \(3, 2\) and dtype int64"):
        from_array(BITS, train_labels=np.zeros((3, 2), int))
    with pytest.raises(ValueError, match=r"image_shape \(3, 2\).*does not hold 4 values"):
        from_array(BITS, image_shape=(3, 2))


def test_other_npz_files_are_no_data_sets(tmp_path):
    np.savez(tmp_path / "a.npz", train=BITS)
    with pytest.raises(ValueError, match="holds no vrbm data set"):
        Dataset.load(tmp_path / "a.npz")


def test_summary_by_hand():
    train, test = summarize(
        from_array(BITS, test=BITS[:1], train_labels=[0.1 + 0.2, 0.5, 0.5], test_labels=["x"])
    )
    assert (train.split, train.rows, train.mean, train.constant_columns) == ("train", 3, 4 / 12, 2)
    assert train.labels == {"0.3": 1, "0.5": 2}
    assert (test.constant_columns, test.labels) == (4, {"x": 1})
