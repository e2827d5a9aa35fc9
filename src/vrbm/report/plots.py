"""The figures of a study: arrays in, figure out."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, ScalarFormatter

from vrbm.report.figures import COLOURS, STYLE, literal

WIDTH = 6.4


def configurations(rows: np.ndarray, temperatures: Sequence[float]) -> Figure:
    """Spin configurations (temperatures, n, L, L), a column for each temperature."""
    columns, lines = rows.shape[:2]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, WIDTH * lines / columns + 0.3), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False)
        for column, T in enumerate(temperatures):
            axes[0, column].set_title(f"$T = {T:g}$", fontsize=10)
            for line in range(lines):
                _picture(axes[line, column], rows[column, line])
    return figure


def images(rows: np.ndarray, labels: Sequence[str]) -> Figure:
    """Binary images (labels, n, H, W), a line for each label."""
    lines, columns = rows.shape[:2]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, WIDTH * lines / columns), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False)
        for line, label in enumerate(labels):
            axes[line, 0].set_ylabel(literal(label), rotation=0, ha="right", va="center")
            for column in range(columns):
                _picture(axes[line, column], rows[line, column])
    return figure


def _picture(axes: matplotlib.axes.Axes, image: np.ndarray) -> None:
    axes.imshow(image, cmap="gray_r", vmin=-1, vmax=1, interpolation="none")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color("#999999")


def learning_curves(
    curves: Mapping[int, Mapping[str, np.ndarray]], expected: float | None = None
) -> Figure:
    """ε_train, ε_test and ⟨z⟩ against epochs, a shade for each seed.

    `curves` holds, for each seed, arrays `epoch`, `error_train`, `error_test` and `mean_size`.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 5.6), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
        for number, curve in enumerate(curves.values()):
            shade = 1 - 0.3 * min(number, 2)
            for name, label, colour, line in (
                ("error_train", "$\\varepsilon_\\mathrm{train}$", COLOURS[5], "-"),
                ("error_test", "$\\varepsilon_\\mathrm{test}$", COLOURS[6], "--"),
            ):
                upper.loglog(
                    curve["epoch"],
                    curve[name],
                    line,
                    color=colour,
                    alpha=shade,
                    label=label if number == 0 else None,
                )
            lower.semilogx(curve["epoch"], curve["mean_size"], color=COLOURS[3], alpha=shade)
        upper.set_ylabel("quadratic error $\\varepsilon$")
        upper.legend()
        lower.set_ylabel("mean size $\\langle z\\rangle$")
        lower.set_xlabel("epoch")
        lower.set_ylim(bottom=0)
        if expected is not None:
            lower.axhline(expected, color=COLOURS[9], linestyle=":", zorder=0)
    return figure


