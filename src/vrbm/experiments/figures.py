"""The figures of the paper, made from what a study has found."""

import numpy as np
from matplotlib.figure import Figure

from vrbm.experiments.ising import SHOWN_TEMPERATURES, N
from vrbm.experiments.results import Results
from vrbm.experiments.sizing import (
    EXPECTED,
    KINDS,
    LIKELIHOOD,
    OPTIMUM,
    WITHIN,
    all_values,
    label,
    members,
)
from vrbm.experiments.tables import likelihood_members, title
from vrbm.report import plots

Captioned = dict[str, tuple[Figure, str]]


def ising(results: Results) -> Captioned:
    """Figures by file name, each with its caption."""
    made: Captioned = {}
    if not results.has("vrbm"):
        return made
    member, arrays = results.member("vrbm"), results.arrays("vrbm")
    K = member["max_hidden"]
    made["configurations"] = (
        plots.configurations(
            arrays["shown_rows"].reshape(len(SHOWN_TEMPERATURES), -1, 8, 8), SHOWN_TEMPERATURES
        ),
        "Configurations of the training set on the 8×8 lattice at several temperatures.",
    )
    made["learning"] = (
        plots.learning_curves(curves(results, "vrbm"), expected=N),
        f"Training and test error, and the mean size, against epochs: K = {K:,}, "
        f"{len(results.numbers['vrbm'])} seeds.",
    )
    profiles = {
        results.member(name)["max_hidden"]: results.arrays(name)["size_probabilities"]
        for name in ("vrbm-128", "vrbm-200", "vrbm-400", "vrbm")
        if results.has(name)
    }
    made["sizes"] = (
        plots.size_distributions(dict(sorted(profiles.items())), expected=N),
        "The average of p(z|v) over the data for layers of at most K units (first seed).",
    )
    made["weights"] = (
        plots.weights_and_biases(arrays["row_weights"], arrays["row_biases"], most=400, mark=N),
        f"Row average of |w| and |b| of the first hidden units, K = {K:,} (first seed).",
    )
    matrices = {z: arrays[f"couplings_{z}"] for z in (N // 2, N) if f"couplings_{z}" in arrays}
    scores = {z: results.values("vrbm", f"neighbours_{z}", "auc")[0] for z in matrices}
    made["interactions"] = (
        plots.interaction_matrices(matrices, scores),
        "The interaction matrices S^z (first seed), in units of the absolute value that one pair "
        "in a hundred exceeds, with the area under the ROC curve of |S| as a detector of nearest "
        "neighbours.",
    )
    made["likelihood"] = likelihood_figure(results)
    return made


def mnist(results: Results) -> Captioned:
    """Figures by file name, each with its caption."""
    made: Captioned = {}
    if not results.has("vrbm"):
        return made
    member, arrays = results.member("vrbm"), results.arrays("vrbm")
    K = member["max_hidden"]
    made["digits"] = (
        plots.images(arrays["shown_rows"].reshape(10, -1, 14, 14), [str(d) for d in range(10)]),
        "Images of the training set, pooled to 14×14 pixels and binarized.",
    )
    made["learning"] = (
        plots.learning_curves(curves(results, "vrbm"), expected=132),
        f"Training and test error, and the mean size, against epochs: K = {K:,}, "
        f"{len(results.numbers['vrbm'])} seeds. The dotted line is the size in the paper.",
    )
    probabilities, hidden = arrays["digit_probabilities"], arrays["digit_hidden"]
    made["sizes_by_digit"] = (
        plots.digit_profiles(probabilities, hidden),
        "Above: the average of p(z|v) over the images of each digit (lines) and P(z ≥ a|v) "
        "(dashed). Below: the average of ⟨h_a⟩ over the same images (first seed).",
    )
    made["weights"] = (
        plots.weights_and_biases(arrays["row_weights"], arrays["row_biases"], most=K, mark=133),
        f"Row average of |w| and |b| of all {K:,} hidden units (first seed). The dotted line is "
        "the last active unit that the paper reports.",
    )
    made["likelihood"] = likelihood_figure(results)
    return made


def curves(results: Results, name: str) -> dict[int, dict[str, np.ndarray]]:
    """Learning curves by seed."""
    prefix = "curve_"
    return {
        seed: {
            key.removeprefix(prefix): value
            for key, value in results.arrays(name, seed).items()
            if key.startswith(prefix)
        }
        for seed in results.numbers[name]
    }


def likelihood_figure(results: Results) -> tuple[Figure, str]:
    """Reconstruction against likelihood for all members that have both."""
    names = likelihood_members(results)
    points = [
        (
            title(results, name),
            results.values(name, "test", "error"),
            results.values(name, "test", "log_likelihood"),
        )
        for name in names
    ]
    optimum = results.values(names[0], "test", "gap", "optimum")
    figure = plots.error_and_likelihood(points, optimum[0] if optimum else None)
    return figure, (
        "Test reconstruction error against test log-likelihood: a model that copies its input "
        "perfectly can be a poor density. One point for each seed."
    )


def sizing(results: Results) -> Captioned:
    """Figures by file name, each with its caption."""
    made: Captioned = {}
    settings: dict[int, str] = {}
    for kind in KINDS:
        for name in members(results, kind):
            settings.setdefault(int(name.split("-")[1]), label(results, name))
    if settings:

        def by_setting(*path: str) -> dict[str, dict[str, list[float]]]:
            return {
                title: {
                    name: results.values(f"{kind}-{number}", *path)
                    for number, name in sorted(settings.items())
                }
                for kind, title in KINDS.items()
            }

        made["sizes"] = (
            plots.sizes_by_setting(by_setting("mean_size"), EXPECTED, WITHIN),
            "The mean size that each training found, for two kinds of layer. The band is "
            f"{EXPECTED} ± {WITHIN}.",
        )
        if optima := [x for kind in KINDS for x in all_values(results, kind, *OPTIMUM)]:
            made["likelihoods"] = (
                plots.likelihoods_by_setting(
                    by_setting(*LIKELIHOOD), optima[0], -N * float(np.log(2))
                ),
                "The test log-likelihood of the same trainings. Mean-field training does not "
                "maximize it: compare the uniform distribution.",
            )
    if names := members(results, "phase"):
        cells = {
            (
                results.member(name)["potential"]["scale"],
                results.member(name)["weight_scale"],
            ): (results.values(name, "mean_size")[0], _phase(results, name))
            for name in names
        }
        K = results.member(names[0])["max_hidden"]
        made["phases"] = (
            plots.phases(cells, K),
            f"Mean size and phase by the scale of μ and of the initial weights, K = {K} "
            "(first seed).",
        )
    return made


def _phase(results: Results, name: str) -> str:
    first = min(results.numbers[name])
    return str(results.numbers[name][first]["training"]["phase"])


FIGURES = {"ising": ising, "mnist": mnist, "sizing": sizing}
