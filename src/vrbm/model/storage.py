"""Models in safetensors files: arrays, and a JSON header that says what they are."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import vrbm
from vrbm import memory, stored
from vrbm.files import CannotWrite, atomic
from vrbm.model.layers import Binary, Categorical, Spin, Unit
from vrbm.model.potential import (
    Constant,
    Custom,
    FixedSize,
    Local,
    Penalizing,
    Potential,
    Reservoir,
    Unbounded,
)
from vrbm.model.rbm import GrandCanonicalRBM

KIND = "vrbm model 1"
#: All that a file may name.
POTENTIALS = {
    kind.__name__: kind for kind in (Penalizing, Constant, Unbounded, FixedSize, Local, Reservoir)
}
UNITS = {kind.__name__: kind for kind in (Spin, Binary, Categorical)}


def save(model: GrandCanonicalRBM, path: Path | str) -> None:
    """Write the model to one file, whole or not at all."""
    arrays = {name: np.asarray(getattr(model, name)) for name in "Wbc"}
    write(path, arrays, {"kind": KIND, "model": describe(model)})


def load(path: Path | str) -> GrandCanonicalRBM:
    """Read a model that `save` wrote."""
    arrays, header = read(path, KIND)
    return restore(stored.fact(header, "model", dict, str(path)), arrays, str(path))


def describe(model: GrandCanonicalRBM) -> dict[str, Any]:
    """Unit types and potential, as plain facts."""
    return {
        "visible": describe_unit(model.visible),
        "hidden": describe_unit(model.hidden),
        "potential": describe_potential(model.potential),
    }


def describe_unit(unit: Unit) -> str | dict[str, Any]:
    """The name of a type of units, with its settings where it has some."""
    name = type(unit).__name__
    if UNITS.get(name) is not type(unit):
        raise ValueError(
            f"units {name} are a class of your own, which a file cannot hold: save W, b and c "
            "yourself."
        )
    settings = {field.name: getattr(unit, field.name) for field in fields(unit) if field.init}
    return {"name": name, **settings} if settings else name


def describe_potential(potential: Potential) -> dict[str, Any]:
    """The name and the settings of a potential."""
    facts: dict[str, Any] = {"name": type(potential).__name__}
    if isinstance(potential, Custom):
        raise ValueError(
            f"potential {potential.function!r} is a function, which a file cannot hold: "
            "save W, b and c yourself."
        )
    if POTENTIALS.get(facts["name"]) is not type(potential):
        raise ValueError(
            f"potential {facts['name']} is a class of your own, which a file cannot hold: "
            "save W, b and c yourself."
        )
    for field in fields(potential):
        value = getattr(potential, field.name)
        if field.init:
            # 0.2 in place of 0.20000000298023224, which is the same number in float32.
            facts[field.name] = value if isinstance(value, bool) else float(str(np.asarray(value)))
    return facts


def restore(facts: dict[str, Any], arrays: dict[str, np.ndarray], where: str) -> GrandCanonicalRBM:
    """The model of these facts and arrays; `where` says in errors what holds them."""
    potential = stored.restored(POTENTIALS, facts.get("potential"), f"the potential in {where}")
    visible, hidden = (
        _restored_unit(facts.get(layer), f"the {layer} units in {where}")
        for layer in ("visible", "hidden")
    )
    found = stored.tensors(arrays, {"W": (None, None), "b": (None,), "c": (None,)}, where)
    try:
        return GrandCanonicalRBM(**found, visible=visible, hidden=hidden, potential=potential)
    except ValueError as error:
        raise ValueError(f"{where} holds no valid model: {error}") from error


def _restored_unit(facts: Any, where: str) -> Any:
    """The type of units that `describe_unit` described."""
    return stored.restored(UNITS, facts if isinstance(facts, dict) else {"name": facts}, where)


def write(path: Path | str, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Arrays and header in one safetensors file."""
    header = {**header, "version": vrbm.__version__}
    with atomic(Path(path)) as temporary:
        try:
            save_file(arrays, temporary, metadata={"vrbm": json.dumps(header)})
        except SafetensorError as error:
            raise CannotWrite(Path(path), error) from error


def read(path: Path | str, *kinds: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and header of a file of one of these kinds."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: pass a file that vrbm wrote.")
    memory.require(2 * path.stat().st_size, f"reading {path}", "free some memory")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"{path} is no whole safetensors file of numbers ({error}).") from error
    for name, array in arrays.items():
        if array.dtype == np.float64 and jnp.zeros(0).dtype != np.float64:
            raise ValueError(
                f"{path} holds {name} in float64, which JAX has switched off: "
                'run jax.config.update("jax_enable_x64", True) first.'
            )
    header = stored.parse(metadata.get("vrbm", "{}"), f"the header of {path}")
    if header.get("kind") not in kinds:
        found = header.get("kind", "no vrbm file")
        raise ValueError(f"{path} holds {str(found)[:60]!r}; expected {kinds[0]!r}.")
    return arrays, header
