"""A run folder: settings, records, checkpoints and the model of one training run.

RUN/run.json                  data, settings, versions
RUN/records.jsonl             a line for each epoch
RUN/checkpoint.safetensors    the newest state
RUN/model.safetensors         the model, when the run has ended
"""

import json
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from vrbm import lock, stored
from vrbm.data.dataset import Dataset
from vrbm.files import CannotWrite, atomic, writing
from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training import checkpoint, run_facts
from vrbm.training.config import Config
from vrbm.training.guards import Diverged
from vrbm.training.loop import Record, TrainState, start, train
from vrbm.typing import RandomKey

#: What run.json says of itself.
KIND = "vrbm run 1"


class Run:
    """A training run that is written to a folder as it goes, and can be resumed.

    One process at a time trains in a folder; others may read it meanwhile.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.facts = self.folder / "run.json"
        self.records = self.folder / "records.jsonl"
        self.checkpoint = self.folder / "checkpoint.safetensors"
        self.model = self.folder / "model.safetensors"
        self.saved_epoch: int | None = None
        """Epoch of the checkpoint that was written or read last."""

    def check_new(self) -> None:
        """Raise if another process trains in the folder, or if it holds other files."""
        lock.check_free(self.folder)
        if self.folder.exists():
            self._check_contents()

    def begin(
        self,
        model: GrandCanonicalRBM,
        data: Dataset,
        config: Config,
        key: RandomKey,
        about: dict[str, Any] | None = None,
        **options: Any,
    ) -> Generator[Record, None, None]:
        """Train from the beginning, in a folder that is new or empty."""
        config = config.resolved(model, len(data.train))
        with lock.held(self.folder):
            self._check_contents()
            self._clean()
            facts = {
                "kind": KIND,
                **(about or {}),
                "data": {"name": data.name, "hash": data.content_hash},
                "model": storage.describe(model),
                "config": checkpoint.describe(config),
            }
            state = start(model, data, config, key)
            with atomic(self.facts) as temporary:
                temporary.write_text(json.dumps(facts, indent=1))
            self._save(state, config, data)
            yield from self._follow(train(None, data, config, state=state), data, config, **options)

    def resume(self, data: Dataset, **options: Any) -> Generator[Record, None, None]:
        """Continue from the newest checkpoint as if there had been no pause, unless it ended."""
        if self.model.exists():
            return
        with lock.held(self.folder):
            self._clean()
            state, config = checkpoint.load(self.checkpoint, data, data.content_hash)
            self.saved_epoch = state.epoch
            kept = [facts for facts in self.read_records() if facts["epoch"] <= state.epoch]
            with atomic(self.records) as temporary:
                temporary.write_text("".join(f"{json.dumps(facts)}\n" for facts in kept))
            stop = options.get("stop")
            # What it had seen before the pause; the last answer may have been to stop.
            answers = [] if stop is None else [bool(stop(facts)) for facts in kept]
            has_ended = any(facts.get("is_last", False) for facts in kept[-1:])
            if has_ended or state.epoch >= state.end(config) or answers[-1:] == [True]:
                storage.save(state.model, self.model)
                return
            records = train(None, data, config, state=state)
            yield from self._follow(records, data, config, **options)

    def read_records(self) -> list[dict[str, Any]]:
        """The records written so far; a last line that was cut short is left out."""
        return run_facts.read_records(self.records)

    def read_facts(self) -> dict[str, Any]:
        """What the run began with."""
        if not self.facts.exists():
            raise FileNotFoundError(f"{self.folder} is no run folder: it has no run.json.")
        return run_facts.read_facts(self.facts)

    def _check_contents(self) -> None:
        """Raise if the folder holds more than a killed run leaves before its first checkpoint."""
        found = {path.name for path in self.folder.iterdir() if not self._is_leftover(path)}
        if found - {self.facts.name} or (found and not self._began()):
            raise ValueError(
                f"{self.folder} is not empty: choose a new folder, or continue a run with vrbm "
                "resume."
            )

    def _began(self) -> bool:
        """Whether run.json is that of a run."""
        try:
            return stored.read_json(self.facts).get("kind") == KIND
        except (OSError, ValueError):
            return False

    def _is_leftover(self, path: Path) -> bool:
        """Whether a process that was killed may have left this file."""
        own = (self.facts, self.records, self.checkpoint, self.model)
        return path.name == lock.NAME or any(path.match(f".{name.name}.*.part") for name in own)

    def _clean(self) -> None:
        """Remove unfinished files; whoever holds the lock knows that their writers are dead."""
        for path in self.folder.iterdir():
            if path.name != lock.NAME and self._is_leftover(path):
                path.unlink(missing_ok=True)

    def _save(self, state: TrainState, config: Config, data: Dataset) -> None:
        checkpoint.save(self.checkpoint, state, config, data.content_hash)
        self.saved_epoch = state.epoch

    def _follow(
        self,
        records: Generator[Record, None, None],
        data: Dataset,
        config: Config,
        every_seconds: float = 30.0,
        stop: Callable[[Any], bool | None] | None = None,
    ) -> Generator[Record, None, None]:
        """Write each record, and a checkpoint when the last one is old."""
        saved = time.monotonic()
        try:
            for record in records:
                done = (stop is not None and bool(stop(record))) or record.is_last
                due = done or time.monotonic() - saved >= every_seconds
                with writing(self.records), self.records.open("a") as file:
                    file.write(f"{json.dumps(record.facts())}\n")
                    if due:  # a run resumes from a checkpoint: what comes after is written again
                        file.flush()
                        os.fsync(file.fileno())
                if done:  # first, since it tells that the run has ended, early or not
                    storage.save(record.state.model, self.model)
                if due:
                    self._save(record.state, config, data)
                    saved = time.monotonic()
                yield record
                if done:
                    return
        except Diverged as error:
            raise error.explained(f"The last good checkpoint: {self.checkpoint}.") from None
        except CannotWrite as error:
            raise error.explained(
                f"The checkpoint of epoch {self.saved_epoch} is intact: make space, then run "
                f"vrbm resume {self.folder}."
            ) from error
        finally:
            records.close()
