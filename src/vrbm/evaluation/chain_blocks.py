"""Blocks of annealed chains, each with its own key, and the file that keeps those done."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path as FilePath

import jax
import jax.numpy as jnp
import numpy as np

from vrbm import memory
from vrbm.evaluation.annealing import PILOT, VALUES, adapt, run, settle
from vrbm.evaluation.path import Path
from vrbm.model import storage
from vrbm.model.random import Keys, fold_in
from vrbm.typing import RandomKey

KIND = "vrbm log-weights 2"
#: Chains in a block on a CPU; on an accelerator more take hardly more time.
AT_A_TIME = 100

#: Called with the steps done and their total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """What the log-weights of a block depend on, beside the model and the key."""

    chains: int
    temperatures: int
    block: int | None
    """chains in a block; None: those of the file, else what suits the device"""
    backward: bool
    burn_in: int
    adapt_base: bool


@dataclass(frozen=True)
class LogWeights:
    """What all blocks gave."""

    log_partition_at_0: float
    forward: np.ndarray
    """(chains,)"""
    backward: np.ndarray
    """(chains,), or (0,) without backward runs"""
    origins: np.ndarray
    """which start each backward run had, (chains,): runs of one origin are not independent"""


def chain_weights(
    path: Path,
    key: RandomKey,
    settings: Settings,
    starts: np.ndarray | None = None,
    file: FilePath | str | None = None,
    progress: Progress | None = None,
) -> LogWeights:
    """Log-weights of all blocks; those in the file are read, those that are new are added to it."""
    memory.require(
        64 * (settings.chains + settings.temperatures),
        f"annealing {settings.chains} chains at {settings.temperatures} temperatures",
        "take fewer of both",
    )
    identity = _identity(path, key, settings, starts)
    done = _read(file, identity) if file is not None else None
    block = _block_size(path, settings, done)
    number = -(-settings.chains // block)
    if done is None:
        pilot_key = fold_in(key, PILOT)
        path, betas = adapt(path, pilot_key, settings.temperatures, settings.adapt_base)
        base = np.asarray(path.base)
        empty = np.zeros((0, block), base.dtype)
        done = {"betas": betas, "base": base, "forward": empty, "backward": empty}
        done["origins"] = np.zeros((0, block), np.int64)
    path = Path(path.model, jax.device_put(done["base"]))
    steps = (settings.temperatures - 1) * (2 if settings.backward else 1)
    count = len(done["forward"])
    taken = count * steps

    def tell(more: int) -> None:
        nonlocal taken
        taken += more
        if progress is not None:
            progress(taken, number * steps)

    tell(0)
    for index in range(count, number):
        block_key = fold_in(key, index)
        found = _block(path, done["betas"], block_key, block, settings, starts, tell)
        for name, row in found.items():
            row = row + index * block if name == "origins" and starts is None else row
            done[name] = np.concatenate([done[name], row[None]])
        if file is not None:
            storage.write(file, done, {"kind": KIND, "identity": identity})
    rows = {name: done[name][:number].ravel() for name in ("forward", "backward", "origins")}
    return LogWeights(float(path.log_partition_at_0()), **rows)


def _block(
    path: Path,
    betas: np.ndarray,
    key: RandomKey,
    chains: int,
    settings: Settings,
    starts: np.ndarray | None,
    tell: Callable[[int], None],
) -> dict[str, np.ndarray]:
    """Forward runs, and backward runs from the given starts or the ends of the forward ones."""
    start_key, forward_key, choice_key, settle_key, backward_key = map(Keys(key), range(5))
    v = path.start(start_key, chains)
    ends = run(path, v, betas, forward_key, progress=tell)
    if not settings.backward:
        return {"forward": np.asarray(ends.log_weights)}
    if starts is None:
        chosen = jax.random.categorical(choice_key, ends.log_weights, shape=(chains,))
        v = jax.device_put(np.asarray(ends.v)[np.asarray(chosen)])
    else:
        few = len(starts) < chains
        chosen = jax.random.choice(choice_key, len(starts), (chains,), replace=few)
        v = jax.device_put(starts[np.asarray(chosen)].astype(v.dtype))
    v = settle(path, v, settle_key, settings.burn_in + 1)  # the last is the kernel T_M
    back = run(path, v, betas, backward_key, backward=True, progress=tell)
    return {
        "forward": np.asarray(ends.log_weights),
        "backward": np.asarray(back.log_weights),
        "origins": np.asarray(chosen, np.int64),
    }


def _block_size(path: Path, settings: Settings, done: dict[str, np.ndarray] | None) -> int:
    """Chains in a block: as asked for, as in the file, or as suits the device."""
    wanted = settings.block
    if done is not None:
        stored = int(done["forward"].shape[1])
        if wanted is not None and min(wanted, settings.chains) != stored:
            raise ValueError(
                f"block is {wanted}, but the file has blocks of {stored} chains: leave block out, "
                "or pass another file."
            )
        return stored
    if wanted is None:
        width = path.model.n_visible + path.model.max_hidden
        on_cpu = jax.default_backend() == "cpu"
        wanted = AT_A_TIME if on_cpu else max(1, VALUES // width)
    return min(wanted, settings.chains)


def _identity(
    path: Path, key: RandomKey, settings: Settings, starts: np.ndarray | None
) -> dict[str, str]:
    """Hashes of all that the log-weights depend on; the number of chains may change.

    Chains in a block are compared with those of the file.
    """
    digest = hashlib.sha256()
    model = path.model
    for array in (model.W, model.b, model.c, model.prices(), path.base):
        digest.update(f"{array.shape} {array.dtype}".encode() + np.asarray(array).tobytes())
    units = tuple(storage.describe_unit(unit) for unit in (model.visible, model.hidden))
    kind = (model.potential.units_are_optional, model.potential.is_unbounded)
    digest.update(f"{units} {kind}".encode())
    if model.potential.is_unbounded:
        idle = model.potential.idle_units(jnp.ones((), model.W.dtype))
        digest.update(np.asarray(idle).tobytes())
    words = np.asarray(jax.random.key_data(key))
    return {
        "model": digest.hexdigest(),
        "key": f"{words.tolist()} {jax.random.key_impl(key)}",
        "settings": json.dumps(asdict(replace(settings, chains=0, block=0))),
        "starts": "none" if starts is None else hashlib.sha256(starts.tobytes()).hexdigest(),
    }


def _read(file: FilePath | str, identity: dict[str, str]) -> dict[str, np.ndarray] | None:
    """The arrays of a file that belongs to this run; None where there is no file yet."""
    if not FilePath(file).exists():
        return None
    arrays, header = storage.read(file, KIND)
    differ = [name for name, value in identity.items() if header["identity"].get(name) != value]
    if differ:
        raise ValueError(
            f"file {file} belongs to a run that differs in {' and '.join(differ)}: pass another "
            "file, or the arguments that it was begun with (chains may change)."
        )
    return arrays
