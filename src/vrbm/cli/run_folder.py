"""What commands read from a run folder."""

from pathlib import Path
from typing import Any

from vrbm.data.catalogue import find
from vrbm.data.dataset import Dataset
from vrbm.model import GrandCanonicalRBM, storage
from vrbm.training import checkpoint
from vrbm.training.run import Run


def model_of(folder: Path) -> tuple[GrandCanonicalRBM, Path]:
    """The trained model, or that of the newest checkpoint, and the file that it came from."""
    run = Run(folder)
    if run.model.exists():
        return storage.load(run.model), run.model
    if run.checkpoint.exists():
        return checkpoint.load_model(run.checkpoint), run.checkpoint
    raise FileNotFoundError(
        f"{folder} has neither model.safetensors nor a checkpoint: pass the folder of a run of "
        "vrbm train."
    )


def data_of(facts: dict[str, Any], source: str | None) -> Dataset:
    """The data named by the user, or else those that the run began with."""
    if source is None and facts.get("source") is None:
        raise ValueError("the run does not say where its data are: pass them by --data.")
    data = find(source or facts["source"])
    fraction = facts.get("validation_fraction")
    return data if fraction is None else data.with_validation(fraction, facts.get("seed") or 0)
