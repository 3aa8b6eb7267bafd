"""docs/reproduced.md: recipes of the papers, trained on some data sets with one encoder.

    treetop reproduce RECIPE FOLDER --encoder DIR --output OUT
    python bench/league/reproduced.py --add OUT DATA [--machine TEXT] [--at COMMIT]

The first command trains and measures. The second adds its numbers to the records in
bench/records/reproduced/DATA.jsonl, in place of older ones of the same recipe and member, and writes the page
from all records. The league table shows the first member of each recipe, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import machine, provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown
from treetop.config import value_text
from treetop.methods import method_class
from treetop.recipes import ENSEMBLE, Recipe, find_recipe

SUBJECT = "reproduced"
PAGE = Path(__file__).parents[2] / "docs" / "reproduced.md"
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
SECONDS = "train s"
ENCODER = "transformer.encoder"

INTRODUCTION = """\
# Recipes on other data

The [recipes](recipes.md) of the papers, trained by [`treetop reproduce`](reproducing.md) on data that are at
hand: all members with their published settings, combined by the published rule. Data and encoders differ. A
small encoder, MiniLM-L6, takes the place of each published one; members that differ in their encoders
alone differ in their seeds here. So the published scores, in the first row of each table, are no target. The
tables show what these settings give on such data; the [league table](league.md) compares them with treetop's
defaults. Metrics are percentages on the test texts, of one run each. *Train s* is the time of a member while
others were trained on the same GPU (H200), or on the same two cores for linear methods: an upper bound.

The commands name the settings that were changed. Recipes are those of the commit: after 1b48f33, that of
LightXML got `training.epsilon=1e-6`."""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--add",
        nargs=2,
        metavar=("OUT", "DATA"),
        action="append",
        default=[],
        help="output folder of treetop reproduce, and the name of its data set",
    )
    parser.add_argument("--machine", help="machine of these runs; default: this one")
    parser.add_argument("--at", metavar="COMMIT", help="commit of these runs; default: this checkout")
    parser.add_argument("--output", type=Path, default=PAGE, help="page to write")
    options = parser.parse_args()
    where = options.machine or machine.describe_hardware()
    for folder, data in options.add:
        stamp = provenance.now() | ({"commit": options.at} if options.at else {})
        fresh = records_of(Path(folder), data, where, stamp)
        record_files.put(record_files.file_of(SUBJECT, data), fresh, "recipe", "member")
    options.output.write_text(page(record_files.read_all(SUBJECT)), "utf-8")


def records_of(folder: Path, data: str, where: str, stamp: dict[str, str]) -> list[Record]:
    """A record of each measured member, and one of the ensemble."""
    results = json.loads((folder / "results.json").read_text("utf-8"))
    recipe = find_recipe(results["recipe"]["name"])
    changes = {name: changed(recipe, name, folder) for name in results["measured"] if name != ENSEMBLE}
    more = {
        "method": recipe.method,
        "command": command(recipe, data, changes, results["differences"]),
        "machine": where,
    }
    return [
        {"recipe": recipe.name, "member": name, "settings": changes.get(name, {}), "numbers": numbers}
        | more
        | stamp
        for name, numbers in results["measured"].items()
    ]


def is_first(record: Record) -> bool:
    """Whether it is the member that the league table shows."""
    return bool(record["member"] == find_recipe(record["recipe"]).members[0].name)


def changed(recipe: Recipe, member: str, folder: Path) -> dict[str, str]:
    """The settings of a trained member that are not the recipe's; of encoders the name alone."""
    kept: dict[str, str] = json.loads((folder / "members" / f"{member}.json").read_text("utf-8"))
    config = method_class(recipe.method).config_class()
    published = config.with_stored(recipe.member(member).settings)
    used = {item.name: value_text(item.value) for item in config.settings()} | kept
    found = {
        item.name: used[item.name]
        for item in published.settings()
        if used[item.name] != value_text(item.value)
    }
    return {name: Path(value).name if name.endswith("encoder") else value for name, value in found.items()}


def own_settings(record: Record) -> dict[str, str]:
    """The changed settings that a command names with ``--set``."""
    return _set(record["settings"])


def _set(changes: dict[str, str]) -> dict[str, str]:
    """Not encoders, and not the seeds that tell members with the same encoder apart."""
    return {name: value for name, value in changes.items() if name != "seed" and not name.endswith("encoder")}


def command(recipe: Recipe, data: str, changes: dict[str, dict[str, str]], differences: list[str]) -> str:
    words = ["treetop", "reproduce", recipe.name, data]
    if len(changes) == 1 < len(recipe.members):
        words += ["--single", *changes]
    first = next(iter(changes.values()))
    if ENCODER in first:
        words += ["--encoder", first[ENCODER]]
    if recipe.inputs.label_texts and not any("texts of the labels" in text for text in differences):
        words += ["--label-texts", "labels.tsv"]
    for name, value in _set(first).items():
        words += ["--set", f"{name}={value}"]
    return " ".join(words)


def page(sets: dict[str, list[Record]]) -> str:
    parts = [INTRODUCTION]
    for data, records in sets.items():
        parts.append(f"## {data}")
        for name in dict.fromkeys(record["recipe"] for record in records):
            found = [record for record in records if record["recipe"] == name]
            parts.append(f"### {name}")
            parts.append(table(data, found))
            parts.append(provenance.measured({record["command"]: record for record in found}.values()))
    return "\n\n".join(parts) + "\n"


def table(data: str, found: list[Record]) -> str:
    """The published ensemble, the measured one, and its members; the first cell is for pages that quote."""
    recipe = find_recipe(found[0]["recipe"])
    rows = [*published(recipe, {record["member"] for record in found})]
    for record in sorted(found, key=lambda record: record["member"] != ENSEMBLE):
        numbers = record["numbers"]
        metrics = (number(numbers, name) for name in METRICS)
        rows.append([record["member"], *metrics, f"{3600 * numbers['training hours']:.0f}"])
    names = [f"{recipe.method}, {data}", *[""] * (len(rows) - 1)]
    return markdown(
        ["", "model", *METRICS, SECONDS], ([name, *row] for name, row in zip(names, rows, strict=True))
    )


def published(recipe: Recipe, names: set[str]) -> Iterator[list[str]]:
    """The paper's own row of the ensemble, or of the only member."""
    for name in (ENSEMBLE, *sorted(names - {ENSEMBLE})):
        for row in recipe.published_of(name):
            if name in names and row.scores:
                yield [
                    f"{name}, published for {recipe.data_set.title}",
                    *(number(row.scores, m) for m in METRICS),
                    "",
                ]
                return


def number(numbers: dict[str, Any], name: str) -> str:
    return f"{numbers[name]:.2f}" if name in numbers else ""


if __name__ == "__main__":
    main()
