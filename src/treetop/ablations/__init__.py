"""Published ablations as lists of variants, to be repeated on any data.

Each is a JSON file here: the settings that all rows share, the rows with their own settings and published
scores, and the claims about pairs of rows.
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
    """A published claim about two rows: the first is better than the second, not better, or alike."""

    says: str
    first: str
    second: str
    expects: str
    metrics: tuple[str, ...] = ("P@1",)
    within: float = 0.0
    """Largest difference, in percentage points, of rows that are alike."""


@dataclass(frozen=True)
class Row:
    """One variant of an ablation."""

    name: str
    method: str
    settings: Mapping[str, Any]
    """Settings that distinguish the row."""
    published: Mapping[str, float]


@dataclass(frozen=True)
class Ablation:
    """Variants and the claims about them."""

    name: str
    title: str
    source: str
    published_on: str
    """The data set of the published scores."""
    note: str
    settings: Mapping[str, Any]
    """Settings that all rows share."""
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]

    def variants(self, changes: Mapping[str, Any] | None = None) -> list[Variant]:
        """The rows as variants. ``changes`` override shared settings; a row's own settings override both."""
        return [
            Variant.of(row.name, row.method, self.settings, changes or {}, row.settings) for row in self.rows
        ]

    @property
    def published(self) -> dict[str, Mapping[str, float]]:
        """Published scores by row."""
        return {row.name: row.published for row in self.rows}


def ablation_names() -> list[str]:
    """All ablations, in the order of their tables."""
    found = [
        entry.name.removesuffix(".json")
        for entry in resources.files(__name__).iterdir()
        if entry.name.endswith(".json")
    ]
    return sorted(found, key=lambda name: (len(name), name))


def load_ablation(name: str) -> Ablation:
    """The ablation of that name."""
    names = ablation_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}"
        raise ConfigError(f"there is no ablation {name!r}; {hint}")
    content = json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    rows = tuple(Row(**row) for row in content.pop("rows"))
    claims = tuple(
        Claim(**claim | {"metrics": tuple(claim.get("metrics", Claim.metrics))})
        for claim in content.pop("claims")
    )
    return Ablation(name=name, rows=rows, claims=claims, **content)
