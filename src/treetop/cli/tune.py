"""``treetop tune``: the settings that do best on held-out training data."""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import value_text
from ..errors import ConfigError
from ..progress import step
from ..registry import SINGLE_METHODS
from ..units import counted
from .command import reserve
from .methods import method_names
from .options import (
    Device,
    Group,
    LabelledReading,
    LabelTexts,
    Seed,
    Settings,
    Threads,
    Weight,
    both_helps,
    given,
    parse_settings,
    training_settings,
)
from .output import check_output, show, show_table, to_json, write_text
from .reporter import note
from .train import DEFAULT, note_saved

if TYPE_CHECKING:
    from ..data import Dataset
    from ..search_space import Values
    from ..tuning import Trial, Tuning

TRIALS_SHOWN = 10


def tune_help() -> dict[str, str]:
    return both_helps() | {"method": f"One of: {', '.join(SINGLE_METHODS)}."}


def tune(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Labelled texts or features to train on.")],
    *,
    method: Annotated[str, typer.Option(metavar="NAME", autocompletion=method_names)] = DEFAULT,
    trials: Annotated[
        int, typer.Option(metavar="N", help="Number of trials, including those already in the study.")
    ] = 48,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            metavar="FOLDER",
            help="Folder for a model that is trained on all of DATA with the best settings.",
            show_default=False,
        ),
    ] = None,
    settings: Settings = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="NAME=V,V,…",
            help="Values of a setting to try, or a range LOW..HIGH (or LOW..HIGH:log); may be repeated.",
            show_default=False,
        ),
    ] = None,
    validation: Annotated[
        str, typer.Option(metavar="FRACTION|FILE", help="Share of DATA to validate on, or a validation set.")
    ] = "0.2",
    group: Group = None,
    weight: Weight = None,
    metric: Annotated[str, typer.Option(metavar="NAME@K", help="Metric to maximise: P@1, nDCG@5, …")] = "P@1",
    sampler: Annotated[
        str,
        typer.Option(metavar="NAME", help="Sampler of settings: random, or tpe, which learns from trials."),
    ] = "random",
    pruning: Annotated[
        bool,
        typer.Option(
            "--pruning/--no-pruning",
            help="Stop poor trials early (only networks with a constant learning rate).",
        ),
    ] = True,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to keep the trials in; the same command resumes the study.",
            show_default="FOLDER.study.db, or tune.db",
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write all trials as JSON; - for standard output.", show_default=False
        ),
    ] = None,
    threads: Threads = None,
    device: Device = None,
    seed: Seed = None,
    label_texts: LabelTexts = None,
    reading: LabelledReading,
) -> None:
    """Search for the best settings of a method.

    Each trial trains on most of DATA and is evaluated on the rest. For search spaces: treetop methods NAME

    A network with a constant learning rate trains for at most 50 epochs and stops after 10 without
    improvement; the final model, on all of DATA, trains up to the best epoch of the best trial. A network
    whose learning rate changes (schedule, warmup), or whose weights are averaged (average=swa), always trains
    for all of its epochs.
    """
    from ..tuning import tune as search

    check_output(json)
    if model is not None:
        reserve(model)
    if study is None:
        study = Path("tune.db") if model is None else model.with_name(f"{model.name}.study.db")
    check_output(study)
    fixed = training_settings(method, parse_settings(settings), threads=threads, seed=seed, device=device)
    searched = parse_space(space)
    examples = reading.read(data, usual_split="train", group=group, weight=weight, label_texts=label_texts)
    tuning = search(
        method,
        examples,
        trials=trials,
        settings=fixed,
        space=searched,
        validation=_validation(validation, reading),
        metric=metric,
        sampler=sampler,
        pruning=pruning,
        study=study,
    )
    command = train_command(tuning, data, model, reading, {"group": group, "label_texts": label_texts})
    if json is not None:
        write_text(json, to_json(tuning.to_dict() | {"study": str(study), "command": command}) + "\n")
    if json is None or str(json) != "-":
        _show_trials(tuning)
    _note_counts(tuning, study)
    if model is not None:
        _train(tuning, examples, model)
    elif json is None or str(json) != "-":
        show(f"\nTrain with the best settings: {command}")


def parse_space(pairs: list[str] | None) -> dict[str, Values]:
    """``["cnn.filters=96,192"]`` → ``{"cnn.filters": ("96", "192")}``."""
    from ..tuning.space import parse_values

    space = {}
    for pair in pairs or ():
        name, separator, values = pair.partition("=")
        if not separator or not name.strip() or not values.strip():
            raise ConfigError(f"--space needs NAME=V,V,… or NAME=LOW..HIGH, not {pair!r}")
        space[name.strip()] = parse_values(values)
    return space


def train_command(
    tuning: Tuning, data: Path, model: Path | None, reading: LabelledReading, more: Mapping[str, Any]
) -> str:
    """The command that trains a model with the settings found; ``more`` are other options about the data."""
    words = ["treetop", "train", str(data), "--method", tuning.method, "--model", str(model or "model")]
    for name, value in tuning.settings.items():
        words += ["--set", f"{name}={value_text(value)}"]
    for option in dataclasses.fields(reading):
        if (value := getattr(reading, option.name)) != option.default:
            words += [f"--{option.name.replace('_', '-')}", value]
    for name, value in given(more).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _validation(text: str, reading: LabelledReading) -> float | Dataset:
    try:
        return float(text)
    except ValueError:
        return reading.read_beside(Path(text), "test")


def _show_trials(tuning: Tuning) -> None:
    names = list(tuning.space)
    short = [name.rpartition(".")[2] for name in names]
    titles = [name if short.count(end) > 1 else end for name, end in zip(names, short, strict=True)]
    epochs = ["epoch"] if tuning.best.epoch is not None else []
    header = ["trial", tuning.metric, *epochs, "seconds", *titles]

    def row(trial: Trial) -> list[str]:
        taken = [str(trial.epoch)] if epochs else []
        values = [_short(trial.settings[name]) for name in names]
        return [str(trial.number), f"{trial.value:.2f}", *taken, f"{trial.seconds:.1f}", *values]

    show_table(map(row, tuning.ranked[:TRIALS_SHOWN]), header, right=range(len(header)))


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else value_text(value)


def _note_counts(tuning: Tuning, study: Path) -> None:
    counts = ", ".join(f"{count} {state}" for state, count in tuning.counts().items() if count)
    note(f"{study}: {counted(len(tuning.trials), 'trial')}, {counts}")
    errors = [trial for trial in tuning.trials if trial.error is not None]
    if errors:
        note(f"trial {errors[-1].number} failed: {errors[-1].error}")


def _train(tuning: Tuning, examples: Dataset, model: Path) -> None:
    """Trains the model of all examples; a killed training resumes from its last checkpoint."""
    from ..checkpoints import keeping

    began = time.monotonic()
    classifier = tuning.make()
    with keeping(model.with_name(f"{model.name}.unfinished"), resume=True):
        classifier.fit(examples)
        with step(f"Saving {model}"):
            classifier.save(model)
    note_saved(model, examples, began)
