"""``treetop compare``: methods, or variants of one, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ..errors import ConfigError, DataError, MissingExtraError
from ..progress import step
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
    holds_splits,
    parse_settings,
)
from .output import check_output, heading, show, show_json, show_table, to_json, write_text
from .reporter import note
from .studies import study_names

if TYPE_CHECKING:
    from ..comparison import Comparison, Variant
    from ..data import Dataset
    from ..studies import Study
    from ..studies.verdicts import Verdict

    Judged: TypeAlias = Sequence[tuple[Study, Sequence[Verdict]]]

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
            help="Methods as they are: treetop methods lists them; all: every method.",
            show_default=False,
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=METHOD,SETTING=VALUE,…",
            help="A method with settings, under a name of its own; may be repeated.",
        ),
    ] = None,
    study: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=study_names,
            help="A list of variants with claims to test; may be repeated. treetop studies lists them.",
        ),
    ] = None,
    settings: Settings = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Train with the seeds 0 … N-1.")] = 3,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER|FILE.html",
            help="Where the report goes: HTML, Markdown, JSON, pictures and finished runs; or HTML alone.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled data to measure on.", show_default="DATA's split test"),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Measure on this share of the training data, which is held out.",
            show_default=f"{HELD_OUT} where DATA is a file and there is no --test",
        ),
    ] = None,
    group: Group = None,
    label_texts: LabelTexts = None,
    propensity: Propensity = "0.55,1.5",
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Runs at a time, in processes of their own: they share a GPU, or the cores.",
        ),
    ] = 1,
    threads: Threads = None,
    device: Device = None,
    json: Json = False,
    reading: LabelledReading,
) -> None:
    """Train methods, or variants of one, with several seeds, and show them side by side.

    --set changes a setting of all variants; what a variant says itself stays. With --methods all it changes
    those methods that have the setting.

    Finished runs are kept in FOLDER/runs, and not beside a FILE.html: a comparison that was stopped goes on
    from there, and more seeds or variants add to it. Choose settings on a share of the training data
    (--validation), never on test data.
    """
    from ..comparison import compare as run_comparison
    from ..machine import process_count
    from ..report.page import check_extra
    from ..studies import load_study
    from ..studies.verdicts import verdicts

    if process_count() > 1:
        raise ConfigError("compare starts its own processes: use --jobs, not torchrun")
    alone = report is not None and report.suffix.lower() in (".html", ".htm")
    if report is not None and alone:
        check_output(report)
        check_extra()
    elif report is not None and report.exists() and not report.is_dir():
        raise DataError(f"{report}: is a file, not a folder; a page alone is called NAME.html")
    constants = parse_propensity(propensity)
    chosen = [load_study(name) for name in study or ()]
    variants = _variants(methods, variant or (), chosen, parse_settings(settings))
    train, held_out = read_parts(data, test, validation, group, label_texts, reading)
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
    judged = [(one, verdicts(one, comparison)) for one in chosen]
    content = comparison.to_dict()
    if judged:
        content["claims"] = {one.name: [item.to_dict() for item in found] for one, found in judged}
    if report is not None and alone:
        write_text(report, _page(comparison, judged))
        note(f"{report}: {_counted(comparison)}")
    elif report is not None:
        _write(report, comparison, judged, content)
    if json:
        show_json(content)
    else:
        _print(comparison, judged)


def _variants(
    methods: str | None, written: Sequence[str], studies: Sequence[Study], changes: Mapping[str, str]
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
    for study in studies:
        variants += study.variants(changes)
    if not variants:
        raise ConfigError("there is nothing to compare: give --methods, --variant or --study")
    return variants


def read_parts(
    data: Path,
    test: Path | None,
    validation: float | None,
    group: str | None,
    label_texts: Path | None,
    reading: LabelledReading,
) -> tuple[Dataset, Dataset]:
    """What is trained on and what is measured on."""
    if test is not None and validation is not None:
        raise ConfigError("--test and --validation both say what to measure on: give one of them")
    if test is None and validation is None and holds_splits(data):
        test = data
    train = reading.read(data, usual_split="train", group=group, label_texts=label_texts)
    if test is not None:
        return train, reading.read_beside(test, "test")
    fraction = HELD_OUT if validation is None else validation
    return train.split(fraction, by_group=group is not None)


def _write(folder: Path, comparison: Comparison, judged: Judged, content: Mapping[str, Any]) -> None:
    from ..report.markdown import to_markdown
    from ..report.plots import draw_all

    folder.mkdir(parents=True, exist_ok=True)
    with step(f"Writing {folder}"):
        missing = ""
        pictures: list[tuple[str, str]] = []
        try:
            pictures = draw_all(comparison, folder)
        except MissingExtraError as error:
            missing = f"; no pictures: {error}"
        try:
            write_text(folder / "report.html", _page(comparison, judged))
        except MissingExtraError as error:
            missing += f"; no page: {error}"
        write_text(folder / "report.md", to_markdown(comparison, judged, pictures))
        write_text(folder / "report.json", to_json(content) + "\n")
    note(f"{folder / 'report.md'}: {_counted(comparison)}{missing}")


def _counted(comparison: Comparison) -> str:
    return f"{len(comparison.names)} variants, {len(comparison.seeds)} seeds"


def _page(comparison: Comparison, judged: Judged) -> str:
    """The report as HTML."""
    from ..report.page import check_extra, to_html
    from ..report.pages import of_comparison, report_page

    check_extra()
    title = f"Comparison: {', '.join(comparison.names)}"
    return to_html(report_page(of_comparison(comparison), title=title, studies=judged))


def _print(comparison: Comparison, judged: Judged) -> None:
    from ..report.markdown import summary
    from ..report.table import difference_text, figures

    header, rows = figures(comparison)
    show_table(rows, header, right=range(1, len(header)))
    for study, found in judged:
        show()
        heading(study.title)
        lines = [
            (
                item.claim.says,
                item.metric,
                "" if item.published is None else f"{item.published:+.2f}",
                difference_text(item.contrast),
                item.outcome,
            )
            for item in found
        ]
        show_table(lines, ("claim", "", "published", "here", ""), right=(2, 3))
        show(summary(found))
