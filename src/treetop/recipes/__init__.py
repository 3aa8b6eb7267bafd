"""Published settings and scores of methods on the benchmark data sets.

    sources.json       the papers
    data_sets.json     the benchmarks
    METHOD.json        published settings and scores of a method, with their sources

A recipe is a method on a benchmark, such as ``xml-cnn/eurlex-4k``. It has no settings if only scores are
published. A method that treetop does not implement may have a file too, for its scores.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..deprecation import renamed_names
from ..errors import ConfigError

if TYPE_CHECKING:
    from ..methods import Method

__getattr__ = renamed_names(
    __name__, __name__, {"Source": "Paper", "DataSet": "Benchmark", "Published": "PublishedScores"}
)


@dataclass(frozen=True)
class Paper:
    """The source of settings or scores."""

    authors: str
    title: str
    venue: str

    def __str__(self) -> str:
        return f"{self.authors}, {self.venue}"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark data set, in the split that the papers share."""

    name: str
    title: str
    train: int
    """Number of training texts."""
    test: int
    """Number of test texts."""
    labels: int


@dataclass(frozen=True)
class PublishedScores:
    """One row of a paper's table."""

    model: str
    """The variant: tuned, an ensemble, a run by other authors, …"""
    source: Paper
    where: str
    """The tables of the paper."""
    scores: Mapping[str, float]
    """Metrics in percent, by their names in `treetop.evaluate`."""

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, ready for JSON."""
        return {"model": self.model, "source": f"{self.source}, {self.where}", "scores": dict(self.scores)}


@dataclass(frozen=True)
class Recipe:
    """Published settings and scores of a method on a benchmark."""

    name: str
    method: str
    data_set: Benchmark
    settings: Mapping[str, Any] | None
    """None if only scores are published."""
    settings_from: str | None
    notes: tuple[str, ...]
    """Remarks beyond the settings."""
    published: tuple[PublishedScores, ...]
    """The first row belongs to the settings."""

    def make(self, **settings: Any) -> Method:
        """An unfitted model with the published settings; ``settings`` override them."""
        from ..methods import make

        model = make(self.method, **(self.settings or {}))
        model.config = model.config.replace_settings(settings)
        return model

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, ready for JSON."""
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
    """The names of all recipes."""
    return list(all_recipes())


def find_recipe(name: str) -> Recipe:
    """The recipe named ``method/data-set``."""
    known = all_recipes()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "treetop recipes lists all"
    raise ConfigError(f"there is no recipe {name!r}; {hint}")


@functools.cache
def all_recipes() -> dict[str, Recipe]:
    """All recipes by name: methods in alphabetical order, benchmarks by size."""
    papers = {key: Paper(**fields) for key, fields in _read("sources.json").items()}
    benchmarks = {name: Benchmark(name, **fields) for name, fields in _read("data_sets.json").items()}
    recipes = {}
    for file in sorted(item.name for item in files(__package__).iterdir() if item.name.endswith(".json")):
        if file in ("sources.json", "data_sets.json"):
            continue
        content = _read(file)
        for benchmark in (item for name, item in benchmarks.items() if name in content["data_sets"]):
            recipe = _recipe(file.removesuffix(".json"), benchmark, content, papers)
            recipes[recipe.name] = recipe
    return recipes


def _recipe(
    method: str, benchmark: Benchmark, content: Mapping[str, Any], papers: Mapping[str, Paper]
) -> Recipe:
    entry = content["data_sets"][benchmark.name]
    settings = settings_from = None
    if "settings" in entry:
        merged = content["settings"] | entry["settings"]
        settings = {
            name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
        }
        settings_from = f"{papers[content['settings_from']['source']]}, {content['settings_from']['where']}"
    return Recipe(
        name=f"{method}/{benchmark.name}",
        method=method,
        data_set=benchmark,
        settings=settings,
        settings_from=settings_from,
        notes=tuple(content.get("notes", ())),
        published=tuple(
            PublishedScores(row["model"], papers[row["source"]], row["where"], row["scores"])
            for row in entry["published"]
        ),
    )


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath(name).read_text("utf-8"))
    return content
