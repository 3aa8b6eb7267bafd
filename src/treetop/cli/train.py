"""``treetop train``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError
from ..progress import step
from ..units import file_size
from .methods import method_names
from .options import (
    Device,
    Group,
    LabelledReading,
    LabelTexts,
    RecipeName,
    Seed,
    Settings,
    Threads,
    both_helps,
    parse_settings,
    training_settings,
)
from .output import show
from .reporter import duration, note

if TYPE_CHECKING:
    from ..data import Dataset
    from ..methods import Method
    from ..tree import LabelTree


DEFAULT = "hybrid"


def train_help() -> dict[str, str]:
    names = ", ".join(name for name, _ in method_names())
    return both_helps() | {"method": f"One of: {names}."}


def train(
    data: Annotated[Path, typer.Argument(metavar="TRAIN", help="Labelled texts or features.")],
    *,
    model: Annotated[Path, typer.Option("--model", "-m", metavar="FOLDER", help="Where the model goes.")],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=method_names, show_default=f"{DEFAULT}, or that of --recipe"
        ),
    ] = None,
    recipe: RecipeName = None,
    settings: Settings = None,
    threads: Threads = None,
    device: Device = None,
    seed: Seed = None,
    label_texts: LabelTexts = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own label tree: node TAB parent on each line.",
            show_default=False,
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|FRACTION",
            help="Labelled data, or the share of TRAIN to hold out, to evaluate the model on; a network also "
            "finds its best epoch there.",
            show_default=False,
        ),
    ] = None,
    group: Group = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the last state of a training that was killed."),
    ] = False,
    reading: LabelledReading,
) -> None:
    """Train a model.

    The settings of a method, for --set: treetop methods hybrid. Published ones, for --recipe: treetop recipes

    What is held out, to validate or to calibrate, keeps examples of one --group together.

    Finished levels, and states of networks, are kept in FOLDER.unfinished until the model is saved: a
    training that was stopped or killed goes on from there with --resume and the same data and settings.

    Several GPUs: torchrun --nproc-per-node 4 -m treetop train …
    """
    from ..checkpoints import keeping
    from ..machine import is_main_process, peak_memory
    from ..methods import make
    from ..store import check_target

    check_target(model)
    chosen, own_settings = _from_recipe(recipe, method)
    options = {**own_settings, **parse_settings(settings)}
    classifier = make(chosen, **training_settings(chosen, options, threads=threads, seed=seed, device=device))
    began = time.monotonic()
    examples = reading.read(data, usual_split="train", group=group, label_texts=label_texts)
    held_out: Dataset | None = None
    if validation is not None:
        examples, held_out = _hold_out(examples, validation, reading, classifier.config.seed)
    own: dict[str, Any] = {} if tree is None else {"tree": _own_tree(tree, examples, classifier)}
    if held_out is not None and "validation" in classifier.fit_options():
        own["validation"] = held_out
    unfinished = model.with_name(f"{model.name}.unfinished")
    if resume and is_main_process() and not unfinished.exists():
        note(f"{unfinished}: there is nothing to go on from, so the training begins anew")
    trained = time.monotonic()
    with keeping(unfinished, resume=resume):
        classifier.fit(examples, **own)
        if not is_main_process():  # another process of this training saves the model
            return
        if recipe is not None:
            classifier.statistics["recipe"] = recipe
        if not resume:  # what was spent before a kill is not known
            seconds = round(time.monotonic() - trained, 3)
            classifier.statistics["spent"] = {"seconds": seconds, "peak_bytes": peak_memory()}
        with step(f"Saving {model}"):
            classifier.save(model)
    note_saved(model, examples, began)
    if held_out is not None:
        with step("Evaluating"):
            metrics = classifier.evaluate(held_out)
        show(metrics.table())


def _from_recipe(recipe: str | None, method: str | None) -> tuple[str, Mapping[str, Any]]:
    """The method to train, and the settings of the recipe."""
    from ..methods import method_class
    from ..recipes import find_recipe

    if recipe is None:
        return method or DEFAULT, {}
    found = find_recipe(recipe)
    if method not in (None, found.method):
        raise ConfigError(f"--recipe {recipe} is for {found.method}, not for {method}")
    method_class(found.method)  # scores are there of methods that are not here
    if found.settings is None:
        note(f"{recipe}: no settings are published, only scores; those of {found.method} are used")
    for hint in found.notes:
        note(hint)
    return found.method, found.settings or {}


def note_saved(model: Path, examples: Dataset, began: float) -> None:
    """Tells of a new model, and how long it took since ``began``."""
    size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    note(
        f"{model}: {len(examples.labels):,} labels from {len(examples):,} examples,"
        f" {file_size(size)}, {duration(time.monotonic() - began)}"
    )


def _hold_out(
    examples: Dataset, validation: str, reading: LabelledReading, seed: int
) -> tuple[Dataset, Dataset]:
    """The examples to learn from and those to evaluate on."""
    try:
        fraction = float(validation)
    except ValueError:
        return examples, reading.read_beside(Path(validation), "test")
    return examples.split(fraction, seed=seed, by_group=examples.groups is not None)


def _own_tree(path: Path, examples: Dataset, classifier: Method) -> LabelTree:
    from ..tree import LabelTree, read_taxonomy

    if "tree" not in classifier.fit_options():
        raise ConfigError(f"--tree: {classifier.name} takes no label tree from a file")
    parents = read_taxonomy(path)
    if not any(name in parents for name in examples.labels):
        raise DataError(f"{path}: lists none of the labels of {examples.source}")
    return LabelTree.from_parents(parents, examples.labels)
