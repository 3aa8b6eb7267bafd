"""``treetop evaluate``: a model or a file of predictions against the truth."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..progress import step
from .options import Device, Int8, Ks, LabelledReading, RecipeName, Threads, load_model
from .output import check_output, heading, show, show_table, to_json, write_text
from .published import note_published, scores_table

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Difference, FrequencyBucket, Interval, LabelReport
    from ..predictions import Predictions
    from ..recipes import Recipe


def evaluate(
    judged: Annotated[
        Path, typer.Argument(metavar="MODEL|PREDICTIONS", help="A model folder, or what predict wrote.")
    ],
    data: Annotated[Path, typer.Argument(metavar="TEST", help="Labelled texts or features.")],
    *,
    ks: Ks = "1,3,5",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Also micro and macro F1 of the labels above this score, among the largest K.",
            show_default=False,
        ),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|NAME",
            help="Constants of PSP@k, or the data set they are published for.",
            show_default="0.55,1.5, or those of the recipe's data set",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="Published scores beside the measured: of the recipe of MODEL."),
    ] = False,
    recipe: RecipeName = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Training data behind PREDICTIONS: PSP@k and --by-frequency need its label counts.",
            show_default=False,
        ),
    ] = None,
    by_frequency: Annotated[
        bool, typer.Option("--by-frequency", help="Frequent and rare labels apart.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="95 % confidence intervals, by bootstrap.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL|PREDICTIONS",
            help="Compare with another model's answers to the same texts.",
            show_default=False,
        ),
    ] = None,
    per_label: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write how each label fared.", show_default=False),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write all figures as JSON; - for standard output.", show_default=False
        ),
    ] = None,
    card: Annotated[
        bool, typer.Option("--card", help="Keep the main figures in MODEL, for the card that serve shows.")
    ] = False,
    threads: Threads = None,
    device: Device = None,
    int8: Int8 = None,
    reading: LabelledReading,
) -> None:
    """Measure how good a model, or a file of predictions, is: P@k, nDCG@k, PSP@k, … in percent."""
    from .. import metrics

    for path in (json, per_label):
        check_output(path)
    if card and not judged.is_dir():
        raise ConfigError(f"--card: {judged} is not a model, so it has no card")
    wanted = parse_ks(ks)
    beside = _recipe(judged, recipe) if published or recipe is not None else None
    usual = "0.55,1.5" if beside is None else beside.data_set.name
    constants = parse_propensity(usual if propensity is None else propensity)
    truth = reading.read(data, usual_split="test")
    depth, how = max(wanted), {"threads": threads, "device": device, "int8": int8}
    predictions, known = _predictions(judged, truth, depth, **how)
    other = None if against is None else _predictions(against, truth, depth, **how)[0]
    if train is not None:
        known = {"train": reading.read_beside(train, "train")}
    options: Any = {"ks": wanted, "propensity": constants, "threshold": threshold} | known
    if by_frequency and not known:
        raise ConfigError("--by-frequency needs the training data of the predictions: --train FILE")
    counts: Any = {name: value for name, value in known.items() if name != "n_train"}

    with step("Evaluating"):
        values = metrics.evaluate(predictions, truth, **options)
        intervals = metrics.confidence_intervals(predictions, truth, **options) if confidence else None
        buckets = metrics.by_frequency(predictions, truth, ks=wanted, **counts) if by_frequency else None
        differences = None if other is None else metrics.compare(predictions, other, truth, **options)
        if per_label is not None:
            report = metrics.label_report(predictions, truth, k=max(wanted), **counts)
            write_text(per_label, _label_csv(report))

    if json is not None:
        content = _as_json(values, intervals, buckets, differences)
        if beside is not None:
            content["published"] = [row.to_dict() for row in beside.published]
        write_text(json, to_json(content) + "\n")
    if json is None or str(json) != "-":
        _print(values.table(), intervals, buckets, differences)
        if beside is not None and beside.published:
            show()
            heading(f"published: {beside.name}")
            scores_table(beside.published, values)
    if beside is not None:
        note_published(beside, len(truth))
    if card:
        from ..serve.card import measure

        measure(load_model(judged, threads, device, int8), truth, judged)


def _recipe(judged: Path, name: str | None) -> Recipe:
    """The recipe of that name, or the one that the model was trained by."""
    from ..recipes import find_recipe
    from ..store import read_manifest

    if name is None and not judged.is_dir():
        raise ConfigError(f"--published: {judged} is not a model; name the recipe with --recipe METHOD/DATA")
    if name is None:
        name = read_manifest(judged)["data"].get("recipe")
    if name is None:
        raise ConfigError(
            f"--published: {judged} was trained by no recipe; name one with --recipe METHOD/DATA"
        )
    return find_recipe(name)


def _predictions(judged: Path, truth: Dataset, depth: int, **how: Any) -> tuple[Predictions, dict[str, Any]]:
    """The answers, and what is known about the training data: label counts and size, or nothing."""
    from ..predictions import Predictions

    if not judged.is_dir():
        with step(f"Reading {judged.name}"):
            return Predictions.read(judged), {}
    model = load_model(judged, **how)
    with step("Predicting"):
        predictions = model.predict(truth, min(depth, len(model.label_counts)))
    return predictions, {"train_counts": model.label_counts, "n_train": model.statistics["examples"]}


def parse_ks(text: str) -> tuple[int, ...]:
    try:
        ks = tuple(sorted({int(piece) for piece in text.split(",")}))
    except ValueError:
        raise ConfigError(f"--k wants numbers such as 1,3,5, not {text!r}") from None
    if ks[0] < 1:
        raise ConfigError(f"--k must be at least 1, not {ks[0]}")
    return ks


def parse_propensity(text: str) -> tuple[float, float]:
    """``0.55,1.5``, or the name of a data set whose constants are published."""
    from ..metrics import PROPENSITY, inverse_propensity

    if text.lower() in PROPENSITY:
        return PROPENSITY[text.lower()]
    try:
        a, b = map(float, text.split(","))
    except ValueError:
        raise ConfigError(
            f"--propensity wants two numbers A,B or one of {', '.join(PROPENSITY)}, not {text!r}"
        ) from None
    inverse_propensity(0, 1, a, b)  # refuses what cannot be, before anything is trained or asked
    return a, b


def _as_json(
    values: Mapping[str, float],
    intervals: Mapping[str, Interval] | None,
    buckets: Sequence[FrequencyBucket] | None,
    differences: Mapping[str, Difference] | None,
) -> dict[str, Any]:
    """The figures by name; what was asked for besides, under names of its own."""
    content: dict[str, Any] = {name: round(value, 4) for name, value in values.items()}
    if intervals is not None:
        content["confidence"] = {
            name: {"low": round(interval.low, 4), "high": round(interval.high, 4)}
            for name, interval in intervals.items()
        }
    if buckets is not None:
        content["by_frequency"] = [bucket._asdict() for bucket in buckets]
    if differences is not None:
        content["against"] = {name: difference._asdict() for name, difference in differences.items()}
    return content


def _print(
    table: str,
    intervals: Mapping[str, Interval] | None,
    buckets: Sequence[FrequencyBucket] | None,
    differences: Mapping[str, Difference] | None,
) -> None:
    show(table)
    if intervals is not None:
        show()
        heading("95 % confidence")
        rows: Iterable[Sequence[str]] = (
            (name, f"{i.value:.2f}", f"{i.low:.2f}", f"{i.high:.2f}") for name, i in intervals.items()
        )
        show_table(rows, ("", "value", "low", "high"), right=(1, 2, 3))
    if buckets is not None:
        show()
        heading("by label frequency")
        ks = list(buckets[0].recall)
        header = ["", "training texts", "labels", "occurrences"]
        header += [f"recall@{k}" for k in ks] + [f"part of P@{k}" for k in ks]
        rows = (
            [b.name, b.training_texts, f"{b.labels:,}", f"{b.occurrences:,}"]
            + [f"{b.recall[k]:.2f}" for k in ks]
            + [f"{b.precision[k]:.2f}" for k in ks]
            for b in buckets
        )
        show_table(rows, header, right=range(1, len(header)))
    if differences is not None:
        show()
        heading("against the other")
        rows = (
            (
                name,
                f"{d.first:.2f}",
                f"{d.second:.2f}",
                f"{d.difference:+.2f}",
                f"{d.low:+.2f} … {d.high:+.2f}",
                f"{d.p_value:.3f}",
            )
            for name, d in differences.items()
        )
        header = ["", "this", "other", "difference", "95 % confidence", "p"]
        show_table(rows, header, right=range(1, len(header)))


def _label_csv(report: LabelReport) -> str:
    from ..metrics import LabelRow

    lines = io.StringIO(newline="")
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(LabelRow._fields)
    for row in report.rows:
        writer.writerow(round(cell, 4) if isinstance(cell, float) else cell for cell in row)
    return lines.getvalue()
