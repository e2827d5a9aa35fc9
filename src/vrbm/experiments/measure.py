"""What is measured on a trained member: numbers for the table, arrays for the figures."""

from dataclasses import asdict
from typing import Any

import equinox as eqx
import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.evaluation import average_sizes, effective_units, row_averages
from vrbm.evaluation.reconstruction import ReconstructionErrors, errors_by_split
from vrbm.evaluation.scores import Scores, scores
from vrbm.experiments.study import Annealing, Preset
from vrbm.model import GrandCanonicalRBM
from vrbm.training.negative import MeanField
from vrbm.typing import RandomKey

Numbers = dict[str, Any]
Arrays = dict[str, np.ndarray]

#: A unit whose average P(z ≥ a|v) is below this is idle.
IDLE = 1e-3


def measures(
    model: GrandCanonicalRBM, data: Dataset, preset: Preset, key: RandomKey
) -> tuple[Numbers, Arrays]:
    """What is measured on every member."""
    kernel = MeanField()
    numbers: Numbers = {"max_hidden": model.max_hidden}
    found, arrays = sizes(model, data)
    numbers |= found
    found, more = weights(model, arrays["size_probabilities"])
    numbers |= found
    arrays |= more
    numbers |= likelihood(model, data, kernel, preset.annealing, key)
    return numbers, arrays


def sizes(model: GrandCanonicalRBM, data: Dataset) -> tuple[Numbers, Arrays]:
    """μ, ⟨z⟩ and the averages of p(z|v) over training rows and over each label of them."""
    found = average_sizes(model, data.train, domain=data.domain)
    p = _whole(model, found.probabilities)
    z = np.arange(1, len(p) + 1)
    mean = float(p @ z)
    numbers = {
        "mu": float(np.mean(np.asarray(eqx.filter_jit(model.chemical_potential)()))),
        "mean_size": found.mean_size,
        "size_spread": found.spread,
        "size_width": float(np.sqrt(p @ (z - mean) ** 2)),
        "probable_size": int(p.argmax()) + 1,
    }
    return numbers, {"size_probabilities": found.probabilities}


def _whole(model: GrandCanonicalRBM, p: np.ndarray) -> np.ndarray:
    """p(z) with the geometric tail of a layer without an end, until it is nothing."""
    if not model.potential.is_unbounded:
        return p
    mu = float(model.chemical_potential())
    tail = np.exp(-mu * np.arange(np.ceil(40 / mu)))
    return np.concatenate([p[:-1], p[-1] * tail / tail.sum()])


def weights(model: GrandCanonicalRBM, probabilities: np.ndarray) -> tuple[Numbers, Arrays]:
    """K_eff in its three forms, and the weights of idle units against those of active ones.

    Active are the units up to the last with weights, idle those that are used for fewer than one in
    a thousand rows, by the average p(z|v) of `probabilities` (K,).
    """
    rows, units = row_averages(model), effective_units(model)
    last = units.last_by_weights
    survival = np.cumsum(probabilities[::-1])[::-1]
    active, idle = rows.weights[:last], rows.weights[survival < IDLE]
    numbers = {
        "active_units": units.by_weights,
        "last_active_unit": last,
        "smooth_count": units.smooth,
        "idle_weights": float(idle.max() / active.mean()) if idle.size and last else 1.0,
        "active_bias": float(rows.biases[:last].mean()) if last else None,
        "active_weight": float(active.mean()) if last else None,
        "idle_bias": float(rows.biases[survival < IDLE].mean()) if idle.size else None,
    }
    return numbers, {"row_weights": rows.weights, "row_biases": rows.biases}


def errors(found: ReconstructionErrors) -> Numbers:
    """ε of a split, and the rows that rounding gives back."""
    return {
        "error": found.mean_field.quadratic,
        "error_absolute": found.mean_field.absolute,
        "error_rounded": found.rounded.quadratic,
        "reproduced": found.reproduced,
    }


def likelihood(
    model: GrandCanonicalRBM,
    data: Dataset,
    kernel: MeanField,
    annealing: Annealing | None,
    key: RandomKey,
) -> Numbers:
    """Reconstruction and log-likelihood of each split, with the gap where the optimum is known."""
    numbers: Numbers = {"remarks": []}
    if annealing is None:
        found_errors = errors_by_split(model, data, key, kernel=kernel)
        return numbers | {split: errors(found) for split, found in found_errors.items()}
    found: Scores = scores(
        model,
        data,
        key,
        kernel=kernel,
        chains=annealing.chains,
        temperatures=annealing.temperatures,
    )
    numbers["remarks"] = found.remarks
    for one in found.splits:
        split = errors(one.reconstruction)
        if one.likelihood is not None:
            split |= {
                "log_likelihood": one.likelihood.mean,
                "lower": one.likelihood.lower,
                "upper": one.likelihood.upper,
                "rows_error": one.likelihood.rows_error,
            }
        if one.gap is not None:
            split["gap"] = asdict(one.gap)
        numbers[one.split] = split
    return numbers
