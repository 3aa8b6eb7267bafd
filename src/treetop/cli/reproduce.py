"""``treetop reproduce``: what a paper trained, and its table next to the measured one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .options import Device, Json, LabelledReading, LabelTexts, Settings, Threads, parse_settings
from .output import heading, show, show_json, show_table, to_json, write_text
from .reporter import duration, note

if TYPE_CHECKING:
    from ..data import Dataset
    from ..reproduction import Measured, Plan, TableRow


def reproduction_choices() -> list[str]:
    """Completions of RECIPE."""
    from ..ablations import ablation_names
    from ..recipes import all_recipes

    trained = [recipe.name for recipe in all_recipes().values() if recipe.members]
    return [*trained, *ablation_names()]


def reproduce(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            autocompletion=reproduction_choices,
            help="A recipe, such as xr-transformer/eurlex-4k, or an ablation, such as xml-cnn/table-4.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder with training and test data, as distributed."),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder for models, predictions, table and report.",
            show_default="reproduced/RECIPE",
        ),
    ] = None,
    single: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Train only this member, without the ensemble.", show_default=False
        ),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DIR,…",
            help="Local folders of encoders, by the encoder's name, its first word, or the member:"
            " bert=DIR,roberta=DIR; DIR alone is for all members.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop if data, features, word vectors, encoder or settings are not the published ones.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be trained, with estimates of time and memory."),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an earlier run in the output folder.")
    ] = False,
    settings: Settings = None,
    label_texts: LabelTexts = None,
    threads: Threads = None,
    device: Device = None,
    json: Json = False,
    reading: LabelledReading,
) -> None:
    """Train what a paper trained, and show its table next to the measured one.

    Trains every member of a recipe with its published settings, combines them by the published rule, and
    evaluates them on the test data. The HTML report lists all differences from the published setup.

    A run that was stopped continues with --resume: finished members are not trained again.
    """
    from ..machine import process_count
    from ..report.html import check_extra

    if process_count() > 1:
        raise ConfigError("reproduce trains several models in one process: leave out torchrun")
    check_extra()
    ablation = _ablation(recipe)
    if ablation is not None:
        options = {"--single": single, "--encoder": encoder, "--strict": strict, "--dry-run": dry_run}
        for name, value in options.items():
            if value:
                raise ConfigError(f"{name} is for recipes, and {recipe} is an ablation: leave it out")
    target = output or Path("reproduced") / recipe.replace("/", "-")
    train = reading.read(data, usual_split="train", label_texts=label_texts)
    test = reading.read_beside(data, "test")
    changes = parse_settings(settings)
    if ablation is not None:
        _run_ablation(ablation, train, test, target, changes, resume, threads, device, json)
        return
    plan = _plan(recipe, train, test, single, encoder or (), changes)
    if strict:
        plan.check_strict()
    if dry_run:
        _show_plan(plan, train, test)
        return
    _run(plan, train, test, target, resume, threads, device, json)


def _ablation(name: str) -> str | None:
    """The ablation of that name, with a slash or a hyphen, perhaps with ``/DATA``; None if it is not one."""
    from ..ablations import ablation_names

    known, parts = ablation_names(), name.split("/")
    for cut in (len(parts), len(parts) - 1):
        plain = "-".join(parts[:cut])
        if plain in known:
            return "/".join([plain, *parts[cut:]])
    return None


def _plan(
    name: str,
    train: Dataset,
    test: Dataset,
    single: str | None,
    encoders: Sequence[str],
    changes: Mapping[str, str],
) -> Plan:
    from ..recipes import find_recipe
    from ..reproduction import Plan

    return Plan.of(
        find_recipe(name), train, test, single=single, encoders=parse_encoders(encoders), settings=changes
    )


def parse_encoders(given: Sequence[str]) -> dict[str, str]:
    """``["bert=a,roberta=b"]`` → ``{"bert": "a", "roberta": "b"}``; a folder alone has the name ""."""
    found: dict[str, str] = {}
    for item in (piece.strip() for text in given for piece in text.split(",")):
        name, equals, folder = item.partition("=")
        if not equals:
            name, folder = "", item
        if not folder:
            raise ConfigError(f"--encoder must have the form NAME=DIR or DIR, not {item!r}")
        if name in found:
            raise ConfigError(
                f"--encoder: {name or 'an encoder for all members'} is given twice: give it once"
            )
        found[name] = folder
    return found


def _show_plan(plan: Plan, train: Dataset, test: Dataset) -> None:
    from ..reproduction.estimates import estimates

    heading(f"{plan.recipe.name}: {_what(plan)}")
    found = estimates(plan, train, test)
    rows = [
        [
            one.member,
            "" if one.weights is None else f"{one.weights / 1e6:.1f}",
            duration(one.seconds),
            f"{one.gigabytes:.2g}",
        ]
        for one in found
    ]
    show_table(rows, ["member", "million weights", "time, about", "GB, about"], right=(1, 2, 3))
    show()
    show(f"In all about {duration(sum(one.seconds for one in found))}, one member after the other.")
    _show_differences(plan.differences)


def _what(plan: Plan) -> str:
    names = ", ".join(member.name for member in plan.members)
    together = f", combined by the rule {plan.rule}" if plan.rule else ""
    return f"{names}{together}"


def _show_differences(differences: Sequence[str]) -> None:
    show()
    if not differences:
        show("Data, features, encoders and settings are the published ones.")
        return
    show("Differences from the published setup:")
    for text in differences:
        show(f"- {text}")


def _run(
    plan: Plan,
    train: Dataset,
    test: Dataset,
    target: Path,
    resume: bool,
    threads: int | None,
    device: str | None,
    json: bool,
) -> None:
    from ..reproduction import reproduce, table_rows

    for hint in plan.recipe.notes:
        note(hint)
    measured = reproduce(plan, train, test, target, resume=resume, threads=threads, device=device)
    rows = table_rows(plan.recipe, measured)
    content = {
        "recipe": plan.recipe.to_dict(),
        "measured": {one.name: dict(one.numbers) for one in measured},
        "differences": list(plan.differences),
    }
    write_text(target / "results.json", to_json(content) + "\n")
    write_text(target / "report.html", _page(plan, measured, rows, train, test))
    note(f"{target / 'report.html'}: {_what(plan)}")
    if json:
        show_json(content)
        return
    _show_rows(rows)
    _show_differences(plan.differences)


def _show_rows(rows: Sequence[TableRow]) -> None:
    from ..reproduction.table import cells

    header, lines = cells(rows)
    show_table(lines, header, right=range(2, len(header) - 1))


def _page(
    plan: Plan, measured: Sequence[Measured], rows: Sequence[TableRow], train: Dataset, test: Dataset
) -> str:
    from ..metrics import DEFAULT_PROPENSITY
    from ..metrics.propensity import PROPENSITY
    from ..report.build import evidence_of_models, report_page
    from ..report.evidence import Cost, ReportedModel
    from ..report.html import to_html
    from ..report.sections.reproduction import reproduction

    def cost(numbers: Mapping[str, float]) -> Cost:
        hours = numbers.get("training hours")
        return Cost(
            train_seconds=None if hours is None else 3600 * hours,
            batch_milliseconds=numbers["ms per text"],
            stored_bytes=round(1e9 * numbers["model GB"]),
        )

    models = [
        ReportedModel(one.name, (one.predictions.top(5),), cost(one.numbers), one.facts) for one in measured
    ]
    constants = PROPENSITY.get(plan.recipe.data_set.name, DEFAULT_PROPENSITY)
    evidence = evidence_of_models(models, test, train=train, propensity=constants)
    title = f"{plan.recipe.name}: published and measured"
    return to_html(report_page(evidence, title=title, first=[reproduction(rows, plan.differences)]))


def _run_ablation(
    name: str,
    train: Dataset,
    test: Dataset,
    target: Path,
    changes: Mapping[str, Any],
    resume: bool,
    threads: int | None,
    device: str | None,
    json: bool,
) -> None:
    """Every row once, with the seed 0; finished rows are kept in the folder."""
    from ..ablations import load_ablation
    from ..ablations.verdicts import verdicts
    from ..comparison import compare
    from ..report.build import evidence_of_comparison, report_page
    from ..report.html import to_html
    from ..report.sections.reproduction import reproduction
    from ..reproduction import TableRow

    if target.exists() and any(target.iterdir()) and not resume:
        raise ConfigError(
            f"{target}: holds an earlier run: add --resume to continue it, or name another --output"
        )
    ablation = load_ablation(name)
    comparison = compare(
        ablation.variants(changes),
        train,
        test,
        seeds=1,
        threads=threads,
        device=device,
        kept=target / "runs",
    )
    rows = []
    for row in ablation.rows:
        rows.append(TableRow(row.name, "published", row.published, ablation.source))
        if row.method is not None:
            rows.append(TableRow(row.name, "measured", comparison.runs[row.name][0].metrics))
    differences = [f"the published scores are for {ablation.published_on}"]
    differences += [f"{key} is {value} in all rows" for key, value in changes.items()]
    found = [(ablation, verdicts(ablation, comparison))]
    page = report_page(
        evidence_of_comparison(comparison),
        title=f"{ablation.title}: published and measured",
        ablations=found,
        first=[reproduction(rows, differences)],
    )
    content = comparison.to_dict() | {"published": dict(ablation.published), "differences": differences}
    write_text(target / "results.json", to_json(content) + "\n")
    write_text(target / "report.html", to_html(page))
    note(f"{target / 'report.html'}: {ablation.title}")
    if json:
        show_json(content)
        return
    _show_rows(rows)
    _show_differences(differences)
