"""Estimators in safetensors files: the arrays of the model, and a header with all the rest."""

from dataclasses import asdict
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from vrbm.estimator.coding import Coding
from vrbm.evaluation.likelihood import LogPartition
from vrbm.evaluation.pruning import cut
from vrbm.model import storage

KIND = "vrbm estimator 1"
PLAIN = ("n_features_in_", "n_hidden_", "mean_size_", "chemical_potential_", "n_iter_", "history_")


def save(estimator: Any, path: Path | str) -> None:
    """Write the estimator. A `random_state` that is no number is stored as None."""
    whole, coding = estimator._whole, estimator.coding_
    settings = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in estimator.get_params(deep=False).items()
    }
    if not isinstance(settings["random_state"], Real | None):
        settings["random_state"] = None
    if not isinstance(settings.get("potential", 0.0), Real):
        settings["potential"] = storage.describe_potential(whole.potential)
    names = getattr(estimator, "feature_names_in_", None)
    partition = estimator._partition
    header = {
        "kind": KIND,
        "class": type(estimator).__name__,
        "settings": settings,
        "model": storage.describe(whole),
        "coding": [coding.kind, coding.low.tolist(), coding.high.tolist()],
        "feature_names": None if names is None else list(names),
        "partition": None if partition is None else asdict(partition),
        "random": _described(estimator.random_state_),
        "fitted": {name: getattr(estimator, name) for name in PLAIN},
    }
    arrays = {name: np.asarray(getattr(whole, name)) for name in "Wbc"}
    storage.write(path, arrays | {"chains": estimator._chains}, header)


def load(kind: Any, path: Path | str) -> Any:
    """The estimator of a file, of the class `kind`."""
    arrays, header = storage.read(path, KIND)
    if header["class"] != kind.__name__:
        raise ValueError(
            f"{path} holds a {header['class']}, not a {kind.__name__}: "
            f"call vrbm.{header['class']}.load."
        )
    settings = header["settings"]
    whole = storage.restore(header["model"], arrays)
    if isinstance(settings.get("potential"), dict):
        settings["potential"] = whole.potential
    estimator = kind(**settings)
    for name, value in header["fitted"].items():
        setattr(estimator, name, value)
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    kind_of_data, low, high = header["coding"]
    estimator.coding_ = Coding(kind_of_data, np.array(low), np.array(high))
    estimator.random_state_ = _generator(header["random"])
    partition = header["partition"]
    estimator._partition = None if partition is None else LogPartition(**partition)
    estimator._whole, estimator._chains = whole, arrays["chains"]
    estimator.model_ = cut(whole, estimator.n_hidden_)
    return estimator


def _described(random: np.random.RandomState) -> list[Any] | None:
    """Where the generator stands; None for another kind than numpy's own, which begins anew."""
    state = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return None
    inner = state["state"]
    return [inner["key"].tolist(), inner["pos"], state["has_gauss"], state["gauss"]]


def _generator(state: list[Any] | None) -> np.random.RandomState:
    random = np.random.RandomState()
    if state is not None:
        random.set_state(("MT19937", *state))
    return random
