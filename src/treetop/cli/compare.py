"""``treetop compare``: trains methods, or variants of one, and compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..errors import ConfigError, DataError, MissingExtraError
from ..progress import step
from ..units import counted
from .ablations import ablation_names
from .evaluate import parse_propensity
from .methods import method_names
from .options import (
    Device,
    Group,
    Json,
    LabelledReading,
    LabelTexts,
    Propensity,
    Settings,
    Threads,
    Weight,
    holds_splits,
    parse_settings,
)
from .output import check_output, heading, show, show_json, show_table, to_json, write_text
from .reporter import note

if TYPE_CHECKING:
    from ..ablations import Ablation
    from ..ablations.verdicts import Verdict
    from ..comparison import Comparison, Variant
    from ..data import Dataset

    Verdicts: TypeAlias = Sequence[tuple[Ablation, Sequence[Verdict]]]

HELD_OUT = 0.2


def compare(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Labelled texts or features: a file, or a folder with the splits train and test.",
        ),
    ],
    *,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,…",
            autocompletion=method_names,
            help="Methods with default settings; all for every method. treetop methods lists them.",
            show_default=False,
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=METHOD,SETTING=VALUE,…",
            help="Method with settings, under its own name; may be repeated.",
        ),
    ] = None,
    ablation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[/DATA]",
            autocompletion=ablation_names,
            help="Published ablation: variants with claims to test; may be repeated. NAME/DATA is one as"
            " published on a data set. treetop ablations lists them.",
        ),
    ] = None,
    study: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    settings: Settings = None,
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of seeds; runs use the seeds 0 … N-1.")
    ] = 3,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER|FILE.html",
            help="Folder for HTML, Markdown, JSON, plots and finished runs; or a file for the HTML alone.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled test data.", show_default="DATA's split test"),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Share of the training data to hold out and evaluate on.",
            show_default=f"{HELD_OUT} if DATA is a file and there is no --test",
        ),
    ] = None,
    relative_to: Annotated[
        str | None,
        typer.Option(
            metavar="VARIANT",
            help="Add each variant's improvement over this one, in percent.",
            show_default=False,
        ),
    ] = None,
    group: Group = None,
    weight: Weight = None,
    label_texts: LabelTexts = None,
    propensity: Propensity = "0.55,1.5",
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of parallel runs, each in its own process; they share the GPU or the cores.",
        ),
    ] = 1,
    threads: Threads = None,
    device: Device = None,
    json: Json = False,
    reading: LabelledReading,
) -> None:
    """Train methods, or variants of one, with several seeds, and compare them.

    --set changes a setting of all variants, except those that set it themselves. With --methods all, it
    changes the methods that have the setting.

    Finished runs are kept in FOLDER/runs (but not for a FILE.html): an interrupted comparison resumes from
    them, and more seeds or variants add to them. Choose settings on a share of the training data
    (--validation), never on test data.
    """
    from ..ablations import load_ablation
    from ..ablations.verdicts import verdicts
    from ..comparison import compare as run_comparison
    from ..machine import process_count
    from ..report.html import check_extra

    if process_count() > 1:
        raise ConfigError("compare starts its own processes: use --jobs instead of torchrun")
    alone = report is not None and report.suffix.lower() in (".html", ".htm")
    if report is not None and alone:
        check_output(report)
        check_extra()
    elif report is not None and report.exists() and not report.is_dir():
        raise DataError(f"{report}: is a file, not a folder; name a folder, or NAME.html for the page alone")
    constants = parse_propensity(propensity)
    if study:
        note("--study is now --ablation")
    chosen = [load_ablation(name) for name in [*(ablation or ()), *(study or ())]]
    variants = _variants(methods, variant or (), chosen, parse_settings(settings))
    if relative_to is not None and relative_to not in [item.name for item in variants]:
        names = ", ".join(item.name for item in variants)
        raise ConfigError(f"--relative-to: there is no variant {relative_to!r}; choose from {names}")
    train, held_out = _read_data(data, test, validation, group, weight, label_texts, reading)
    comparison = run_comparison(
        variants,
        train,
        held_out,
        seeds=seeds,
        propensity=constants,
        threads=threads,
        device=device,
        jobs=jobs,
        kept=None if report is None or alone else report / "runs",
    )
    found = [(one, verdicts(one, comparison)) for one in chosen]
    content = comparison.to_dict()
    if found:
        content["claims"] = {one.name: [item.to_dict() for item in several] for one, several in found}
    if relative_to is not None:
        content["relative_to"] = {relative_to: comparison.relative_to(relative_to)}
    if report is not None and alone:
        write_text(report, _page(comparison, found))
        note(f"{report}: {_size(comparison)}")
    elif report is not None:
        _write(report, comparison, found, content)
    if json:
        show_json(content)
    else:
        _print(comparison, found, relative_to)


def _variants(
    methods: str | None, written: Sequence[str], ablations: Sequence[Ablation], changes: Mapping[str, str]
) -> list[Variant]:
    from ..comparison import Variant
    from ..comparison.variants import every_method, parse_variant

    names = [name.strip() for name in (methods or "").split(",") if name.strip()]
    variants = (
        every_method(changes) if names == ["all"] else [Variant.of(name, name, changes) for name in names]
    )
    for text in written:
        name, method, own = parse_variant(text)
        variants.append(Variant.of(name, method, changes, own))
    for ablation in ablations:
        variants += ablation.variants(changes)
    if not variants:
        raise ConfigError("there is nothing to compare: give --methods, --variant or --ablation")
    return variants


def _read_data(
    data: Path,
    test: Path | None,
    validation: float | None,
    group: str | None,
    weight: str | None,
    label_texts: Path | None,
    reading: LabelledReading,
) -> tuple[Dataset, Dataset]:
    """The training data and the test data."""
    from ..data.held_out import hold_out

    if test is not None and validation is not None:
        raise ConfigError("--test and --validation cannot be combined: give one of them")
    if test is None and validation is None and holds_splits(data, reading.format):
        test = data
    train = reading.read(data, usual_split="train", group=group, weight=weight, label_texts=label_texts)
    if test is not None:
        return train, reading.read_beside(test, "test")
    fraction = HELD_OUT if validation is None else validation
    return hold_out(train, fraction, 0, "comparison")


def _write(folder: Path, comparison: Comparison, found: Verdicts, content: Mapping[str, Any]) -> None:
    from ..report.markdown import to_markdown
    from ..report.plots import draw_all

    folder.mkdir(parents=True, exist_ok=True)
    with step(f"Writing {folder}"):
        missing = ""
        plots: list[tuple[str, str]] = []
        try:
            plots = draw_all(comparison, folder)
        except MissingExtraError as error:
            missing = f"; no plots: {error}"
        try:
            write_text(folder / "report.html", _page(comparison, found))
        except MissingExtraError as error:
            missing += f"; no HTML: {error}"
        write_text(folder / "report.md", to_markdown(comparison, found, plots))
        write_text(folder / "report.json", to_json(content) + "\n")
    note(f"{folder / 'report.md'}: {_size(comparison)}{missing}")


def _size(comparison: Comparison) -> str:
    return f"{counted(len(comparison.names), 'variant')}, {counted(len(comparison.seeds), 'seed')}"


def _page(comparison: Comparison, found: Verdicts) -> str:
    """The report as HTML."""
    from ..report.build import evidence_of_comparison, report_page
    from ..report.html import check_extra, to_html

    check_extra()
    title = f"Comparison: {', '.join(comparison.names)}"
    return to_html(report_page(evidence_of_comparison(comparison), title=title, ablations=found))


def _print(comparison: Comparison, found: Verdicts, relative_to: str | None) -> None:
    from ..ablations.verdicts import summary
    from ..report.comparison_tables import claim_cells, relative_table, results_table

    header, rows = results_table(comparison)
    show_table(rows, header, right=range(1, len(header)))
    if relative_to is not None:
        show()
        header, rows = relative_table(comparison, relative_to)
        show_table(rows, header, right=range(1, len(header)))
    columns = ("claim", "metric", "published", "here", "outcome")
    for ablation, verdicts in found:
        show()
        heading(ablation.title)
        lines = [[cells[column] for column in columns] for cells in map(claim_cells, verdicts)]
        show_table(lines, columns, right=(2, 3))
        show(summary(verdicts))
