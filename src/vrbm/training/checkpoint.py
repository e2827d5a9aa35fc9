"""Checkpoints: everything that the next epoch depends on, in one file that is whole or absent."""

import dataclasses
from pathlib import Path
from typing import Any, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np

from vrbm import stored
from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training import arithmetic
from vrbm.training.config import Config
from vrbm.training.control import MOST_TURNS, Control, Kept
from vrbm.training.exchange import Search
from vrbm.training.loop import TrainState, start
from vrbm.training.negative import Gibbs, MeanField, NegativePhase, Persistent
from vrbm.training.optimizer import Optimizer
from vrbm.training.size_curve import SizeCurve
from vrbm.training.source import as_dataset
from vrbm.training.tempered import Tempered
from vrbm.typing import RandomKey, Visible

KIND = "vrbm checkpoint 7"
#: Their models can be read, but their states cannot be resumed.
EARLIER = tuple(f"vrbm checkpoint {number}" for number in range(1, 7))
#: With what the names of arrays begin that a run may go back to after a look.
KEPT = ".kept."
#: The correlation of chains that do not move, to which every phase that can adapt does.
SLOWEST = 1.0
#: All negative phases that a file may name.
KERNELS = {kind.__name__: kind for kind in (MeanField, Gibbs, Persistent, Tempered)}


def save(path: Path | str, state: TrainState, config: Config, data_hash: str) -> None:
    """Write parameters, optimizer, chains, offsets, key, epoch, window and settings."""
    arrays = {name: np.asarray(value) for name, value in _named(state).items()}
    arrays["key"] = np.asarray(jax.random.key_data(state.key))
    former = {} if state.control.kept is None else vars(state.control.kept)
    arrays |= {KEPT + name: np.asarray(x) for name, x in former.items() if x is not None}
    header = {
        "kind": KIND,
        "model": storage.describe(state.model),
        "config": describe(config),
        "data": data_hash,
        "epoch": state.epoch,
        "width": state.width,
        "model_epoch": state.model_epoch,
        "control": state.control.facts(),
        "search": None if state.search is None else state.search.facts(),
        "key": str(jax.random.key_impl(state.key)),
        "arithmetic": arithmetic.facts(),
    }
    storage.write(path, arrays, header)


