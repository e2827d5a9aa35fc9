"""A picture of a data set: some of its rows as images, sorted by label."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from vrbm.data.dataset import Dataset, Domain
from vrbm.data.describe import label_text
from vrbm.report.figures import STYLE, literal


def gallery(data: Dataset, lines: int = 10, columns: int = 20) -> Figure:
    """The first training rows of up to `lines` labels, one line for each label.

    Without labels, rows from all over the set fill the lines; without an image shape, each of the
    first rows is one line of pixels.
    """
    low = -1 if data.domain is Domain.SPIN else 0
    with matplotlib.rc_context(STYLE):
        if data.image_shape is None:
            figure = Figure(figsize=(6.4, 4.0), layout="constrained")
            axes = figure.subplots()
            rows = np.asarray(data.train[: lines * columns])
            axes.imshow(rows, cmap="gray_r", vmin=low, vmax=1, aspect="auto", interpolation="none")
            axes.set_xlabel("column")
            axes.set_ylabel("row")
        else:
            names, chosen = _choose(data, lines, columns)
            image = _mosaic(data, chosen, low)
            height = data.image_shape[0]
            inches = 6.4
            tall = max(0.5, inches * image.shape[0] / image.shape[1])
            figure = Figure(figsize=(inches, tall + 0.3), layout="constrained")
            axes = figure.subplots()
            axes.imshow(image, cmap="gray_r", vmin=low, vmax=1, interpolation="none")
            axes.set_xticks([])
            axes.set_yticks([(height + 1) * i + height / 2 for i in range(len(names))], names)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        axes.set_title(f"{literal(data.name)}: {data.n_visible} values, {data.domain}", fontsize=10)
    return figure


def _choose(data: Dataset, lines: int, columns: int) -> tuple[list[str], list[np.ndarray]]:
    """A name for each line of the picture, and the numbers of its rows."""
    count = len(data.train)
    if data.train_labels is None:
        spread = np.unique(np.linspace(0, count - 1, min(count, lines * columns)).astype(int))
        parts = [spread[i : i + columns] for i in range(0, len(spread), columns)]
        return [""] * len(parts), parts
    labels = np.unique(data.train_labels)
    labels = labels[np.unique(np.linspace(0, len(labels) - 1, lines).round().astype(int))]
    parts = [np.flatnonzero(data.train_labels == label)[:columns] for label in labels]
    return [literal(label_text(label)) for label in labels], parts


def _mosaic(data: Dataset, lines: list[np.ndarray], low: int) -> np.ndarray:
    """Images side by side, a pixel of mid-grey between them, white where there is none."""
    assert data.image_shape is not None
    height, width = data.image_shape
    columns = max(len(line) for line in lines)
    line_grey = low + 0.25 * (1 - low)
    mosaic = np.full((len(lines) * (height + 1) + 1, columns * (width + 1) + 1), float(line_grey))
    for i, line in enumerate(lines):
        for j in range(columns):
            image = data.train[line[j]] if j < len(line) else np.full(data.n_visible, low)
            top, left = i * (height + 1) + 1, j * (width + 1) + 1
            mosaic[top : top + height, left : left + width] = image.reshape(height, width)
    return mosaic
