"""``treetop evaluate``: metrics of a model or of a file of predictions on test data."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..progress import step
from ..units import counted
from .options import Device, Int8, Ks, LabelledReading, RecipeName, Threads, load_model
from .output import check_output, heading, show, show_table, to_json, write_text
from .predicted import read_predictions
from .published import comparable, note_published, scores_table
from .reporter import note

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Difference, FrequencyBucket, Interval, LabelReport
    from ..predictions import Predictions
    from ..recipes import Recipe


def evaluate(
    evaluated: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|PREDICTIONS", help="Model folder, output of predict, or .npz scores of PECOS."
        ),
    ],
    data: Annotated[Path, typer.Argument(metavar="TEST", help="Labelled test texts or features.")],
    *,
    ks: Ks = "1,3,5",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Add micro and macro F1 of the labels scored strictly above this, among the first K.",
            show_default=False,
        ),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            metavar="A,B|NAME",
            help="Constants of PSP@k, or the benchmark they are published for.",
            show_default="0.55,1.5, or those of the recipe's benchmark",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="Compare with the published scores of MODEL's recipe."),
    ] = False,
    recipe: RecipeName = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Training data of PREDICTIONS, for PSP@k and --by-frequency.",
            show_default=False,
        ),
    ] = None,
    by_frequency: Annotated[
        bool, typer.Option("--by-frequency", help="Break metrics down by label frequency.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Add 95 % bootstrap confidence intervals.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL|PREDICTIONS",
            help="Test the difference from another model's predictions for the same texts.",
            show_default=False,
        ),
    ] = None,
    per_label: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the metrics of each label.", show_default=False),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write all metrics as JSON; - for standard output.", show_default=False
        ),
    ] = None,
    card: Annotated[
        bool,
        typer.Option("--card", help="Save the main metrics in MODEL, for the model card of treetop serve."),
    ] = False,
    label_names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Names of the label columns of an .npz file, one on each line.",
            show_default="the labels of TEST",
        ),
    ] = None,
    threads: Threads = None,
    device: Device = None,
    int8: Int8 = None,
    reading: LabelledReading,
) -> None:
    """Evaluate a model or a file of predictions on test data: P@k, nDCG@k, PSP@k, … in percent."""
    from .. import metrics

    for path in (json, per_label):
        check_output(path)
    if card and not evaluated.is_dir():
        raise ConfigError(f"--card: {evaluated} is not a model folder: give one, or leave out --card")
    wanted = parse_ks(ks)
    to_match = _recipe(evaluated, recipe) if published or recipe is not None else None
    rows = [] if to_match is None else comparable(to_match, _manifest(evaluated))
    usual = "0.55,1.5" if to_match is None else to_match.data_set.name
    constants = parse_propensity(usual if propensity is None else propensity)
    truth = reading.read(data, usual_split="test")
    depth, how = max(wanted), {"threads": threads, "device": device, "int8": int8}

    def predicted(place: Path) -> tuple[Predictions, dict[str, Any]]:
        if place.is_dir():
            return _predict(place, truth, depth, **how)
        return read_predictions(place, truth, data, reading, label_names), {}

    predictions, known = predicted(evaluated)
    other = None if against is None else predicted(against)[0]
    if train is not None:
        known = {"train": reading.read_beside(train, "train")}
    options: Any = {"ks": wanted, "propensity": constants, "threshold": threshold} | known
    if by_frequency and not known:
        raise ConfigError("--by-frequency needs the training data of the predictions: give --train FILE")
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
        if to_match is not None:
            content["published"] = [row.to_dict() for row in rows]
        if truth.excluded_pairs:
            content["excluded_pairs"] = truth.excluded_pairs
        write_text(json, to_json(content) + "\n")
    if json is None or str(json) != "-":
        _print(values.table(), intervals, buckets, differences)
        if to_match is not None and rows:
            show()
            heading(f"published: {to_match.name}")
            scores_table(rows, values)
    if truth.excluded_pairs:
        note(f"{counted(truth.excluded_pairs, 'pair')} of a text and a label left out of the evaluation")
    if to_match is not None:
        note_published(to_match, rows, len(truth))
    if card:
        from ..serve.card import measure

        measure(load_model(evaluated, threads, device, int8), truth, evaluated)


def _recipe(evaluated: Path, name: str | None) -> Recipe:
    """The recipe of that name, or the recipe the model was trained with."""
    from ..recipes import find_recipe

    if name is None:
        manifest = _manifest(evaluated)
        if manifest is None:
            raise ConfigError(
                f"--published: {evaluated} is not a model; name the recipe with --recipe METHOD/DATA"
            )
        name = manifest["data"].get("recipe")
    if name is None:
        raise ConfigError(
            f"--published: {evaluated} was not trained with a recipe; name one with --recipe METHOD/DATA"
        )
    return find_recipe(name)


def _manifest(evaluated: Path) -> dict[str, Any] | None:
    """The manifest of a model folder; None for a file of predictions."""
    from ..store import read_manifest

    return read_manifest(evaluated) if evaluated.is_dir() else None


def _predict(evaluated: Path, truth: Dataset, depth: int, **how: Any) -> tuple[Predictions, dict[str, Any]]:
    """The predictions of a model, and the label counts and size of its training data if known."""
    model = load_model(evaluated, **how)
    with step("Predicting"):
        predictions = model.predict(truth, min(depth, len(model.label_counts)))
    return predictions, model.training_counts


def parse_ks(text: str) -> tuple[int, ...]:
    try:
        ks = tuple(sorted({int(piece) for piece in text.split(",")}))
    except ValueError:
        raise ConfigError(f"--k must be numbers such as 1,3,5, not {text!r}") from None
    if ks[0] < 1:
        raise ConfigError(f"--k must be at least 1, not {ks[0]}")
    return ks


def parse_propensity(text: str) -> tuple[float, float]:
    """``0.55,1.5``, or the name of a benchmark with published constants."""
    from ..metrics import PROPENSITY, inverse_propensity

    if text.lower() in PROPENSITY:
        return PROPENSITY[text.lower()]
    try:
        a, b = map(float, text.split(","))
    except ValueError:
        raise ConfigError(
            f"--propensity must be two numbers A,B or one of {', '.join(PROPENSITY)}, not {text!r}"
        ) from None
    inverse_propensity(0, 1, a, b)  # raises on impossible values before any work starts
    return a, b


def _as_json(
    values: Mapping[str, float],
    intervals: Mapping[str, Interval] | None,
    buckets: Sequence[FrequencyBucket] | None,
    differences: Mapping[str, Difference] | None,
) -> dict[str, Any]:
    """The metrics by name, and optional results under their own names."""
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
        heading("95 % confidence intervals")
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
        heading("difference from the other model")
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
        header = ["", "this", "other", "difference", "95 % interval", "p"]
        show_table(rows, header, right=range(1, len(header)))


def _label_csv(report: LabelReport) -> str:
    from ..metrics import LabelRow

    lines = io.StringIO(newline="")
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(LabelRow._fields)
    for row in report.rows:
        writer.writerow(round(cell, 4) if isinstance(cell, float) else cell for cell in row)
    return lines.getvalue()
