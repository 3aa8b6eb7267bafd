"""Published settings and scores of methods on the benchmark data sets.

    sources.json       the papers
    data_sets.json     the benchmarks
    METHOD.json        what is published of a method: settings, scores, and where they stand

A recipe is a method on a data set, ``xml-cnn/eurlex-4k``. Where only scores are published it has no settings.
A method that treetop does not have may have a file too: its scores can be looked at.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..methods import Method


@dataclass(frozen=True)
class Source:
    """A paper."""

    authors: str
    title: str
    venue: str

    def __str__(self) -> str:
        return f"{self.authors}, {self.venue}"


@dataclass(frozen=True)
class DataSet:
    """A benchmark, in the split that the papers share."""

    name: str
    title: str
    train: int
    """Training texts."""
    test: int
    """Test texts."""
    labels: int


@dataclass(frozen=True)
class Published:
    """One row of a paper's table."""

    model: str
    """Which variant: tuned, an ensemble, a new run by others, …"""
    source: Source
    where: str
    """Which tables of the source."""
    scores: Mapping[str, float]
    """In percent, by the names that `treetop.evaluate` has for them."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"model": self.model, "source": f"{self.source}, {self.where}", "scores": dict(self.scores)}


@dataclass(frozen=True)
class Recipe:
    """What is published of a method on a data set."""

    name: str
    method: str
    data_set: DataSet
    settings: Mapping[str, Any] | None
    """None: only scores are published."""
    settings_from: str | None
    notes: tuple[str, ...]
    """What the settings cannot say."""
    published: tuple[Published, ...]
    """The row that belongs to the settings first."""

    def make(self, **settings: Any) -> Method:
        """A model with the published settings, not fitted yet; ``settings`` override them."""
        from ..methods import make

        return make(self.method, **{**(self.settings or {}), **settings})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "name": self.name,
            "method": self.method,
            "data_set": self.data_set.name,
            "settings": None if self.settings is None else dict(self.settings),
            "settings_from": self.settings_from,
            "notes": list(self.notes),
            "published": [row.to_dict() for row in self.published],
        }


def recipe_names() -> list[str]:
    """For completion, and for those who look around."""
    return list(all_recipes())


def find_recipe(name: str) -> Recipe:
    """The recipe of that name, ``method/data-set``."""
    known = all_recipes()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "treetop recipes lists them"
    raise ConfigError(f"there is no recipe {name!r}; {hint}")


@functools.cache
def all_recipes() -> dict[str, Recipe]:
    """By name; the methods in order of the alphabet, their data sets by size."""
    sources = {key: Source(**fields) for key, fields in _read("sources.json").items()}
    data_sets = {name: DataSet(name, **fields) for name, fields in _read("data_sets.json").items()}
    recipes = {}
    for file in sorted(item.name for item in files(__package__).iterdir() if item.name.endswith(".json")):
        if file in ("sources.json", "data_sets.json"):
            continue
        content = _read(file)
        for data_set in (item for name, item in data_sets.items() if name in content["data_sets"]):
            recipe = _recipe(file.removesuffix(".json"), data_set, content, sources)
            recipes[recipe.name] = recipe
    return recipes


def _recipe(
    method: str, data_set: DataSet, content: Mapping[str, Any], sources: Mapping[str, Source]
) -> Recipe:
    entry = content["data_sets"][data_set.name]
    settings = settings_from = None
    if "settings" in entry:
        merged = content["settings"] | entry["settings"]
        settings = {
            name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
        }
        settings_from = f"{sources[content['settings_from']['source']]}, {content['settings_from']['where']}"
    return Recipe(
        name=f"{method}/{data_set.name}",
        method=method,
        data_set=data_set,
        settings=settings,
        settings_from=settings_from,
        notes=tuple(content.get("notes", ())),
        published=tuple(
            Published(row["model"], sources[row["source"]], row["where"], row["scores"])
            for row in entry["published"]
        ),
    )


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath(name).read_text("utf-8"))
    return content
