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
from ..units import file_size
from .evaluate import parse_ks, parse_propensity
from .options import Device, Int8, LabelledReading, Threads, load_model
from .output import check_output, write_text
from .reporter import note

if TYPE_CHECKING:
    from ..data import Dataset
    from ..report.subject import Known, Subject


def report(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL|PREDICTIONS...", help="Model folders, or what predict wrote; one or several."
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
    ks: Annotated[str, typer.Option("--k", "-k", metavar="K,K,…", help="Ranks to report.")] = "1,3,5",
    examples: Annotated[
        int, typer.Option(metavar="N", min=0, help="Best and worst texts shown of each model.")
    ] = 5,
    samples: Annotated[
        int, typer.Option(metavar="N", min=100, help="Random redraws behind intervals and p-values.")
    ] = 10_000,
    propensity: Annotated[
        str,
        typer.Option(metavar="A,B|NAME", help="Constants of PSP@k, or the data set they are published for."),
    ] = "0.55,1.5",
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
    from ..report.pages import known_to, label_names, report_page
    from ..report.subject import Evidence, Known

    check_output(output)
    check_extra()
    wanted, constants = parse_ks(ks), parse_propensity(propensity)
    called = _names(models, names)
    truth = reading.read(data, usual_split="test")
    subjects = [
        _subject(path, name, truth, max(wanted), threads=threads, device=device, int8=int8)
        for path, name in zip(models, called, strict=True)
    ]
    with_models = [subject.model for subject in subjects if subject.model is not None]
    known: Known | None = known_to(with_models[0]) if with_models else None
    texts: dict[str, str] = {}
    for model in with_models:
        texts = label_names(model.labels, model.label_texts) | texts
    if train is not None:
        lessons = reading.read_beside(train, "train")
        known = Known(lessons.labels, lessons.label_counts, len(lessons))
    _note_other_counts(subjects, known)
    evidence = Evidence.of(
        subjects, truth, ks=wanted, propensity=constants, known=known, label_texts=texts, samples=samples
    )
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
    from ..predictions import Predictions
    from ..report.measuring import ask
    from ..report.pages import facts_of
    from ..report.subject import Subject

    if not path.is_dir():
        with step(f"Reading {path.name}"):
            return Subject(name, (Predictions.read(path),))
    began = time.perf_counter()
    model = load_model(path, **how)
    loaded = time.perf_counter() - began
    # Confusions cut a text at its number of labels, which may be more than the ranks that are reported.
    with step(f"Asking {name}"):
        predictions, cost = ask(model, truth, max(depth, 10))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    cost = dataclasses.replace(cost, load_seconds=loaded, size=size)
    return Subject(name, (predictions,), cost, facts_of(model), model)


def _note_other_counts(subjects: Sequence[Subject], known: Known | None) -> None:
    import numpy as np

    for subject in subjects:
        model = subject.model
        if model is None or known is None or model.labels is None:
            continue
        if model.labels != known.labels or not np.array_equal(model.label_counts, known.counts):
            note(
                f"{subject.name}: was trained on other data; label frequencies of all models are those of"
                f" {'--train' if subject is subjects[0] else 'the first model'}"
            )