def likelihood_curve(looks: Mapping[str, np.ndarray]) -> Figure:
    """The log-likelihood of training and held-out rows against epochs, with its errors.

    `looks` holds arrays `epoch`, `train`, `heldout` and `error`; where a look could not be trusted
    they are NaN, and a mark on the axis says so.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        axes = figure.subplots()
        for name, label, colour, line in (
            ("train", "training rows", COLOURS[5], "o-"),
            ("heldout", "held-out rows", COLOURS[6], "s--"),
        ):
            known = np.isfinite(looks[name])
            if known.any():
                axes.errorbar(
                    looks["epoch"][known],
                    looks[name][known],
                    looks["error"][known],
                    fmt=line,
                    color=colour,
                    markersize=4,
                    capsize=2,
                    label=label,
                )
        unknown = looks["epoch"][~np.isfinite(looks["train"])]
        if unknown.size:
            axes.plot(
                unknown,
                np.zeros(len(unknown)),
                "x",
                color=COLOURS[9],
                transform=axes.get_xaxis_transform(),
                clip_on=False,
                label="log Z could not be trusted",
            )
        axes.set_xlabel("epoch")
        axes.set_ylabel("mean $\\log p(v)$, nats")
        axes.legend()
    return figure


def size_distributions(profiles: Mapping[int, np.ndarray], expected: float | None = None) -> Figure:
    """The average of p(z|v) against z for several K, where it is not negligible."""
    styles = ("-", "--", "-.", ":")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
        axes = figure.subplots()
        ends = []
        for number, (K, p) in enumerate(profiles.items()):
            shown = np.flatnonzero(p > 1e-4)
            ends += [shown[0] + 1, shown[-1] + 1]
            axes.plot(
                np.arange(1, len(p) + 1),
                p,
                styles[number % len(styles)],
                marker="o",
                markersize=3,
                color=COLOURS[(5, 1, 3, 6, 7)[number % 5]],
                label=f"$K = {K:,}$".replace(",", "{,}"),
            )
        axes.set_xlim(max(0, min(ends) - 2), max(ends) + 2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("size of the hidden layer $z$")
        axes.set_ylabel("average of $p(z\\,|\\,v)$")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if expected is not None:
            axes.axvline(expected, color=COLOURS[9], linestyle=":", zorder=0)
        axes.legend()
    return figure


def weights_and_biases(
    weights: np.ndarray, biases: np.ndarray, most: int, mark: float | None = None
) -> Figure:
    """(1/N) Σ_i |w_ai| and |b_a| of the first `most` hidden units, (K,) each."""
    units = np.arange(1, min(most, len(weights)) + 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
        axes = figure.subplots()
        axes.scatter(
            units, biases[: len(units)], s=8, marker="x", linewidths=0.8, color=COLOURS[6],
            label="$|\\beta_a|$",
        )  # fmt: skip
        axes.scatter(
            units, weights[: len(units)], s=8, color=COLOURS[5], label="$\\overline{|w_a|}$"
        )
        axes.set_xlabel("hidden unit $a$")
        axes.set_ylabel("absolute value")
        axes.set_ylim(bottom=0)
        if mark is not None:
            axes.axvline(mark, color=COLOURS[9], linestyle=":", zorder=0)
        axes.legend()
    return figure


def contributions(means: np.ndarray, errors: np.ndarray) -> Figure:
    """What each hidden unit contributes, in nats a row, with standard errors, (K,) each."""
    units = np.arange(1, len(means) + 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.errorbar(units, means, errors, fmt="o", color=COLOURS[5], markersize=3, capsize=1.5)
        axes.axhline(0, color=COLOURS[9], linewidth=0.8, zorder=0)
        axes.set_xlabel("hidden unit")
        axes.set_ylabel("contribution, nats a row")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def interaction_matrices(
    matrices: Mapping[int, np.ndarray], scores: Mapping[int, float] | None = None
) -> Figure:
    """S^z (N, N) for some sizes z; a few pairs can be far stronger than all others.

    So colours are saturated at the largest |S| but for one pair in a hundred.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        panels = figure.subplots(1, len(matrices), squeeze=False)[0]
        for axes, (z, S) in zip(panels, matrices.items(), strict=True):
            picture = axes.imshow(
                S / np.quantile(np.abs(S), 0.99),
                cmap="RdBu_r",
                vmin=-1,
                vmax=1,
                interpolation="none",
            )
            title = f"$S^{{{z}}}$"
            if scores is not None:
                title += f", bonds found: {scores[z]:.3f}"
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("visible unit $j$")
            axes.spines[:].set_visible(True)
        panels[0].set_ylabel("visible unit $i$")
        figure.colorbar(picture, ax=list(panels), shrink=0.8)
    return figure


def digit_profiles(probabilities: np.ndarray, hidden: np.ndarray) -> Figure:
    """p(z|v) and P(z ≥ a|v) for each label (labels, K), above; ⟨h_a⟩ (labels, K), below."""
    survival = np.cumsum(probabilities[:, ::-1], axis=1)[:, ::-1]
    most = int(np.flatnonzero(survival.max(axis=0) > 1e-3)[-1]) + 8
    units = np.arange(1, probabilities.shape[1] + 1)[:most]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 6.4), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
        beyond = upper.twinx()
        for digit in range(len(probabilities)):
            colour = COLOURS[digit % len(COLOURS)]
            upper.plot(units, probabilities[digit, :most], color=colour, label=str(digit))
            beyond.plot(units, survival[digit, :most], "--", color=colour, linewidth=0.8)
            lower.scatter(units, hidden[digit, :most], s=5, color=colour)
        upper.set_ylabel("$p(z\\,|\\,v)$, lines")
        upper.set_ylim(bottom=0)
        beyond.set_ylabel("$P(z\\geq a\\,|\\,v)$, dashed")
        beyond.spines.right.set_visible(True)
        lower.axhline(0, color=COLOURS[9], linewidth=0.8, zorder=0)
        lower.set_ylabel("$\\langle h^a\\rangle_v$")
        lower.set_xlabel("size of the hidden layer $z$, unit $a$")
        upper.legend(title="digit", ncols=2, loc="center left", fontsize=8)
    return figure


