"""Published ablations as lists of variants, to be repeated on any data.

Each is a JSON file here: the settings that all rows share, the rows with their own settings, and the claims
about pairs of rows. Published scores are those of the table that it names, by row. A row without a method is
published only: no settings express it.

``NAME/DATA-SET`` is the ablation as published on a data set: with its scores there and, where the ablation or
a row names a recipe, with the settings of this recipe.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ..comparison import Variant
from ..errors import ConfigError
from ..methods import MethodConfig, method_class
from ..recipes import all_recipes
from ..recipes.tables import PublishedTable, published_tables

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
    method: str | None
    """None for a row that is published only."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that distinguish the row."""
    published: Mapping[str, float] = field(default_factory=dict)
    recipe: str | None = None
    """Family of the recipe that the row was tuned to."""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    """The settings of that recipe on the data set."""


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
    recipe: str | None = None
    """Family of the recipe whose settings all rows of its method share on a published data set."""
    base: Mapping[str, Any] = field(default_factory=dict)
    """The settings of that recipe on the data set."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Settings without which rows would be the same, and what to give."""
    data_sets: tuple[str, ...] = ()
    """Data sets with published scores."""

    def variants(self, changes: Mapping[str, Any] | None = None) -> list[Variant]:
        """The rows as variants. ``changes`` override shared settings; a row's own settings override both."""
        changes = changes or {}
        for name, what in self.needs.items():
            if name not in changes:
                raise ConfigError(f"the ablation {self.name} needs {what}: --set {name}=…")
        configs = {row.name: method_class(row.method).config_class() for row in self.rows if row.method}
        for name in changes:
            if not any(config.has_setting(name) for config in configs.values()):
                next(iter(configs.values())).full_name(name)  # raises, with a hint
        return [self._variant(row, row.method, configs[row.name], changes) for row in self.rows if row.method]

    def _variant(self, row: Row, method: str, config: MethodConfig, changes: Mapping[str, Any]) -> Variant:
        """Layers: shared, of the recipe, the row's own, those it was tuned to, and those changed."""
        own = {config.full_name(name) for name in row.settings}
        free = {
            name: value
            for name, value in changes.items()
            if config.has_setting(name) and config.full_name(name) not in own
        }
        base = self.base if self.recipe is not None and _method_of(self.recipe) == method else {}
        return Variant.of(row.name, method, self.settings, base, row.settings, row.tuned, free)

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
    """The ablation named ``NAME`` or ``NAME/DATA-SET``."""
    name, slash, wanted = name.partition("/")
    _check_known("ablation", name, ablation_names())
    content = json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    table = published_tables()[content.pop("table")] if "table" in content else None
    recipe = content.get("recipe")
    data_sets = _data_sets(table, [recipe, *(row.get("recipe") for row in content["rows"])])
    if slash:
        _check_known(f"data set of {name}", wanted, data_sets)
    usual = content.pop("data_set", None)
    rows = _rows(content.pop("rows"), table, wanted or usual, tuned_on=wanted)
    claims = tuple(
        Claim(**claim | {"metrics": tuple(claim.get("metrics", Claim.metrics))})
        for claim in content.pop("claims")
    )
    if table is not None:
        content["published_on"] = _title(wanted or usual)
    return Ablation(
        name=name,
        rows=rows,
        claims=claims,
        base=_recipe_settings(recipe, wanted),
        data_sets=tuple(data_sets),
        **content,
    )


def _rows(
    rows: Iterable[Mapping[str, Any]], table: PublishedTable | None, data_set: str, *, tuned_on: str
) -> tuple[Row, ...]:
    scores = {} if table is None else {row.system: cells for row, cells in table.on(data_set)}
    return tuple(
        Row(
            row["name"],
            row.get("method"),
            row.get("settings", {}),
            scores.get(row["name"], {}),
            row.get("recipe"),
            _recipe_settings(row.get("recipe"), tuned_on),
        )
        for row in rows
    )


def _data_sets(table: PublishedTable | None, families: Iterable[str | None]) -> list[str]:
    """The data sets of the table, or else of the recipes."""
    if table is not None:
        return table.data_sets
    return list(
        dict.fromkeys(r.data_set.name for r in all_recipes().values() if r.family in families and r.members)
    )


def _recipe_settings(family: str | None, data_set: str) -> dict[str, Any]:
    """The settings of a recipe without the seed; none if the recipe has none."""
    recipe = all_recipes().get(f"{family}/{data_set}")
    if recipe is None or recipe.settings is None:
        return {}
    return {name: value for name, value in recipe.settings.items() if name != "seed"}


def _method_of(family: str) -> str:
    return next(recipe.method for recipe in all_recipes().values() if recipe.family == family)


def _title(data_set: str) -> str:
    return next(r.data_set.title for r in all_recipes().values() if r.data_set.name == data_set)


def _check_known(what: str, name: str, names: list[str]) -> None:
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}"
        raise ConfigError(f"there is no {what} {name!r}; {hint}")
