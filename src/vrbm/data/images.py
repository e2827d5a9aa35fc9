"""Steps that turn grey images, (n, H, W), into rows of a data set; each is a plain function."""

import numpy as np

from vrbm.data.dataset import Domain


def max_pool(images: np.ndarray) -> np.ndarray:
    """Each 2×2 block becomes its largest pixel, (n, H/2, W/2), of the same type."""
    return _blocks(images).max(axis=(2, 4))


def mean_pool(images: np.ndarray) -> np.ndarray:
    """Each 2×2 block becomes its mean, (n, H/2, W/2), as float32; exact for 8-bit pixels."""
    return _blocks(images).mean(axis=(2, 4), dtype=np.float32)


def smooth(images: np.ndarray) -> np.ndarray:
    """σ̃^{αβ} = ¼(σ^{αβ} + σ^{α,β+1} + σ^{α+1,β} + σ^{α+1,β+1}), (n, H, W), as float32.

    A frame of zeros below and to the right keeps the size. The filter moves the centre of mass by
    half a pixel up and to the left: `recentre` afterwards.
    """
    padded = np.pad(_check(images).astype(np.float32), ((0, 0), (0, 1), (0, 1)))
    return (padded[:, :-1, :-1] + padded[:, :-1, 1:] + padded[:, 1:, :-1] + padded[:, 1:, 1:]) / 4


def centre_of_mass(images: np.ndarray) -> np.ndarray:
    """(α_cm, β_cm) = Σ σ^{αβ}·(α, β) / Σ σ^{αβ}, (n, 2), with indices from 0.

    An image without ink has its centre of mass at the image's centre, ((H − 1)/2, (W − 1)/2).
    """
    _, height, width = _check(images).shape
    down = images.sum(axis=2, dtype=np.float64)  # (n, H)
    across = images.sum(axis=1, dtype=np.float64)  # (n, W)
    ink = down.sum(axis=1)
    moments = np.stack([down @ np.arange(height), across @ np.arange(width)], axis=1)
    centre = np.array([(height - 1) / 2, (width - 1) / 2])
    empty = ink == 0
    return np.where(empty[:, None], centre, moments / np.where(empty, 1, ink)[:, None])


def recentre(images: np.ndarray) -> np.ndarray:
    """Shift by whole pixels, so that the centre of mass lies nearest to the image's centre.

    The centre is ((L + 1)/2, (L + 1)/2) with indices from 1. Half a pixel is rounded to the even
    shift. What enters is empty, and what leaves is lost: nothing comes back at the other side.
    """
    _, height, width = _check(images).shape
    centre = np.array([(height - 1) / 2, (width - 1) / 2])
    shifts = np.rint(centre - centre_of_mass(images)).astype(int)
    result = np.zeros_like(images)
    for down, across in np.unique(shifts, axis=0).tolist():
        chosen = np.flatnonzero((shifts == (down, across)).all(axis=1))
        (to_rows, from_rows), (to_cols, from_cols) = _overlap(down), _overlap(across)
        moved = np.zeros_like(images[chosen])
        moved[:, to_rows, to_cols] = images[chosen][:, from_rows, from_cols]
        result[chosen] = moved
    return result


def binarize(images: np.ndarray, full: float = 255.0, domain: Domain = Domain.SPIN) -> np.ndarray:
    """s^{αβ} = 2·round(σ^{αβ}/full) − 1 as int8; for the domain 0/1, round(σ^{αβ}/full).

    Exactly half of `full` rounds down, so ink is what is darker than half.
    """
    ink = (images > full / 2).astype(np.int8)
    if domain is Domain.SPIN:
        return 2 * ink - 1
    if domain is Domain.BINARY:
        return ink
    raise ValueError(f"domain is {domain}: binary images are ±1 (SPIN) or 0/1 (BINARY).")


def flatten(images: np.ndarray) -> np.ndarray:
    """v^{(α−1)L+β} = s^{αβ}: images (n, H, W) as rows (n, H·W)."""
    return _check(images).reshape(len(images), -1)


def _overlap(shift: int) -> tuple[slice, slice]:
    """Target and source along an axis whose content moves by `shift`."""
    if shift >= 0:
        return slice(shift, None), slice(None, -shift or None)
    return slice(None, shift), slice(-shift, None)


def _blocks(images: np.ndarray) -> np.ndarray:
    count, height, width = _check(images).shape
    if height % 2 or width % 2:
        raise ValueError(
            f"images have {height}×{width} pixels: 2×2 pooling needs even height and width; "
            "crop or pad them first."
        )
    return images.reshape(count, height // 2, 2, width // 2, 2)


def _check(images: np.ndarray) -> np.ndarray:
    if images.ndim != 3 or images.dtype.kind not in "biuf":
        raise ValueError(
            f"images have shape {images.shape} and dtype {images.dtype}: "
            "pass grey values as (n, height, width)."
        )
    return images
