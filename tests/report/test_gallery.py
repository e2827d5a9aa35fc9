import numpy as np
import pytest

from vrbm.data.arrays import from_array
from vrbm.report.gallery import gallery

IMAGES = np.random.default_rng(0).integers(0, 2, (50, 2, 3))


def shown(figure) -> np.ndarray:
    return figure.axes[0].images[0].get_array()


def test_images_stand_in_lines_by_label():
    labels = np.arange(50) % 3
    figure = gallery(from_array(IMAGES, train_labels=labels), columns=4)
    image = shown(figure)
    assert image.shape == (3 * 3 + 1, 4 * 4 + 1)
    for label in range(3):
        for column, which in enumerate(np.flatnonzero(labels == label)[:4]):
            top, left = 3 * label + 1, 4 * column + 1
            np.testing.assert_array_equal(image[top : top + 2, left : left + 3], IMAGES[which])
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["0", "1", "2"]


def test_many_labels_are_thinned_out():
    labels = np.arange(50) / 10
    figure = gallery(from_array(IMAGES, train_labels=labels), lines=5)
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["0", "1.2", "2.4", "3.7", "4.9"]


@pytest.mark.parametrize("count", [1, 7, 50])
def test_without_labels(count):
    image = shown(gallery(from_array(IMAGES[:count]), lines=2, columns=5))
    np.testing.assert_array_equal(image[1:3, 1:4], IMAGES[0])
    assert image.shape[1] == 4 * min(count, 5) + 1


def test_without_an_image_shape():
    rows = IMAGES.reshape(50, 6)
    np.testing.assert_array_equal(shown(gallery(from_array(rows), lines=2, columns=5)), rows[:10])
