"""Checkpoints: everything that the next epoch depends on, in one file that is whole or absent."""

import dataclasses
import platform
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training import arithmetic, negative, tempered
from vrbm.training.config import Config
from vrbm.training.loop import TrainState, start
from vrbm.training.optimizer import Optimizer

KIND = "vrbm checkpoint 1"


def save(path: Path | str, state: TrainState, config: Config, data_hash: str) -> None:
    """Write parameters, optimizer, chains, offsets, key, epoch, window and settings."""
    arrays = {name: np.asarray(value) for name, value in _named(state).items()}
    arrays["key"] = np.asarray(jax.random.key_data(state.key))
    header = {
        "kind": KIND,
        "model": storage.describe(state.model),
        "config": describe(config),
        "data": data_hash,
        "epoch": state.epoch,
        "width": state.width,
        "key": str(jax.random.key_impl(state.key)),
        "versions": {"jax": jax.__version__, "python": platform.python_version()},
        "arithmetic": arithmetic.facts(),
    }
    storage.write(path, arrays, header)


def load(path: Path | str, data: Any, data_hash: str) -> tuple[TrainState, Config]:
    """Read a state and its settings, to go on with the same data."""
    arrays, header = storage.read(path, KIND)
    if header["data"] != data_hash:
        raise ValueError(
            f"{path} belongs to data with hash {header['data'][:12]}…, but the data given have "
            f"{data_hash[:12]}…: pass the data that the training began with."
        )
    arithmetic.compare(header.get("arithmetic"), path)
    config = restore(header["config"])
    parameters = {name: arrays[f".carry.model.{name}"] for name in "Wbc"}
    model = storage.restore(header["model"], parameters)
    key = jax.random.wrap_key_data(jnp.asarray(arrays.pop("key")), impl=header["key"])
    blank = start(model, data, config, key)
    names = list(_named(blank))
    if set(names) != set(arrays):
        differ = sorted(set(names) ^ set(arrays))
        raise ValueError(
            f"{path} does not fit its own settings, it differs in {differ[:3]}: another version of "
            "vrbm may have written it. vrbm.training.checkpoint.load_model reads its model."
        )
    leaves = [jnp.asarray(arrays[name]) for name in names]
    carry = jax.tree.unflatten(jax.tree.structure(blank.carry), leaves)
    return TrainState(carry, key, header["epoch"], header["width"]), config


def load_model(path: Path | str) -> GrandCanonicalRBM:
    """The model of a checkpoint, without what is needed to go on."""
    arrays, header = storage.read(path, KIND)
    return storage.restore(
        header["model"], {name: arrays[f".carry.model.{name}"] for name in "Wbc"}
    )


def _named(state: TrainState) -> dict[str, Any]:
    """The arrays of the carry by their place in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state.carry)
    return {f".carry{jax.tree_util.keystr(path)}": leaf for path, leaf in leaves}


def describe(config: Config) -> dict[str, Any]:
    """Settings as plain facts."""
    facts = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    facts["negative"] = describe_kernel(config.negative)
    facts["optimizer"] = dataclasses.asdict(config.optimizer)
    return facts


def describe_kernel(kernel: negative.NegativePhase) -> dict[str, Any]:
    """The name and the settings of a negative phase."""
    settings = {field.name: getattr(kernel, field.name) for field in dataclasses.fields(kernel)}
    return {"name": type(kernel).__name__, **settings}


def restore(facts: dict[str, Any]) -> Config:
    """Settings from plain facts."""
    settings = dict(facts["negative"])
    name = settings.pop("name")
    kernel = getattr(tempered if name == "Tempered" else negative, name)(**settings)
    rest = {key: value for key, value in facts.items() if key not in ("negative", "optimizer")}
    return Config(negative=kernel, optimizer=Optimizer(**facts["optimizer"]), **rest)
