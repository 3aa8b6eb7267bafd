"""Data sets built on the user's own machine: nothing is downloaded and nothing is shipped.

    from treetop.data import builtin
    splits = builtin.build("synthetic", like="wiki10-31k", scale=0.1)   # {"train": Dataset, "test": Dataset}
    builtin.default_recipe("synthetic").settings()                     # the options, their defaults and help

A new data set is one file with a `CorpusRecipe` and one row here; the file is imported on first use.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ...errors import DataError
from ..dataset import Dataset

if TYPE_CHECKING:
    from .recipe import CorpusRecipe


@dataclass(frozen=True)
class Builder:
    """The place of a data set's recipe, and its description in one line."""

    module: str
    recipe: str
    description: str

    def load(self) -> type[CorpusRecipe]:
        """The recipe's class."""
        return cast(
            "type[CorpusRecipe]", getattr(importlib.import_module(f".{self.module}", __name__), self.recipe)
        )


BUILDERS = {
    "python-docs": Builder(
        "python_docs", "PythonDocs", "docstrings of this Python → modules, cross-references and exceptions"
    ),
    "debian-tags": Builder(
        "debian", "DebianTags", "package descriptions in this machine's apt lists → debtags"
    ),
    "debian-deps": Builder(
        "debian", "DebianDeps", "package descriptions in this machine's apt lists → packages they depend on"
    ),
    "synthetic": Builder(
        "synthetic", "Synthetic", "feature and label matrices of the size and shape of a public benchmark"
    ),
}

NAMES = {name: builder.description for name, builder in BUILDERS.items()}
"""The names of the data sets, with one-line descriptions."""


def default_recipe(name: str) -> CorpusRecipe:
    """The recipe of a data set with its default options."""
    if name not in BUILDERS:
        raise DataError(f"there is no built-in data set {name!r}: choose one of {', '.join(BUILDERS)}")
    return BUILDERS[name].load()()


def build(name: str, **options: Any) -> dict[str, Dataset]:
    """Builds a data set: ``{"train": …, "test": …}``, both with the same label columns."""
    return default_recipe(name).replace_settings(options).build()
