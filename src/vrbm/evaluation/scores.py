"""Reconstruction and likelihood of a model side by side, for each split of a data set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from vrbm.data import ising
from vrbm.data.dataset import Dataset, Domain
from vrbm.evaluation import baselines
from vrbm.evaluation.chain_blocks import Progress
from vrbm.evaluation.likelihood import (
    LogLikelihood,
    LogPartition,
    free_energies,
    from_both_sides,
    mean_log_likelihood,
    narrowed,
)
from vrbm.evaluation.path import fields_of_mean
from vrbm.evaluation.reconstruction import ReconstructionErrors, reconstruction_errors
from vrbm.model import GrandCanonicalRBM, pseudo
from vrbm.model.weights import error_of_mean
from vrbm.training.exchange import in_use
from vrbm.training.negative import MeanField
from vrbm.training.source import encoded
from vrbm.typing import Numbers, RandomKey

#: Rows for base rates, and as starts of backward runs.
SOME = 10_000
#: Training rows by which the contributions of units are measured.
EARNED_BY = 1000


@dataclass(frozen=True)
class Gap:
    """How far the model is from the distribution that the rows come from, on the same rows."""

    optimum: float
    """mean of log p_true(v)"""
    mean: float
    """mean of log p_true(v) − log p(v), an estimate of the Kullback-Leibler divergence"""
    rows_error: float
    """its standard error from the sampling of the rows; that from log Z comes on top"""


@dataclass(frozen=True)
class SplitScores:
    """Scores of one split."""

    split: str
    reconstruction: ReconstructionErrors
    likelihood: LogLikelihood | None
    """None for values in [0, 1]"""
    gap: Gap | None
    """None where the true distribution is not known"""
    baselines: dict[str, float]
    """mean log-likelihood of models that any other should beat, fitted to the training rows"""


@dataclass(frozen=True)
class Contributions:
    """What the log pseudo-likelihood of training rows loses without each hidden unit, in nats."""

    mean: list[float]
    error: list[float]
    """standard errors over the rows"""


@dataclass(frozen=True)
class Scores:
    """Scores of a model on a data set."""

    splits: list[SplitScores]
    partition: LogPartition | None
    highest: float | None
    """the mean log-likelihood of the true distribution, over all that it could give"""
    remarks: list[str]
    contributions: Contributions | None = None
    """what each hidden unit contributes, of a layer that found its size"""


def scores(
    model: GrandCanonicalRBM,
    data: Dataset,
    key: RandomKey,
    *,
    kernel: MeanField = MeanField(),  # noqa: B008 (frozen)
    chains: int | None = None,
    temperatures: int | None = None,
    file: Path | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Errors by `kernel`, and the likelihood, with the exact optimum for sets of Ising mixtures.

    Annealed chains begin at the base rates of the training rows. Backward runs begin at training
    rows, or, if the outcome shows that the model does not give such rows, at ends of forward runs.
    Without `chains` and `temperatures`, effort grows as in `likelihood.narrowed`. If one is given,
    it is taken as it is, with 500 chains or 1000 temperatures for the other. Blocks of chains
    that are in `file` are not run again.
    """
    partition, remarks, temperatures_of_data = None, [], None
    if data.domain is Domain.UNIT:
        remarks.append("Values in [0, 1] have no likelihood under two-valued units.")
    else:
        chosen = np.unique(np.linspace(0, len(data.train) - 1, SOME).astype(int))
        rows = encoded(model.visible, data.train[chosen], data.domain)
        estimate: Callable[..., tuple[LogPartition, list[str]]] = narrowed
        settings: dict[str, Any] = {
            "base": fields_of_mean(model, rows),
            "progress": progress,
            "file": file,
        }
        if chains is not None or temperatures is not None:
            estimate = from_both_sides
            settings["chains"] = 500 if chains is None else chains
            settings["temperatures"] = 1000 if temperatures is None else temperatures
        partition, doubts = estimate(model, key, rows, **settings)
        remarks += doubts
        temperatures_of_data = mixture_temperatures(data)
    highest = None
    if temperatures_of_data is not None and data.image_shape is not None:
        highest = _highest(data.image_shape[0], temperatures_of_data)
    fitted: Mapping[str, baselines.Baseline] = {}
    if partition is not None:
        fitted = baselines.fit_all(data.train, per_unit=model.visible.per_unit)
    splits = []
    for split, rows, _ in data.splits():
        errors = reconstruction_errors(model, rows, key, kernel=kernel, domain=data.domain)
        likelihood, gap, means = None, None, {}
        if partition is not None:
            log_weights = -free_energies(model, rows, data.domain)
            likelihood = mean_log_likelihood(log_weights, partition)
            if temperatures_of_data is not None:
                gap = _gap(rows, log_weights - partition.log_partition, temperatures_of_data)
            beside = baselines.score_all(fitted, rows, log_weights)
            remarks += [f"{split} rows: {words}" for words in likelihood.shortfalls(beside)]
            means = {name: score.mean for name, score in beside.items()}
        splits.append(SplitScores(split, errors, likelihood, gap, means))
    contributions = None
    if model.potential.is_exchanged and data.domain is not Domain.UNIT:
        contributions = contributions_of_units(model, data)
    return Scores(splits, partition, highest, remarks, contributions)


def contributions_of_units(model: GrandCanonicalRBM, data: Dataset) -> Contributions:
    """`pseudo.contributions` over some training rows, of the units in use, largest first."""
    chosen = np.unique(np.linspace(0, len(data.train) - 1, EARNED_BY).astype(int))
    rows = encoded(model.visible, data.train[chosen], data.domain)
    found = pseudo.contributions(model, jnp.asarray(rows, model.W.dtype))
    mean, error = np.asarray(found.mean), np.asarray(found.error)
    order = np.argsort(-mean, kind="stable")
    order = order[in_use(model)[order]]
    return Contributions(mean[order].tolist(), error[order].tolist())


def mixture_temperatures(data: Dataset) -> Numbers | None:
    """The temperatures of a set that `ising.mixture_set` made with J = 1, else None.

    A set counts as such by its name, its shape and its labels, and if the mean log-probability of
    its training rows is within 6 standard errors of the exact value.
    """
    square = data.image_shape is not None and data.image_shape[0] == data.image_shape[1]
    labels = data.train_labels
    if not (data.name == "ising" and square and data.domain is Domain.SPIN and labels is not None):
        return None
    if labels.dtype.kind != "f" or (labels <= 0).any():
        return None
    T = np.unique(labels).astype(np.float64)
    log_p = ising.mixture_log_probability(data.train, T)
    entropy = ising.highest_log_likelihood(int(np.sqrt(data.n_visible)), T)
    error = max(error_of_mean(log_p), 1e-9)
    return T if abs(log_p.mean() - entropy) < 6 * error else None


def _highest(L: int, T: Numbers) -> float:
    return ising.highest_log_likelihood(L, T)


def _gap(rows: np.ndarray, log_p: np.ndarray, T: Numbers) -> Gap:
    true = ising.mixture_log_probability(rows, T)
    differences = true - log_p
    return Gap(float(true.mean()), float(differences.mean()), error_of_mean(differences))
