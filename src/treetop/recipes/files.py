"""Reads the JSON files of recipes.

METHOD.json has settings at three places; the later ones override the earlier:

    settings                          of all data sets
    data_sets.NAME.settings           of one data set
    members.NAME                      of a member, on all data sets
    data_sets.NAME.members.NAME       of a member on one data set

A data set with settings has the members it names, or else all members of the file, or else a single one with
the method's name. ``ensemble``, ``inputs`` and ``notes`` are likewise for all data sets, or for one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from . import Benchmark, Inputs, Member, Paper, PublishedEncoder, PublishedScores, Recipe

NOT_METHODS = ("sources.json", "data_sets.json", "encoders.json")


@functools.cache
def read_recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    papers = {key: Paper(**fields) for key, fields in _read("sources.json").items()}
    benchmarks = {name: Benchmark(name, **fields) for name, fields in _read("data_sets.json").items()}
    recipes = {}
    for file in sorted(item.name for item in files(__package__).iterdir() if item.name.endswith(".json")):
        if file in NOT_METHODS:
            continue
        content = _read(file)
        for benchmark in (item for name, item in benchmarks.items() if name in content["data_sets"]):
            recipe = _recipe(file.removesuffix(".json"), benchmark, content, papers)
            recipes[recipe.name] = recipe
    return recipes


@functools.cache
def read_encoders() -> dict[str, PublishedEncoder]:
    """The published encoders by name."""
    return {name: PublishedEncoder(name, **size) for name, size in _read("encoders.json").items()}


def _recipe(
    method: str, benchmark: Benchmark, content: Mapping[str, Any], papers: Mapping[str, Paper]
) -> Recipe:
    entry = content["data_sets"][benchmark.name]
    members = _members(method, content, entry) if "settings" in entry else ()
    settings_from = None
    if members:
        settings_from = f"{papers[content['settings_from']['source']]}, {content['settings_from']['where']}"
    ensemble = content.get("ensemble", {}) | entry.get("ensemble", {})
    rows = [_row(row, papers) for row in entry["published"]]
    return Recipe(
        name=f"{method}/{benchmark.name}",
        method=method,
        data_set=benchmark,
        members=members,
        rule=ensemble.get("rule") if len(members) > 1 else None,
        depth=ensemble.get("depth"),
        inputs=Inputs(**content.get("inputs", {}) | entry.get("inputs", {})),
        settings_from=settings_from,
        notes=(*content.get("notes", ()), *entry.get("notes", ())),
        published=tuple(sorted(rows, key=lambda row: row.of is None)),
    )


def _members(method: str, content: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[Member, ...]:
    everywhere = content.get("members", {})
    here = entry.get("members") or {name: {} for name in everywhere or [method]}
    return tuple(
        Member(name, _settings(content["settings"] | entry["settings"] | everywhere.get(name, {}) | own))
        for name, own in here.items()
    )


def _settings(merged: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()}


def _row(row: Mapping[str, Any], papers: Mapping[str, Paper]) -> PublishedScores:
    return PublishedScores(
        row["model"],
        papers[row["source"]],
        row["where"],
        row["scores"],
        row.get("of"),
        row.get("costs", {}),
    )


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath(name).read_text("utf-8"))
    return content
