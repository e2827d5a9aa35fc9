"""Facts from files, checked before they are used: what is stored is data, never code.

A file names classes from a closed registry, and gives them the fields that they have, of the types
that these have. Everything else is a `ValueError` that names the file and the fact at fault.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from vrbm.printable import brief
from vrbm.reading import open_regular

#: The longest JSON file that is read, in bytes.
LONGEST = 1 << 28


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    return parse(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a regular file of at most `LONGEST` bytes; what is not UTF-8 is marked."""
    with open_regular(path) as file:
        content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise ValueError(f"{path} has more than {LONGEST:,} bytes: is it a file of vrbm?")
    return content.decode(errors="replace")


def parse(text: str, where: str) -> dict[str, Any]:
    """A JSON object in a text; `where` says in errors what holds it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is damaged: it holds no valid JSON ({error}).") from error
    if not isinstance(found, dict):
        raise ValueError(f"{where} is damaged: expected a JSON object, not {_brief(found)}.")
    return found


def fact(facts: Mapping[str, Any], name: str, hint: Any, where: str) -> Any:
    """The fact of this name, of the type that `hint` says."""
    if name not in facts:
        raise ValueError(f"{where} lacks {name!r}: another version of vrbm may have written it.")
    if not fits(facts[name], hint):
        raise ValueError(
            f"{where} has {_brief(facts[name])} for {name!r}: expected {_spelled(hint)}."
        )
    return facts[name]


def restored(registry: Mapping[str, type], facts: Any, where: str) -> Any:
    """The object that facts describe: the name of a class of the registry, and its settings."""
    if not isinstance(facts, dict):
        raise ValueError(f"{where} is {_brief(facts)}: expected a name and settings.")
    settings = dict(facts)
    name = fact(settings, "name", str, where)
    if name not in registry:
        raise ValueError(
            f"{where} names {_brief(name)}: expected one of {', '.join(registry)}. A newer version "
            "of vrbm may have written it."
        )
    del settings["name"]
    return built(registry[name], settings, f"{name} in {where}")


def built(kind: type, settings: Mapping[str, Any], where: str) -> Any:
    """`kind(**settings)` for a dataclass, with settings that it has and of their types."""
    hints = get_type_hints(kind)
    known = {field.name: hints[field.name] for field in fields(kind) if field.init}
    for name in settings:
        if name not in known:
            raise ValueError(
                f"{where} has {_brief(name)}, which is no setting of it: expected "
                f"{', '.join(known) or 'none'}."
            )
        if not _is_ready(settings[name], known[name]):
            fact(settings, name, known[name], where)
    try:
        return kind(**settings)
    except TypeError as error:
        raise ValueError(f"{where} lacks a setting ({error}).") from error
    except ValueError as error:
        raise ValueError(f"{where} is not valid: {error}") from error


def tensors(
    arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int | None, ...]], where: str
) -> dict[str, np.ndarray]:
    """The named arrays of floating numbers, finite, of these shapes; None stands for any length."""
    for name, shape in shapes.items():
        if name not in arrays:
            raise ValueError(f"{where} lacks the tensor {name!r}: the file is not whole.")
        array = arrays[name]
        if array.dtype not in (np.float32, np.float64):
            raise ValueError(f"{where} has {name} of type {array.dtype}: expected float32.")
        if len(shape) != array.ndim or any(
            length not in (None, found) for length, found in zip(shape, array.shape, strict=True)
        ):
            raise ValueError(f"{where} has {name} of shape {array.shape}: expected {shape}.")
        if not np.isfinite(array).all():
            raise ValueError(f"{where} has numbers in {name} that are not finite.")
    return {name: arrays[name] for name in shapes}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of a type; `Any` stands for a number, as potentials have them."""
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in options)
    if origin is Literal:
        return isinstance(value, str) and value in options
    if origin is list:
        return isinstance(value, list) and all(fits(one, options[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(one, options[1]) for one in value.values())
    if hint in (float, Any):
        return isinstance(value, float) or fits(value, int)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    if hint is type(None):
        return value is None
    return isinstance(value, hint)


def _is_ready(value: Any, hint: Any) -> bool:
    """Whether the value was restored before: no value of JSON, and of the right class."""
    is_json = isinstance(value, bool | int | float | str | list | dict | None)
    return not is_json and type(value) in (get_args(hint) or (hint,))


def _spelled(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if hint is Any:
        return "a number"
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _brief(value: Any) -> str:
    return brief(repr(value), 60)
