"""Files that vrbm wrote: models, estimators, checkpoints and the facts of a run."""

import json
from pathlib import Path

import jax
import numpy as np

import vrbm
from tests.fuzz.data_files import BITS
from tests.fuzz.mutations import mutate, reword
from tests.fuzz.worker import Format
from vrbm.data.arrays import from_array
from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training import Config, Persistent, checkpoint, loop
from vrbm.training.run import Run

DATA = from_array(BITS)


def read_checkpoint(path: Path) -> None:
    """The model alone, and all that a training goes on from."""
    checkpoint.load_model(path)
    checkpoint.load(path, DATA, DATA.content_hash)


def read_run(path: Path) -> None:
    """The facts of a run folder."""
    run = path.with_suffix("")
    run.mkdir()
    try:
        path.rename(run / "run.json")
        Run(run).read_facts()
    finally:
        (run / "run.json").rename(path)
        run.rmdir()


def within_header(content: bytes, random: np.random.Generator) -> bytes:
    """Damage to the facts in the header, to the header, or to the file."""
    if random.random() < 0.2:
        return mutate(content, random)
    length = int.from_bytes(content[:8], "little")
    header, values = content[8 : 8 + length], content[8 + length :]
    if random.random() < 0.7:
        facts = json.loads(header)
        inner = facts["__metadata__"]["vrbm"].encode()
        damaged = (reword if random.random() < 0.8 else mutate)(inner, random)
        facts["__metadata__"]["vrbm"] = damaged.decode(errors="replace")
        header = json.dumps(facts).encode()
    else:
        header = mutate(header, random)
    return len(header).to_bytes(8, "little") + header + values


def within_text(content: bytes, random: np.random.Generator) -> bytes:
    return (reword if random.random() < 0.6 else mutate)(content, random)


def formats(folder: Path) -> list[Format]:
    """One of each kind, with valid examples."""
    key = jax.random.key(0)
    model = GrandCanonicalRBM.initialize(key, 6, 4)
    vrbm.save(model, folder / "model.safetensors")
    config = Config.paper(negative=Persistent(1, chains=3), batch_size=5)
    state = loop.start(model, DATA, config, key)
    checkpoint.save(folder / "checkpoint.safetensors", state, config, DATA.content_hash)
    machine = vrbm.RBM(3, n_iter=1, random_state=0).fit(BITS)
    machine.save(folder / "estimator.safetensors")
    facts = {
        "source": "digits",
        "seed": 0,
        "patience": None,
        "data": {"name": "digits", "hash": "0" * 64},
        "model": storage.describe(model),
        "config": checkpoint.describe(config),
    }

    def stored(name: str) -> list[bytes]:
        return [(folder / f"{name}.safetensors").read_bytes()]

    suffix = ".safetensors"
    return [
        Format("model", suffix, stored("model"), vrbm.load, within_header),
        Format("estimator", suffix, stored("estimator"), vrbm.RBM.load, within_header),
        Format("checkpoint", suffix, stored("checkpoint"), read_checkpoint, within_header),
        Format("run.json", ".json", [json.dumps(facts, indent=1).encode()], read_run, within_text),
    ]
