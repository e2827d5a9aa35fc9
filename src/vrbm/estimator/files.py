"""Estimators in safetensors files: the arrays of the model, and a header with all the rest."""

from collections.abc import Mapping
from dataclasses import asdict
from numbers import Real
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from vrbm import stored
from vrbm.estimator.coding import Coding
from vrbm.evaluation.baselines import INDEPENDENT, TREE, Baseline, ChowLiu, Independent
from vrbm.evaluation.likelihood import LogPartition
from vrbm.evaluation.pruning import cut
from vrbm.model import storage
from vrbm.training.run_facts import check_record

KIND = "vrbm estimator 1"
#: Fitted attributes that are plain values, and their types.
PLAIN = {
    "n_features_in_": int,
    "n_hidden_": int,
    "mean_size_": float,
    "chemical_potential_": float,
    "n_iter_": int,
    "n_samples_seen_": int,
    "history_": list[dict],
}
#: What units contribute, and its errors, where that is known.
EARNINGS = ("unit_earnings_", "unit_earnings_error_")
#: What earlier files do not say.
LATER = {"n_samples_seen_": 0}


def save(estimator: Any, path: Path | str) -> None:
    """Write the estimator. A `random_state` that is no number is stored as None."""
    whole, coding = estimator._whole, estimator.coding_
    settings = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in estimator.get_params(deep=False).items()
    }
    if not isinstance(settings["random_state"], Real | None):
        settings["random_state"] = None
    if not isinstance(settings.get("potential"), Real | None):
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
        "baselines": _described_baselines(estimator._baselines),
        "random": _described(estimator.random_state_),
        "fitted": {name: getattr(estimator, name) for name in PLAIN},
        "earnings": {
            name: getattr(estimator, name).tolist() for name in EARNINGS if hasattr(estimator, name)
        },
    }
    arrays = {name: np.asarray(getattr(whole, name)) for name in "Wbc"}
    storage.write(path, arrays | {"chains": estimator._chains}, header)


def load(kind: Any, path: Path | str) -> Any:
    """The estimator of a file, of the class `kind`; all that it says is checked before."""
    arrays, header = storage.read(path, KIND)
    where = str(path)
    name = stored.fact(header, "class", str, where)
    if name != kind.__name__:
        raise ValueError(
            f"{path} holds a {name[:60]!r}, not a {kind.__name__}: call vrbm.VRBM.load for a VRBM, "
            "and vrbm.RBM.load for an RBM."
        )
    chains = arrays.pop("chains", None)
    whole = storage.restore(stored.fact(header, "model", dict, where), arrays, where)
    width = whole.n_visible
    estimator = kind(**_settings(kind, stored.fact(header, "settings", dict, where), whole, where))
    fitted = stored.fact(header, "fitted", dict, where)
    for attribute, hint in PLAIN.items():
        setattr(estimator, attribute, stored.fact({**LATER, **fitted}, attribute, hint, where))
    for number, record in enumerate(estimator.history_, start=1):
        check_record(record, f"record {number} in {path}")
    if estimator.n_features_in_ != width or not 1 <= estimator.n_hidden_ <= whole.max_hidden:
        raise ValueError(
            f"{path} has {estimator.n_features_in_} columns and {estimator.n_hidden_} units in "
            f"use, but weights of shape {whole.W.shape}: the file is damaged."
        )
    earnings = stored.fact({"earnings": {}, **header}, "earnings", dict, where)
    for attribute in EARNINGS if earnings else ():
        values = np.array(stored.fact(earnings, attribute, list[float], where))
        if len(values) != estimator.n_hidden_ or not np.isfinite(values).all():
            raise ValueError(f"{path} has {attribute} for other units: the file is damaged.")
        setattr(estimator, attribute, values)
    names = stored.fact(header, "feature_names", list[str] | None, where)
    if names is not None:
        if len(names) != width:
            raise ValueError(f"{path} has {len(names)} names for {width} columns.")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.coding_ = _coding(stored.fact(header, "coding", list, where), width, where)
    estimator.random_state_ = _generator(stored.fact(header, "random", list | None, where), where)
    partition = stored.fact(header, "partition", dict | None, where)
    estimator._partition = (
        None if partition is None else stored.built(LogPartition, partition, f"log Z in {path}")
    )
    # Earlier files have none.
    facts = stored.fact({"baselines": {}, **header}, "baselines", dict, where)
    estimator._baselines = _baselines(facts, width, f"the baselines in {path}")
    expected = {"chains": (None, width)}
    stored.tensors({} if chains is None else {"chains": chains}, expected, where)
    estimator._whole, estimator._chains = whole, chains
    estimator.model_ = cut(whole, estimator.n_hidden_)
    return estimator


