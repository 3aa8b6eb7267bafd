"""``treetop report``: an HTML report of one or more models on test data."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..progress import step
from ..report.defaults import EXAMPLES, SAMPLES
from ..units import counted, file_size
from .evaluate import parse_ks, parse_propensity
from .options import Device, Int8, Ks, LabelledReading, Propensity, Threads, load_model
from .output import check_output, write_text
from .predicted import read_predictions
from .reporter import note

if TYPE_CHECKING:
    from ..data import Dataset
    from ..report.evidence import ReportedModel


def report(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL|PREDICTIONS", help="One or more model folders or outputs of predict."),
    ],
    data: Annotated[Path, typer.Argument(metavar="TEST", help="Labelled test texts or features.")],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE.html", help="HTML file to write; - for standard output."
        ),
    ] = Path("report.html"),
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of a model in the report; repeat it for each.",
            show_default="its folder or file",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the report.", show_default="the models' names")
    ] = None,
    ks: Ks = "1,3,5",
    examples: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Number of best and of worst texts to show for each model."),
    ] = EXAMPLES,
    samples: Annotated[
        int, typer.Option(metavar="N", min=100, help="Number of random resamples for intervals and p-values.")
    ] = SAMPLES,
    propensity: Propensity = "0.55,1.5",
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Training data of PREDICTIONS, for PSP@k and metrics by label frequency.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    device: Device = None,
    int8: Int8 = None,
    reading: LabelledReading,
) -> None:
    """Write an HTML report on the quality of models and on their errors.

    It contains metrics with confidence intervals, paired tests of models with corrected p-values, frequent
    and rare labels, calibration, time and memory, the label tree, confusions, and explanations of the best
    and worst predictions. The file is self-contained.
    """
    from ..report.build import evidence_of_models, report_page
    from ..report.evidence import ReportedModel
    from ..report.html import check_extra, to_html

    check_output(output)
    check_extra()
    wanted, constants = parse_ks(ks), parse_propensity(propensity)
    distinct = _names(models, names)
    truth = reading.read(data, usual_split="test")
    how = {"threads": threads, "device": device, "int8": int8}
    reported = []
    for path, name in zip(models, distinct, strict=True):
        if path.is_dir():
            reported.append(_reported_model(path, name, truth, max(wanted), **how))
        else:
            reported.append(ReportedModel(name, (read_predictions(path, truth, data, reading),)))
    evidence = evidence_of_models(
        reported,
        truth,
        train=None if train is None else reading.read_beside(train, "train"),
        ks=wanted,
        propensity=constants,
        samples=samples,
    )
    for sentence in evidence.notes:
        note(sentence)
    page = to_html(report_page(evidence, title=title, example_count=examples))
    write_text(output, page)
    note(f"{output}: {counted(len(reported), 'model')}, {file_size(len(page.encode()))}")


def _names(paths: Sequence[Path], given: Sequence[str] | None) -> list[str]:
    """A distinct name for each model."""
    if given:
        if len(given) != len(paths):
            raise ConfigError(
                f"{counted(len(given), '--name')} for {counted(len(paths), 'model')}: name all or none"
            )
        names = list(given)
    else:
        names = [path.resolve().name if path.is_dir() else path.name for path in paths]
        if len(set(names)) < len(names):
            names = [str(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two models are called {name!r}: give each its own --name")
        if not name.strip():
            raise ConfigError("--name must not be empty: give a name")
    return names


def _reported_model(path: Path, name: str, truth: Dataset, depth: int, **how: Any) -> ReportedModel:
    """A model with its predictions for the test data."""
    from ..machine import watch_memory
    from ..report.build import model_facts
    from ..report.evidence import ReportedModel
    from ..report.measuring import predict_and_measure

    since, started = watch_memory(), time.perf_counter()
    model = load_model(path, **how)
    loaded = time.perf_counter() - started
    with step(f"Predicting with {name}"):
        runs, cost = predict_and_measure(model, truth, depth, since)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    cost = dataclasses.replace(cost, load_seconds=loaded, stored_bytes=size)
    return ReportedModel(name, runs, cost, model_facts(model), model)
