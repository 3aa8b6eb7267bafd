"""Studies of others as lists of variants, ready to be run on any data.

Each is a JSON file here: the settings that all rows share, the rows with their own settings and the figures
published for them, and the claims that pairs of rows test.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..comparison import Variant
from ..errors import ConfigError

EXPECTATIONS = ("better", "not better", "alike")


@dataclass(frozen=True)
class Claim:
    """What a study says of two of its rows: the first is better than the second, not better, or alike."""

    says: str
    first: str
    second: str
    expects: str
    metrics: tuple[str, ...] = ("P@1",)
    within: float = 0.0
    """Percentage points that rows which are alike may lie apart."""


@dataclass(frozen=True)
class Row:
    """A variant of a study."""

    name: str
    method: str
    settings: Mapping[str, Any]
    """Those that make the row what it is."""
    published: Mapping[str, float]


@dataclass(frozen=True)
class Study:
    """Variants and what is claimed of them."""

    name: str
    title: str
    source: str
    published_on: str
    """The data set of the published figures."""
    note: str
    settings: Mapping[str, Any]
    """What all rows share."""
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]

    def variants(self, changes: Mapping[str, Any] | None = None) -> list[Variant]:
        """Its rows. ``changes`` are made to what the rows share; what a row says itself stays."""
        return [
            Variant.of(row.name, row.method, self.settings, changes or {}, row.settings) for row in self.rows
        ]

    @property
    def published(self) -> dict[str, Mapping[str, float]]:
        """Figures by row."""
        return {row.name: row.published for row in self.rows}


def study_names() -> list[str]:
    """The studies there are, by number of their tables."""
    found = [
        entry.name.removesuffix(".json")
        for entry in resources.files(__name__).iterdir()
        if entry.name.endswith(".json")
    ]
    return sorted(found, key=lambda name: (len(name), name))


def load_study(name: str) -> Study:
    """A study by its name."""
    names = study_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
        raise ConfigError(f"there is no study {name!r}; {hint}")
    content = json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    rows = tuple(Row(**row) for row in content.pop("rows"))
    claims = tuple(
        Claim(**claim | {"metrics": tuple(claim.get("metrics", Claim.metrics))})
        for claim in content.pop("claims")
    )
    return Study(name=name, rows=rows, claims=claims, **content)
