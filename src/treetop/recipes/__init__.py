"""Published settings and scores of methods on the benchmark data sets.

    sources.json       the papers
    data_sets.json     the benchmarks
    encoders.json      the pretrained encoders that recipes name
    FAMILY.json        published settings, with their source
    tables/            tables of the papers

A recipe is a method on a benchmark, such as ``xml-cnn/eurlex-4k``: its members, which are the models that the
paper trains, the rule that combines them, and published scores. It has no members if only scores are
published, perhaps because treetop does not implement the method.
"""

from __future__ import annotations

import difflib

from ..deprecation import renamed_names
from ..errors import ConfigError
from .files import read_encoders, read_recipes
from .papers import Paper
from .recipe import ENSEMBLE, Benchmark, Inputs, Member, PublishedEncoder, PublishedScores, Recipe

__all__ = [
    "ENSEMBLE",
    "Benchmark",
    "Inputs",
    "Member",
    "Paper",
    "PublishedEncoder",
    "PublishedScores",
    "Recipe",
    "all_recipes",
    "find_recipe",
    "published_encoders",
    "recipe_names",
]

__getattr__ = renamed_names(
    __name__, __name__, {"Source": "Paper", "DataSet": "Benchmark", "Published": "PublishedScores"}
)


def recipe_names() -> list[str]:
    """The names of all recipes."""
    return list(all_recipes())


def find_recipe(name: str) -> Recipe:
    """The recipe named ``family/data-set``."""
    known = all_recipes()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "treetop recipes lists all"
    raise ConfigError(f"there is no recipe {name!r}; {hint}")


def all_recipes() -> dict[str, Recipe]:
    """All recipes by name: families in alphabetical order, benchmarks by size."""
    return read_recipes()


def published_encoders() -> dict[str, PublishedEncoder]:
    """The encoders that recipes name, by their names on the hub."""
    return read_encoders()
