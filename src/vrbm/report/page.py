"""A report as one HTML file that needs nothing else: styles and pictures are inside."""

import base64
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from vrbm.files import atomic
from vrbm.printable import plain


@dataclass(frozen=True)
class Picture:
    """A figure with its caption."""

    file: Path
    """a PNG"""
    caption: str

    @property
    def source(self) -> str:
        """The picture as the address of an image element."""
        return f"data:image/png;base64,{base64.b64encode(self.file.read_bytes()).decode()}"


@dataclass(frozen=True)
class Page:
    """What a report says."""

    title: str
    summary: list[str]
    """sentences on what was run"""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """lines of the table: group, quantity, paper, ours, accepted, verdict, remark"""
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """facts by title"""
    environment: dict[str, Any] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    @property
    def compares(self) -> bool:
        """Whether the table has anything to compare with."""
        return any(row.get("paper") for row in self.rows)

    def groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Lines that follow each other under one heading."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, lambda row: row["group"])]

    def verdicts(self) -> dict[str, int]:
        """How many lines agree, and how many differ."""
        found = [row.get("verdict") for row in self.rows]
        return {name: found.count(name) for name in ("agrees", "differs")}


def write(page: Page, path: Path) -> None:
    """Write the page, whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(render(page), encoding="utf-8")


def render(page: Page) -> str:
    """The page as HTML."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        finalize=plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = files("vrbm.report").joinpath("page.html").read_text(encoding="utf-8")
    return environment.from_string(template).render(page=page)