def load(path: Path | str, data: Any, data_hash: str) -> tuple[TrainState, Config]:
    """Read a state and its settings, to go on with the same data."""
    arrays, header = storage.read(path, KIND)
    where = str(path)
    if (began_with := stored.fact(header, "data", str, where)) != data_hash:
        raise ValueError(
            f"{path} belongs to data with hash {began_with[:12]}…, but the data given have "
            f"{data_hash[:12]}…: pass the data that the training began with."
        )
    arithmetic.compare(header.get("arithmetic"), path)
    config = restore(stored.fact(header, "config", dict, where), where)
    epoch, width = (stored.fact(header, name, int, where) for name in ("epoch", "width"))
    model = _model(arrays, header, where)
    config = config.resolved(model, len(as_dataset(data).train))
    if not (0 <= epoch <= config.n_epochs and 1 <= width <= model.max_hidden):
        raise ValueError(
            f"{path} has epoch {epoch} of {config.n_epochs} and a window of {width} of "
            f"{model.max_hidden} units: the file is damaged."
        )
    key = _key(arrays.pop("key", None), stored.fact(header, "key", str, where), where)
    control = _control(arrays, stored.fact(header, "control", dict, where), model, epoch, where)
    search = _search(header.get("search"), model, config, epoch, where)
    model_epoch = stored.fact(header, "model_epoch", int, where)
    if not 0 <= model_epoch <= epoch:
        raise ValueError(f"{path} has a model of epoch {model_epoch} in epoch {epoch}.")
    is_adapted = _check_claims(arrays, model, config, key, where)
    blank = start(model, data, config, key)
    if is_adapted:
        negative = config.negative.adapted(blank.carry.negative, SLOWEST)
        blank = dataclasses.replace(
            blank, carry=dataclasses.replace(blank.carry, negative=negative)
        )
    expected = _named(blank)
    if set(expected) != set(arrays):
        differ = sorted(set(expected) ^ set(arrays))
        raise ValueError(
            f"{path} does not fit its own settings, it differs in {differ[:3]}: another version of "
            "vrbm may have written it. vrbm.training.checkpoint.load_model reads its model."
        )
    for name, blank_leaf in expected.items():
        found = arrays[name]
        if (found.shape, found.dtype) != (blank_leaf.shape, blank_leaf.dtype):
            raise ValueError(
                f"{path} has {name} of shape {found.shape} and type {found.dtype}, but its "
                f"settings need {blank_leaf.shape} and {blank_leaf.dtype}: the file is damaged."
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{path} has numbers in {name} that are not finite.")
    leaves = [jnp.asarray(arrays[name]) for name in expected]
    carry = jax.tree.unflatten(jax.tree.structure(blank.carry), leaves)
    chains = config.negative.chains_of(carry.negative)
    if control.kept is not None:
        shapes = [None if x is None else x.shape for x in (control.kept.chains, chains)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"{path} keeps other chains than it trains with: it is damaged.")
    return TrainState(carry, key, epoch, width, control, model_epoch, search), config


def _control(
    arrays: dict[str, np.ndarray],
    facts: dict[str, Any],
    model: GrandCanonicalRBM,
    epoch: int,
    where: str,
) -> Control:
    """What a run remembers of its looks; takes its arrays out of `arrays`."""
    hints = {name: hint for name, hint in get_type_hints(Control).items() if name != "kept"}
    known = {
        name: stored.fact(facts, name, hint, f"the control in {where}")
        for name, hint in hints.items()
    }
    for name, value in known.items():
        if isinstance(value, int) and not 0 <= value <= max(epoch, MOST_TURNS):
            raise ValueError(f"{where} has {name} = {value} in epoch {epoch}: it is damaged.")
    return Control(**known, kept=_former(arrays, KEPT, model, where))


def _search(
    facts: Any, model: GrandCanonicalRBM, config: Config, epoch: int, where: str
) -> Search | None:
    """Where the search for the size stood."""
    if facts is None:
        return None
    if not (isinstance(facts, dict) and model.potential.is_exchanged and config.sizing):
        raise ValueError(f"{where} holds a search for a size that its model does not have.")
    place = f"the search in {where}"
    curve = stored.built(SizeCurve, stored.fact(facts, "curve", dict, place), place)
    search = stored.built(Search, facts | {"curve": curve}, place)
    is_in_time = 0 <= search.begin <= epoch <= search.end <= config.n_epochs
    if not is_in_time or min([search.size, *curve.sizes]) < 1:
        raise ValueError(f"{where} holds a search for a size that cannot be: it is damaged.")
    return search


def _former(
    arrays: dict[str, np.ndarray], prefix: str, model: GrandCanonicalRBM, where: str
) -> Kept | None:
    """A model and its chains to go back to; takes its arrays out of `arrays`."""
    names = [field.name for field in dataclasses.fields(Kept)]
    found = {name: arrays.pop(prefix + name) for name in names if prefix + name in arrays}
    if not found:
        return None
    n, dtype = model.n_visible, model.W.dtype
    units = len(found["b"]) if "b" in found and found["b"].ndim == 1 else -1
    shapes = {"W": (units, n), "b": (units,), "c": (n,), "h_offset": (units,)}
    for name in shapes | found:
        array = found.get(name)
        wanted = shapes.get(name, array.shape if array is not None else ())
        if array is None or (array.shape, array.dtype) != (wanted, dtype):
            raise ValueError(f"{where} keeps an array {name} that does not fit its model.")
        if not np.isfinite(array).all():
            raise ValueError(f"{where} has numbers in {name} that are not finite.")
    may_grow = model.potential.is_unbounded or model.potential.is_exchanged
    if units != model.max_hidden and not may_grow:
        raise ValueError(f"{where} keeps {units} units, but its model has {model.max_hidden}.")
    restored: dict[str, Any] = {name: jnp.asarray(x) for name, x in found.items()}
    return Kept(**{"chains": None} | restored)


def _check_claims(
    arrays: dict[str, np.ndarray],
    model: GrandCanonicalRBM,
    config: Config,
    key: RandomKey,
    where: str,
) -> bool:
    """Raise if chains or directions are not as many as the settings claim, before any is made.

    Chains may be those of the start or those adapted to slow mixing: returns whether the latter.
    """
    stiff = sum(name.startswith(".carry.stiff.directions") for name in arrays) // 3
    row = jnp.zeros((1, model.n_visible), model.W.dtype)

    def adapted(model: GrandCanonicalRBM, row: Visible, key: RandomKey) -> Any:
        begun: Any = config.negative.start(model, row, key)
        return config.negative.adapted(begun, SLOWEST)

    found = sorted(x.size for name, x in arrays.items() if name.startswith(".carry.negative"))
    if stiff == config.stiff:
        for is_adapted, begin in enumerate((config.negative.start, adapted)):
            try:
                claimed = jax.eval_shape(begin, model, row, key)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{where} has chains that no memory holds ({error}).") from error
            if sorted(leaf.size for leaf in jax.tree.leaves(claimed)) == found:
                return bool(is_adapted)
    raise ValueError(
        f"{where} does not hold the chains and stiff directions that its settings claim: "
        "the file is damaged."
    )


def load_model(path: Path | str) -> GrandCanonicalRBM:
    """The model of a checkpoint, of earlier versions too, without what is needed to resume."""
    arrays, header = storage.read(path, KIND, *EARLIER)
    return _model(arrays, header, str(path))


def _model(arrays: dict[str, np.ndarray], header: dict[str, Any], where: str) -> GrandCanonicalRBM:
    prefix = ".carry.model."
    parameters = {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    return storage.restore(stored.fact(header, "model", dict, where), parameters, where)


def _key(data: np.ndarray | None, impl: str, where: str) -> RandomKey:
    if data is None or data.dtype != np.uint32 or data.ndim != 1:
        raise ValueError(f"{where} lacks its random key: the file is not whole.")
    try:
        return jax.random.wrap_key_data(jnp.asarray(data), impl=impl)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} has no valid random key ({error}).") from error


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


def describe_kernel(kernel: NegativePhase) -> dict[str, Any]:
    """The name and the settings of a negative phase."""
    if KERNELS.get(type(kernel).__name__) is not type(kernel):
        raise ValueError(
            f"negative is {type(kernel).__name__}, a class of your own, which a file cannot hold: "
            "train by vrbm.training.train, and save the model."
        )
    settings = {field.name: getattr(kernel, field.name) for field in dataclasses.fields(kernel)}
    return {"name": type(kernel).__name__, **settings}


def restore(facts: dict[str, Any], where: str) -> Config:
    """Settings from plain facts; `where` says in errors what holds them."""
    settings = stored.fact(facts, "optimizer", dict, f"the settings in {where}")
    parts = {
        "negative": stored.restored(
            KERNELS, facts.get("negative"), f"the negative phase in {where}"
        ),
        "optimizer": stored.built(Optimizer, settings, f"the optimizer in {where}"),
    }
    found: Config = stored.built(Config, facts | parts, f"the settings in {where}")
    return found
