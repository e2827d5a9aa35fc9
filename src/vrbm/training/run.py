"""A run folder: settings, records, checkpoints and the model of one training.

RUN/run.json                  data, settings, versions
RUN/records.jsonl             a line for each epoch
RUN/checkpoint.safetensors    the newest state
RUN/model.safetensors         the model, when the training has ended
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from vrbm.data.dataset import Dataset
from vrbm.files import atomic
from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training import checkpoint
from vrbm.training.config import Config
from vrbm.training.guards import Diverged
from vrbm.training.loop import Record, start, train
from vrbm.typing import RandomKey


class Run:
    """A training that is written to a folder as it goes, and can be taken up again."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.facts = self.folder / "run.json"
        self.records = self.folder / "records.jsonl"
        self.checkpoint = self.folder / "checkpoint.safetensors"
        self.model = self.folder / "model.safetensors"

    def begin(
        self,
        model: GrandCanonicalRBM,
        data: Dataset,
        config: Config,
        key: RandomKey,
        about: dict[str, Any] | None = None,
        **options: Any,
    ) -> Iterator[Record]:
        """Train from the beginning, in a folder that is new or empty."""
        # A run that was killed before its first checkpoint leaves its facts at most.
        self._clean()
        if self.folder.exists() and {path.name for path in self.folder.iterdir()} - {"run.json"}:
            raise ValueError(
                f"{self.folder} is not empty: choose a new folder, or go on with vrbm resume."
            )
        facts = {
            **(about or {}),
            "data": {"name": data.name, "hash": data.content_hash},
            "model": storage.describe(model),
            "config": checkpoint.describe(config),
        }
        with atomic(self.facts) as temporary:
            temporary.write_text(json.dumps(facts, indent=1))
        state = start(model, data, config, key)
        checkpoint.save(self.checkpoint, state, config, data.content_hash)
        return self._follow(train(None, data, config, state=state), data, config, **options)

    def resume(self, data: Dataset, **options: Any) -> Iterator[Record]:
        """Go on from the newest checkpoint, as if there had been no pause; nothing if it ended."""
        if self.model.exists():
            return iter(())
        self._clean()
        state, config = checkpoint.load(self.checkpoint, data, data.content_hash)
        kept = [facts for facts in self.read_records() if facts["epoch"] <= state.epoch]
        with atomic(self.records) as temporary:
            temporary.write_text("".join(f"{json.dumps(facts)}\n" for facts in kept))
        if (stop := options.get("stop")) is not None:
            for facts in kept:  # what it had seen before the pause
                stop(facts)
        records = train(None, data, config, state=state)
        if state.epoch >= config.epochs:  # killed before it wrote the model
            storage.save(state.model, self.model)
        return self._follow(records, data, config, **options)

    def read_records(self) -> list[dict[str, Any]]:
        """The records written so far; a last line that was cut short is left out."""
        records = []
        for line in self.records.read_text().splitlines() if self.records.exists() else []:
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return records

    def _clean(self) -> None:
        """Remove what a killed process had not finished writing."""
        for own in (self.facts, self.records, self.checkpoint, self.model):
            for path in self.folder.glob(f".{own.name}.*.part"):
                path.unlink(missing_ok=True)

    def _follow(
        self,
        records: Iterable[Record],
        data: Dataset,
        config: Config,
        every_seconds: float = 30.0,
        stop: Callable[[Any], bool | None] | None = None,
    ) -> Iterator[Record]:
        """Write each record, and a checkpoint when the last one is old."""
        saved = time.monotonic()
        try:
            for record in records:
                done = record.epoch == config.epochs or (stop is not None and bool(stop(record)))
                due = done or time.monotonic() - saved >= every_seconds
                with self.records.open("a") as file:
                    file.write(f"{json.dumps(record.facts())}\n")
                    if due:  # a run goes on from a checkpoint: what comes after is written again
                        file.flush()
                        os.fsync(file.fileno())
                if due:
                    checkpoint.save(self.checkpoint, record.state, config, data.content_hash)
                    saved = time.monotonic()
                if done:
                    storage.save(record.state.model, self.model)
                yield record
                if done:
                    return
        except Diverged as error:
            raise error.explained(f"The last good checkpoint: {self.checkpoint}.") from None