def error_and_likelihood(
    points: Sequence[tuple[str, Sequence[float], Sequence[float]]], optimum: float | None = None
) -> Figure:
    """Test log-likelihood against test reconstruction error: (name, errors, likelihoods) each."""
    marks = ("o", "s", "^", "D", "v", "P")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        axes = figure.subplots()
        for number, (name, errors, likelihoods) in enumerate(points):
            axes.scatter(
                errors,
                likelihoods,
                s=30,
                marker=marks[number % len(marks)],
                color=COLOURS[(5, 3, 1, 6, 7, 0)[number % 6]],
                label=literal(name),
            )
        axes.set_xscale("log")
        axes.set_xlabel("test reconstruction error $\\varepsilon$")
        axes.set_ylabel("test log-likelihood, nats")
        if optimum is not None:
            axes.axhline(optimum, color=COLOURS[9], linestyle=":", label="exact optimum")
        figure.legend(loc="outside lower center", ncols=1, fontsize=8)
    return figure


def _by_setting(
    values: Mapping[str, Mapping[str, Sequence[float]]],
) -> tuple[Figure, list[matplotlib.axes.Axes]]:
    """A panel for each kind of layer, a line for each setting, a dot for each training."""
    lines = max(len(settings) for settings in values.values())
    figure = Figure(figsize=(1.3 * WIDTH, 0.32 * lines + 1.2), layout="constrained")
    panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    for axes, (title, settings) in zip(panels, values.items(), strict=True):
        for line, found in enumerate(settings.values()):
            axes.plot(found, [line] * len(found), "o", color=COLOURS[5], alpha=0.6, ms=5)
        axes.set_title(literal(title), fontsize=10)
    labels = [literal(name) for name in next(iter(values.values()))]
    panels[0].set_yticks(range(len(labels)), labels, fontsize=8)
    panels[0].invert_yaxis()
    return figure, list(panels)


def sizes_by_setting(
    sizes: Mapping[str, Mapping[str, Sequence[float]]], expected: float, within: float
) -> Figure:
    """Sizes found, a panel for each kind of layer and a line for each setting, on a log scale."""
    with matplotlib.rc_context(STYLE):
        figure, panels = _by_setting(sizes)
        for axes, settings in zip(panels, sizes.values(), strict=True):
            axes.axvspan(expected - within, expected + within, color="#dddddd", zorder=0)
            axes.set_xscale("log")
            axes.set_xlabel("mean size $\\langle z\\rangle$")
            every = [size for found in settings.values() for size in found] or [expected]
            low, high = min(*every, 40), max(*every, 100)
            axes.set_xlim(0.9 * low, 1.1 * high)
            axes.xaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 40, 60, 100, 200, 400]))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_locator(NullLocator())
    return figure


def likelihoods_by_setting(
    likelihoods: Mapping[str, Mapping[str, Sequence[float]]], optimum: float, uniform: float
) -> Figure:
    """Test log-likelihoods, panels and lines as for sizes, beside two that are known."""
    with matplotlib.rc_context(STYLE):
        figure, panels = _by_setting(likelihoods)
        every = [x for kind in likelihoods.values() for found in kind.values() for x in found]
        margin = 0.05 * (optimum - min(*every, uniform))
        for axes in panels:
            axes.set_xlim(min(*every, uniform) - margin, optimum + margin)
            axes.axvline(optimum, color="#999999", ls=":", label="exact optimum")
            axes.axvline(uniform, color="#999999", ls="--", label="uniform distribution")
            axes.set_xlabel("test log-likelihood, nats")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


def phases(cells: Mapping[tuple[float, float], tuple[float, str]], most: int) -> Figure:
    """⟨z⟩ and the phase by (scale of μ, scale of the initial weights), as a chart."""
    across, up = (sorted({key[i] for key in cells}) for i in (0, 1))
    shown = np.full((len(up), len(across)), np.nan)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        axes = figure.subplots()
        for (scale, sigma), (size, phase) in cells.items():
            i, j = up.index(sigma), across.index(scale)
            shown[i, j] = size
            dark = np.log(size) < 0.6 * np.log(most)
            axes.text(
                j, i, f"{size:.3g}\n{literal(phase)}", ha="center", va="center", fontsize=8,
                color="white" if dark else "black",
            )  # fmt: skip
        axes.imshow(np.log(shown), cmap="cividis", vmin=0, vmax=np.log(most), aspect="auto")
        axes.set_xticks(range(len(across)), [f"{scale:g}" for scale in across])
        axes.set_yticks(range(len(up)), [f"{sigma:g}" for sigma in up])
        axes.set_xlabel("scale of $\\mu$")
        axes.set_ylabel("scale of the initial weights")
        axes.spines[:].set_visible(True)
    return figure
