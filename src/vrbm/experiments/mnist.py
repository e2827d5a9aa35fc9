"""The paper's MNIST experiment [ssc:MNIST]: data, own measures and table."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.data import mnist
from vrbm.data.dataset import Dataset
from vrbm.evaluation import average_sizes
from vrbm.evaluation.blocks import Blocks
from vrbm.experiments import tables
from vrbm.experiments.results import Results, Row, row
from vrbm.experiments.study import Preset
from vrbm.model import GrandCanonicalRBM
from vrbm.training.negative import MeanField
from vrbm.typing import RandomKey

TITLE = "Handwritten digits at 14×14 pixels"
#: Images shown for each digit.
SHOWN = 12
#: A state of a pixel that fewer training rows than this share have is rare.
RARE = 1e-3
#: A unit with |⟨h_a⟩| above this for each digit says the same to all images.
CONSTANT = 0.98


def load(preset: Preset) -> Dataset:
    """MNIST pooled to 14×14, recentred and binarized; the first rows of each split."""
    data = mnist.paper_set()
    assert data.test is not None
    assert data.train_labels is not None
    assert data.test_labels is not None
    n, m = preset.train_rows, preset.test_rows
    return replace(
        data,
        train=data.train[:n],
        train_labels=data.train_labels[:n],
        test=data.test[:m],
        test_labels=data.test_labels[:m],
    )


def measures(
    model: GrandCanonicalRBM, data: Dataset, preset: Preset, key: RandomKey
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Sizes and ⟨h⟩ by digit, and where wrong test pixels come from."""
    labels = data.train_labels
    assert labels is not None
    digits = np.unique(labels).tolist()
    by_digit = average_sizes(model, data.train, labels, domain=data.domain).by_label
    probabilities = np.stack([by_digit[digit].probabilities for digit in digits])
    hidden = np.stack(
        [np.asarray(_mean_hidden(model, data.train[labels == digit][:5000])) for digit in digits]
    )
    numbers = {
        "size_by_digit": {str(digit): by_digit[digit].mean_size for digit in digits},
        "probable_size_by_digit": dict(
            zip(map(str, digits), (probabilities.argmax(axis=1) + 1).tolist(), strict=True)
        ),
        "constant_units": int((np.abs(hidden).min(axis=0) > CONSTANT).sum()),
        "wrong_pixels": wrong_pixels(model, data, MeanField()),
    }
    chosen = [np.flatnonzero(labels == digit)[:SHOWN] for digit in digits]
    return numbers, {
        "digit_probabilities": probabilities,
        "digit_hidden": hidden,
        "shown_rows": np.stack([data.train[rows] for rows in chosen]).astype(np.int8),
    }


@eqx.filter_jit
def _mean_hidden(model: GrandCanonicalRBM, rows: Any) -> Any:
    return model.mean_hidden(jnp.asarray(rows, model.W.dtype)).mean(axis=0)


def wrong_pixels(
    model: GrandCanonicalRBM, data: Dataset, kernel: MeanField
) -> dict[str, int | float | None]:
    """Test pixels that rounding gets wrong, and how far from all training their rows are.

    `rare` counts those whose state fewer than 0.1 % of the training rows have at that place,
    `unseen` those whose state none has; `rows_with_unseen` counts test rows with such a pixel.
    `distance` is the median, over test rows with a wrong pixel, of the number of pixels by which
    the nearest training row differs; `distance_of_others` that over the other test rows.
    """
    on = (np.asarray(data.train) > 0).mean(axis=0)
    found = dict.fromkeys(("pixels", "rare", "unseen", "rows", "rows_with_unseen"), 0)
    is_wrong, distances = [], []
    for rows, count in Blocks(model, data.test, data.domain):
        v = np.asarray(rows)[:count] > 0
        wrong = (np.asarray(_last_fields(model, rows, kernel))[:count] > 0) != v
        share = np.where(v, on, 1 - on)
        found["pixels"] += int(wrong.sum())
        found["rare"] += int((wrong & (share < RARE)).sum())
        found["unseen"] += int((wrong & (share == 0)).sum())
        found["rows"] += int(wrong.any(axis=1).sum())
        found["rows_with_unseen"] += int((share == 0).any(axis=1).sum())
        is_wrong.append(wrong.any(axis=1))
        distances.append(nearest(v, data.train))
    chosen, distance = np.concatenate(is_wrong), np.concatenate(distances)
    return found | {
        name: float(np.median(distance[part])) if part.any() else None
        for name, part in (("distance", chosen), ("distance_of_others", ~chosen))
    }


