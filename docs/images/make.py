"""Draws the pictures of docs/data.md; needs the MNIST files, as `vrbm.data.mnist` finds them."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from vrbm.data import images as steps
from vrbm.data import mnist
from vrbm.report.figures import STYLE, save_as
from vrbm.report.gallery import gallery

HERE = Path(__file__).parent


def pipeline(pixels: np.ndarray) -> Figure:
    """One line for each step, one column for each image of `pixels`, (n, 28, 28)."""
    mean, largest = steps.recentre(steps.mean_pool(pixels)), steps.recentre(steps.max_pool(pixels))
    smoothed = steps.recentre(steps.smooth(mean))
    lines = {
        "original": pixels,
        "mean pooling,\nrecentred": mean,
        "binarized:\nthe default": 255 * (steps.binarize(mean) > 0),
        "max pooling,\nbinarized": 255 * (steps.binarize(largest) > 0),
        "mean pooling,\nsmoothed, binarized": 255 * (steps.binarize(smoothed) > 0),
    }
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        grid = figure.subplots(len(lines), len(pixels), squeeze=False)
        for axes_line, (name, images) in zip(grid, lines.items(), strict=True):
            for axes, image in zip(axes_line, images, strict=True):
                axes.imshow(image, cmap="gray_r", vmin=0, vmax=255, interpolation="none")
                axes.set_xticks([])
                axes.set_yticks([])
                axes.spines[:].set_visible(True)
                axes.spines[:].set_color("#bbbbbb")
            axes_line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    return figure


def main() -> None:
    """Write both pictures beside this file."""
    pixels, labels, _, _ = mnist.read(mnist.MNIST)
    first = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    save_as(pipeline(pixels[first]), HERE / "mnist_pipeline.png")
    save_as(gallery(mnist.paper_set(), columns=16), HERE / "mnist_paper.png")


if __name__ == "__main__":
    main()