def _settings(kind: Any, settings: dict[str, Any], whole: Any, where: str) -> dict[str, Any]:
    """The parameters of an estimator, of their types; a potential is that of the model."""
    hints = get_type_hints(kind.__init__) | {
        "potential": float | dict | None,
        "random_state": int | None,
    }
    for name in settings:
        if name not in kind._get_param_names():
            raise ValueError(f"{where} has {name[:60]!r}: {kind.__name__} has no such parameter.")
        stored.fact(settings, name, hints[name], where)
    if isinstance(settings.get("potential"), dict):
        return settings | {"potential": whole.potential}
    return settings


def _coding(facts: list[Any], width: int, where: str) -> Coding:
    kinds = ("±1", "0/1", "[0, 1]", "scaled")
    match facts:
        case [str(kind), list(low), list(high)] if (
            kind in kinds
            and len(low) == len(high) == width
            and stored.fits([*low, *high], list[float])
            and (np.array(low) < np.array(high)).all()
        ):
            return Coding(kind, np.array(low, float), np.array(high, float))
    raise ValueError(f"{where} has no valid coding of {width} columns: the file is damaged.")


def _described_baselines(found: Mapping[str, Baseline]) -> dict[str, Any]:
    """Probabilities and the tree, as plain facts; empty where there are none."""
    facts: dict[str, Any] = {}
    match found.get(INDEPENDENT):
        case Independent(rows, ones):
            facts |= {"rows": rows, "ones": ones.tolist()}
    match found.get(TREE):
        case ChowLiu(_, parents, given, chance_edges):
            facts |= {"parents": parents.tolist(), "given": given.tolist()}
            facts["chance_edges"] = chance_edges
    return facts


def _baselines(facts: dict[str, Any], width: int, where: str) -> dict[str, Baseline]:
    """Baselines of N = `width` columns, whose probabilities and tree are valid."""
    if not facts:
        return {}
    rows = stored.fact(facts, "rows", int, where)
    if rows < 1:
        raise ValueError(f"{where} have {rows} rows: the file is damaged.")
    ones = _probabilities(stored.fact(facts, "ones", list[float], where), (width,), where)
    found: dict[str, Baseline] = {INDEPENDENT: Independent(rows, ones)}
    if "parents" in facts:
        parents = np.array(stored.fact(facts, "parents", list[int], where), np.int64)
        if parents.shape != (width,) or not _is_tree(parents):
            raise ValueError(f"{where} have no tree of {width} columns: the file is damaged.")
        given = stored.fact(facts, "given", list[list[float]], where)
        table = _probabilities(given, (2, width), where)
        # Files of earlier versions do not say: any edge may be made by chance.
        chance_edges = stored.fact({"chance_edges": width - 1, **facts}, "chance_edges", int, where)
        if not 0 <= chance_edges < width:
            raise ValueError(f"{where} have {chance_edges} edges by chance: the file is damaged.")
        found[TREE] = ChowLiu(rows, parents, table, chance_edges)
    return found


def _probabilities(values: list[Any], shape: tuple[int, ...], where: str) -> np.ndarray:
    """Numbers of this shape above 0 and below 1."""
    lengths = {len(one) if isinstance(one, list) else None for one in values}
    if len(lengths) == 1:
        found = np.array(values, float)
        if found.shape == shape and ((found > 0) & (found < 1)).all():
            return found
    raise ValueError(f"{where} have no probabilities of shape {shape}: the file is damaged.")


def _is_tree(parents: np.ndarray) -> bool:
    """Whether parents (N,) lead from every column to column 0, its own parent."""
    n = len(parents)
    if not ((parents >= 0) & (parents < n)).all() or parents[0] != 0:
        return False
    for _ in range(n.bit_length()):
        parents = parents[parents]
    return not parents.any()


def _described(random: np.random.RandomState) -> list[Any] | None:
    """Where the generator stands; None for another kind than numpy's own, which begins anew."""
    state = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return None
    inner = state["state"]
    return [inner["key"].tolist(), inner["pos"], state["has_gauss"], state["gauss"]]


def _generator(state: list[Any] | None, where: str) -> np.random.RandomState:
    """The generator where it stood; a position beyond its key would read foreign memory."""
    random = np.random.RandomState()
    match state:
        case None:
            return random
        case [list(key), int(position), 0 | 1 as has_gauss, float(gauss)] if (
            len(key) == 624
            and stored.fits(key, list[int])
            and all(0 <= word < 1 << 32 for word in key)
            and 0 <= position <= 624
        ):
            random.set_state(("MT19937", np.array(key, np.uint32), position, has_gauss, gauss))
            return random
    raise ValueError(f"{where} has no valid random state: the file is damaged.")
