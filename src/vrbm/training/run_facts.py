"""What run.json and records.jsonl say, checked."""

from pathlib import Path
from typing import Any, get_type_hints

from vrbm import stored
from vrbm.training import checkpoint
from vrbm.training.loop import Record

#: Types of what a line of the records says.
RECORD = {name: hint for name, hint in get_type_hints(Record).items() if name != "state"}

#: What records of earlier versions do not say.
LATER: dict[str, Any] = {
    **dict.fromkeys(
        [
            "log_likelihood_train",
            "log_likelihood_heldout",
            "log_likelihood_error",
            "log_likelihood_doubt",
            "chain_correlation",
        ]
    ),
    "is_last": False,
    "is_search": False,
    "rate_halvings": 0,
    "kept_epoch": 0,
}


def read_facts(path: Path) -> dict[str, Any]:
    """The facts that a run began with: data, source, seed, patience, model and settings."""
    facts = stored.read_json(path)
    data = stored.fact(facts, "data", dict, str(path))
    for name in ("name", "hash"):
        stored.fact(data, name, str, f"data in {path}")
    stored.fact({"source": None, **facts}, "source", str | None, str(path))
    optional = {
        "patience": int | None,
        "seed": int | None,
        "validation_fraction": float | None,
    }
    for name, hint in optional.items():
        stored.fact({name: None, **facts}, name, hint, str(path))
    stored.fact(facts, "model", dict, str(path))
    checkpoint.restore(stored.fact(facts, "config", dict, str(path)), str(path))
    return facts


def check_record(facts: dict[str, Any], where: str) -> None:
    """Raise if these are not the facts of a record."""
    for name, hint in RECORD.items():
        stored.fact(LATER | facts, name, hint, where)


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records in a file; a last line that was cut short is left out."""
    if not path.exists():
        return []
    lines = stored.read_text(path).splitlines()
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        where = f"line {number} of {path}"
        try:
            record = stored.parse(line, where)
        except ValueError:
            if number == len(lines):
                break
            raise
        check_record(record, where)
        records.append({**LATER, **record})
    return records
