"""``treetop report``: one or several models on test data, as one HTML page."""

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
from ..units import file_size
from .evaluate import parse_ks, parse_propensity
from .options import Device, Int8, Ks, LabelledReading, Propensity, Threads, load_model
from .output import check_output, write_text
from .reporter import note

if TYPE_CHECKING:
    from ..data import Dataset
    from ..report.subject import Subject


def report(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL|PREDICTIONS", help="Model folders, or what predict wrote; one or several."
        ),
    ],
    data: Annotated[Path, typer.Argument(metavar="TEST", help="Labelled texts or features.")],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE.html", help="Where the page goes; - for standard output."
        ),
    ] = Path("report.html"),
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="What a model is called; repeated, one for each.",
            show_default="as its folder or file",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page.", show_default="the models' names")
    ] = None,
    ks: Ks = "1,3,5",
    examples: Annotated[
        int, typer.Option(metavar="N", min=0, help="Best and worst texts shown of each model.")
    ] = EXAMPLES,
    samples: Annotated[
        int, typer.Option(metavar="N", min=100, help="Random redraws behind intervals and p-values.")
    ] = SAMPLES,
    propensity: Propensity = "0.55,1.5",
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Training data behind PREDICTIONS: PSP@k and the groups by frequency need its label counts.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    device: Device = None,
    int8: Int8 = None,
    reading: LabelledReading,
) -> None:
    """Write one HTML page about how good models are, and where they fail.

    Metrics with intervals, models against each other with corrected p-values, frequent and rare labels,
    calibration, time and memory, the label tree, confusions, and the best and worst answers explained. The
    page needs no network and no other file.
    """
    from ..report.page import check_extra, to_html
    from ..report.pages import of_subjects, report_page

    check_output(output)
    check_extra()
    wanted, constants = parse_ks(ks), parse_propensity(propensity)
    called = _names(models, names)
    truth = reading.read(data, usual_split="test")
    subjects = [
        _subject(path, name, truth, max(wanted), threads=threads, device=device, int8=int8)
        for path, name in zip(models, called, strict=True)
    ]
    lessons = None if train is None else reading.read_beside(train, "train")
    evidence = of_subjects(subjects, truth, train=lessons, ks=wanted, propensity=constants, samples=samples)
    for sentence in evidence.notes:
        note(sentence)
    page = to_html(report_page(evidence, title=title, examples=examples))
    write_text(output, page)
    count = "1 model" if len(subjects) == 1 else f"{len(subjects)} models"
    note(f"{output}: {count}, {file_size(len(page.encode()))}")


def _names(paths: Sequence[Path], given: Sequence[str] | None) -> list[str]:
    """One for each model, all different."""
    if given:
        if len(given) != len(paths):
            raise ConfigError(f"--name is given {len(given)} times for {len(paths)} models: name all or none")
        names = list(given)
    else:
        names = [path.resolve().name if path.is_dir() else path.name for path in paths]
        if len(set(names)) < len(names):
            names = [str(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two models are called {name!r}: give each a --name of its own")
        if not name.strip():
            raise ConfigError("--name must not be empty")
    return names


def _subject(path: Path, name: str, truth: Dataset, depth: int, **how: Any) -> Subject:
    """A model that is asked, or predictions that are read."""
    from ..machine import watch_memory
    from ..predictions import Predictions
    from ..report.measuring import ask
    from ..report.pages import facts_of
    from ..report.subject import Subject

    if not path.is_dir():
        with step(f"Reading {path.name}"):
            return Subject(name, (Predictions.read(path),))
    since, began = watch_memory(), time.perf_counter()
    model = load_model(path, **how)
    loaded = time.perf_counter() - began
    with step(f"Asking {name}"):
        runs, cost = ask(model, truth, depth, since)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    cost = dataclasses.replace(cost, load_seconds=loaded, size=size)
    return Subject(name, runs, cost, facts_of(model), model)
