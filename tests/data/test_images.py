import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vrbm.data import images as steps
from vrbm.data.dataset import Domain

BLOCKS = np.array([[[0, 4, 255, 1], [8, 12, 0, 0], [1, 1, 7, 7], [1, 2, 7, 7]]], np.uint8)


def test_pooling_by_hand():
    np.testing.assert_array_equal(steps.max_pool(BLOCKS), [[[12, 255], [2, 7]]])
    np.testing.assert_array_equal(steps.mean_pool(BLOCKS), [[[6, 64], [1.25, 7]]])
    assert steps.max_pool(BLOCKS).dtype == np.uint8


def test_mean_pool_does_not_overflow():
    assert steps.mean_pool(np.full((1, 2, 2), 255, np.uint8)) == 255


def test_smooth_by_hand():
    image = np.array([[[4, 8], [12, 16]]], np.uint8)
    np.testing.assert_array_equal(steps.smooth(image), [[[10, 6], [7, 4]]])


def test_centre_of_mass_by_hand():
    image = np.zeros((2, 4, 6))
    image[0, 1, 2], image[0, 3, 2] = 3, 1
    np.testing.assert_allclose(steps.centre_of_mass(image), [[1.5, 2], [1.5, 2.5]])


def test_recentre_moves_ink_to_the_middle_and_never_wraps():
    image = np.zeros((1, 5, 5), np.uint8)
    image[0, 0, 0] = 9
    moved = steps.recentre(image)
    assert moved[0, 2, 2] == 9
    assert moved.sum() == 9
    # A heavy corner with a faint opposite corner: the faint pixel leaves, and stays away.
    image[0, 4, 4] = 1
    moved = steps.recentre(image)
    assert moved[0, 2, 2] == 9
    assert moved.sum() == 9


def test_recentre_leaves_empty_and_half_pixel_images():
    empty = np.zeros((1, 4, 4))
    np.testing.assert_array_equal(steps.recentre(empty), empty)
    single = np.zeros((1, 4, 4))
    single[0, 1, 2] = 1  # half a pixel off in both directions: the even shift is 0
    np.testing.assert_array_equal(steps.recentre(single), single)


@given(arrays(np.uint8, (3, 6, 7), elements=st.integers(0, 255)))
def test_recentre_leaves_at_most_half_a_pixel_when_no_ink_is_lost(images):
    moved = steps.recentre(images)
    kept = moved.sum(axis=(1, 2), dtype=int) == images.sum(axis=(1, 2), dtype=int)
    residual = np.abs(steps.centre_of_mass(moved) - [2.5, 3])
    assert (residual[kept] <= 0.5 + 1e-9).all()


def test_binarize_by_hand():
    values = np.array([[[0, 127, 127.5, 128, 255]]])
    np.testing.assert_array_equal(steps.binarize(values), [[[-1, -1, -1, 1, 1]]])
    np.testing.assert_array_equal(steps.binarize(values, domain=Domain.BINARY), [[[0, 0, 0, 1, 1]]])
    formula = 2 * np.round(values / 255) - 1
    np.testing.assert_array_equal(steps.binarize(values), formula)
    with pytest.raises(ValueError, match=r"domain is \[0, 1\]"):
        steps.binarize(values, domain=Domain.UNIT)


def test_flatten_runs_along_rows():
    image = np.arange(6).reshape(1, 2, 3)
    np.testing.assert_array_equal(steps.flatten(image), [[0, 1, 2, 3, 4, 5]])


@pytest.mark.parametrize("step", [steps.max_pool, steps.mean_pool, steps.smooth, steps.recentre])
def test_wrong_shapes(step):
    with pytest.raises(ValueError, match=r"shape \(4, 4\)"):
        step(np.zeros((4, 4)))


def test_odd_sizes_cannot_be_pooled():
    with pytest.raises(ValueError, match=r"3×4 pixels.*crop or pad"):
        steps.max_pool(np.zeros((1, 3, 4)))