def nearest(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """By how many pixels the nearest of `others` differs, for each row of two-valued pixels."""
    spins = [np.where(np.asarray(x) > 0, 1, -1).astype(np.float32) for x in (rows, others)]
    overlap = np.full(len(rows), -np.inf, np.float32)
    for start in range(0, len(others), 5000):
        block = spins[1][start : start + 5000]
        overlap = np.maximum(overlap, (spins[0] @ block.T).max(axis=1))
    return (rows.shape[1] - overlap) / 2


@eqx.filter_jit
def _last_fields(model: GrandCanonicalRBM, rows: Any, kernel: MeanField) -> Any:
    return kernel.fields(model, jnp.asarray(rows, model.W.dtype), jax.random.key(0))[0]


def sizes_at(results: Results, error: float) -> list[float]:
    """⟨z⟩ when ε_train first falls to `error`, for each seed where it does."""
    found = []
    for seed in results.numbers.get("vrbm", {}):
        arrays = results.arrays("vrbm", seed)
        if (below := np.flatnonzero(arrays["curve_error_train"] <= error)).size:
            found.append(float(arrays["curve_mean_size"][below[0]]))
    return found


def table(results: Results) -> list[Row]:
    """The paper's numbers beside ours, then what it does not report."""
    K = results.member("vrbm")["max_hidden"]
    of = results.values
    rows = [
        *row(f"ε_train, K = {K:,}", "1e-8", of("vrbm", "train", "error"), high=1e-7),
        *row(f"ε_test, K = {K:,}", "1e-5", of("vrbm", "test", "error"), high=1e-4),
        *row(
            "test images reproduced after rounding",
            "",
            of("vrbm", "test", "reproduced"),
            unit="%",
        ),
        *row("wrong test pixels after rounding", "", of("vrbm", "wrong_pixels", "pixels")),
        *row(
            "  of them rare in training (below 0.1 %)", "", of("vrbm", "wrong_pixels", "rare")
        ),
        *row("  of them never seen in training", "", of("vrbm", "wrong_pixels", "unseen")),
        *row(
            "test images with a pixel never seen in training",
            "",
            of("vrbm", "wrong_pixels", "rows_with_unseen"),
        ),
        *row(
            "pixels to the nearest training image, of test images with a wrong pixel",
            "",
            of("vrbm", "wrong_pixels", "distance"),
        ),
        *row("  of the others", "", of("vrbm", "wrong_pixels", "distance_of_others")),
        *row("mean size ⟨z⟩", "132", of("vrbm", "mean_size"), low=125, high=140),
        *row("  when ε_train falls to 1e-5", "", sizes_at(results, 1e-5)),
        *row("  when ε_train falls to 1e-6", "", sizes_at(results, 1e-6)),
        *row("units that say the same to all images", "", of("vrbm", "constant_units")),
        *row("most probable size", "132", of("vrbm", "probable_size"), low=125, high=140),
        *row("chemical potential μ", "1.1", of("vrbm", "mu"), low=1.05, high=1.15),
        *row(
            "last unit with weights", "133", of("vrbm", "last_active_unit"), low=125, high=150
        ),
        *row("largest idle over mean active weights", "about 0", of("vrbm", "idle_weights"),
             unit="%", high=0.05),
        *row("ε_test, ordinary RBM, 200 units", "1e-3", of("rbm", "test", "error"),
             low=1e-4, high=1e-2),
        *row("ε_train, ordinary RBM, 200 units", "", of("rbm", "train", "error")),
        *row("⟨z⟩ with p = 2", "as p = 1", of("vrbm-p2", "mean_size"), low=120, high=145),
        *row("ε_test with p = 2", "as p = 1", of("vrbm-p2", "test", "error")),
        *row("μ with p = 2", "as p = 1", of("vrbm-p2", "mu"), low=1.05, high=1.15),
        *row("⟨z⟩ with centred gradients", "132", of("vrbm-centred", "mean_size"),
             low=125, high=140),
        *row("ε_train with centred gradients", "1e-8", of("vrbm-centred", "train", "error"),
             high=1e-7),
        *row("ε_test with centred gradients", "1e-5", of("vrbm-centred", "test", "error"),
             high=1e-4),
        *row("μ with centred gradients", "1.1", of("vrbm-centred", "mu"), low=1.05, high=1.15),
    ]  # fmt: skip
    for digit in map(str, range(10)):
        rows += row(
            f"⟨z⟩ of digit {digit}",
            "smaller for zero" if digit == "0" else "",
            of("vrbm", "size_by_digit", digit),
        )
    for name in tables.likelihood_members(results):
        rows += tables.likelihood(results, name)
    return rows
