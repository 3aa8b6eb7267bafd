"""`Paper`: the source of settings or scores."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Paper:
    """The source of settings or scores."""

    authors: str
    title: str
    venue: str

    def __str__(self) -> str:
        return f"{self.authors}, {self.venue}"


@functools.cache
def read_papers() -> dict[str, Paper]:
    """All papers by key, in chronological order."""
    content = json.loads(files(__package__).joinpath("sources.json").read_text("utf-8"))
    return {key: Paper(**fields) for key, fields in content.items()}
