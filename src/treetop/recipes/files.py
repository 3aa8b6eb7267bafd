"""Reads the JSON files of recipes.

FAMILY.json has settings at four places; the later ones override the earlier:

    settings                          of all data sets
    data_sets.NAME.settings           of one data set
    members.NAME                      of a member, on all data sets
    data_sets.NAME.members.NAME       of a member on one data set

A data set with settings has the members it names, or else all members of the file, or else a single one with
the family's name. ``ensemble``, ``inputs`` and ``notes`` are likewise for all data sets, or for one. A family
is named like its method, or names it: ``method``. With ``extends`` it has all that another family has, and
adds to it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from .papers import read_papers
from .recipe import Benchmark, Inputs, Member, PublishedEncoder, Recipe
from .rows import published_rows
from .tables import published_tables

NOT_FAMILIES = ("sources.json", "data_sets.json", "encoders.json")


@functools.cache
def read_recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    benchmarks = {name: Benchmark(name, **fields) for name, fields in _read("data_sets.json").items()}
    scored: dict[str, set[str]] = {}
    """Data sets with published rows, by family."""
    for table in published_tables().values():
        for row in table.rows:
            if row.recipe is not None:
                scored.setdefault(row.recipe, set()).update(row.cells)
    found = {item.name for item in files(__package__).iterdir() if item.name.endswith(".json")}
    written = {name.removesuffix(".json") for name in found.difference(NOT_FAMILIES)}
    recipes = {}
    for family in sorted(written | set(scored)):
        content = _family(family) if family in written else {"data_sets": {}}
        for name, benchmark in benchmarks.items():
            if name in content["data_sets"] or name in scored.get(family, ()):
                recipe = _recipe(family, benchmark, content)
                recipes[recipe.name] = recipe
    return recipes


@functools.cache
def read_encoders() -> dict[str, PublishedEncoder]:
    """The published encoders by name."""
    return {name: PublishedEncoder(name, **size) for name, size in _read("encoders.json").items()}


def _family(name: str) -> dict[str, Any]:
    content = _read(f"{name}.json")
    if "extends" not in content:
        return content
    family = content.pop("extends")
    base = _family(family)
    added = {
        "settings": base["settings"] | content.pop("settings", {}),
        "notes": [*base.get("notes", ()), *content.pop("notes", ())],
    }
    return {"method": family} | base | content | added


def _recipe(family: str, benchmark: Benchmark, content: Mapping[str, Any]) -> Recipe:
    entry = content["data_sets"].get(benchmark.name, {})
    members = _members(family, content, entry) if "settings" in entry else ()
    settings_from = None
    if members:
        source = content["settings_from"]
        settings_from = f"{read_papers()[source['source']]}, {source['where']}"
    ensemble = content.get("ensemble", {}) | entry.get("ensemble", {})
    return Recipe(
        name=f"{family}/{benchmark.name}",
        method=content.get("method", family),
        data_set=benchmark,
        members=members,
        rule=ensemble.get("rule") if len(members) > 1 else None,
        depth=ensemble.get("depth"),
        inputs=Inputs(**content.get("inputs", {}) | entry.get("inputs", {})),
        settings_from=settings_from,
        notes=(*content.get("notes", ()), *entry.get("notes", ())),
        published=published_rows(family, benchmark.name, members),
    )


def _members(family: str, content: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[Member, ...]:
    everywhere = content.get("members", {})
    here = entry.get("members") or {name: {} for name in everywhere or [family]}
    return tuple(
        Member(name, _settings(content["settings"] | entry["settings"] | everywhere.get(name, {}) | own))
        for name, own in here.items()
    )


def _settings(merged: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()}


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath(name).read_text("utf-8"))
    return content
