"""Models in safetensors files: arrays, and a JSON header that says what they are."""

import json
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import vrbm
from vrbm.files import CannotWrite, atomic
from vrbm.model import potential as potentials
from vrbm.model import units
from vrbm.model.rbm import GrandCanonicalRBM

KIND = "vrbm model 1"


def save(model: GrandCanonicalRBM, path: Path | str) -> None:
    """Write the model to one file, whole or not at all."""
    arrays = {name: np.asarray(getattr(model, name)) for name in "Wbc"}
    write(path, arrays, {"kind": KIND, "model": describe(model)})


def load(path: Path | str) -> GrandCanonicalRBM:
    """Read a model that `save` wrote."""
    arrays, header = read(path, KIND)
    return restore(header["model"], arrays)


def describe(model: GrandCanonicalRBM) -> dict[str, Any]:
    """Unit types and potential, as plain facts."""
    return {
        "visible": type(model.visible).__name__,
        "hidden": type(model.hidden).__name__,
        "potential": describe_potential(model.potential),
    }


def describe_potential(potential: potentials.Potential) -> dict[str, Any]:
    """The name and the settings of a potential."""
    facts: dict[str, Any] = {"name": type(potential).__name__}
    if getattr(potentials, facts["name"], None) is not type(potential):
        raise ValueError(
            f"potential {facts['name']} is a class of your own, which a file cannot hold: "
            "save W, b and c yourself."
        )
    for field in fields(potential):
        value = getattr(potential, field.name)
        if callable(value):
            raise ValueError(
                f"potential {value!r} is a function, which a file cannot hold: "
                "save W, b and c yourself."
            )
        if field.init:
            facts[field.name] = value if isinstance(value, bool) else float(value)
    return facts


def restore(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> GrandCanonicalRBM:
    """The model of these facts and arrays."""
    settings = dict(facts["potential"])
    potential = _named(potentials, settings.pop("name"))(**settings)
    W, b, c = (jnp.asarray(arrays[name]) for name in "Wbc")
    visible, hidden = (_named(units, facts[layer])() for layer in ("visible", "hidden"))
    return GrandCanonicalRBM(W, b, c, visible, hidden, potential)


def _named(module: ModuleType, name: str) -> Any:
    """A class of the package by its name."""
    if not hasattr(module, name):
        raise ValueError(
            f"the file needs {name}, which {module.__name__} does not have: "
            "it was written by a newer version, or with a class of your own."
        )
    return getattr(module, name)


def write(path: Path | str, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Arrays and header in one safetensors file."""
    header = {**header, "version": vrbm.__version__}
    with atomic(Path(path)) as temporary:
        try:
            save_file(arrays, temporary, metadata={"vrbm": json.dumps(header)})
        except SafetensorError as error:
            raise CannotWrite(Path(path), error) from error


def read(path: Path | str, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and header of a file of that kind."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: pass a file that vrbm wrote.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is no whole safetensors file ({error}).") from error
    for name, array in arrays.items():
        if array.dtype == np.float64 and jnp.zeros(0).dtype != np.float64:
            raise ValueError(
                f"{path} holds {name} in float64, which JAX has switched off: "
                'run jax.config.update("jax_enable_x64", True) first.'
            )
    header = json.loads(metadata.get("vrbm", "{}"))
    if header.get("kind") != kind:
        raise ValueError(f"{path} holds {header.get('kind', 'no vrbm file')!r}; expected {kind!r}.")
    return arrays, header
