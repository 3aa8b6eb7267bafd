"""``treetop train``: a model from labelled texts or features."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..progress import step
from ..units import counted, file_size
from .command import reserve
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
    Weight,
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
    model: Annotated[Path, typer.Option("--model", "-m", metavar="FOLDER", help="Folder for the model.")],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=method_names, show_default=f"{DEFAULT}, or the method of --recipe"
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
            help="Your own label tree: a node, a tab and its parent on each line; or released label clusters"
            " (.npz, .npy, or a folder of PECOS).",
            show_default=False,
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|FRACTION",
            help="Validation set to evaluate the model on, or the share of TRAIN to hold out as one; a"
            " network also chooses its best epoch there.",
            show_default=False,
        ),
    ] = None,
    group: Group = None,
    weight: Weight = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume training from the last checkpoint."),
    ] = False,
    reading: LabelledReading,
) -> None:
    """Train a model on labelled texts or features.

    To list the settings of a method: treetop methods hybrid. To list recipes: treetop recipes

    With --group, examples that are held out for validation or calibration are drawn as whole groups.

    Checkpoints are kept in FOLDER.unfinished until the model is saved. If training is stopped or killed,
    repeat the command with --resume to continue from there; data and settings must be the same.

    On several GPUs: torchrun --nproc-per-node 4 -m treetop train …
    """
    from ..checkpoints import keeping
    from ..machine import is_main_process, peak_memory

    reserve(model)
    classifier = _untrained(recipe, method)
    options = training_settings(
        classifier.name, parse_settings(settings), threads=threads, seed=seed, device=device
    )
    classifier.config = classifier.config.replace_settings(options)
    began = time.monotonic()
    examples = reading.read(data, usual_split="train", group=group, weight=weight, label_texts=label_texts)
    held_out: Dataset | None = None
    if validation is not None:
        examples, held_out = _hold_out(examples, validation, reading, classifier.config.seed)
    own: dict[str, Any] = {} if tree is None else {"tree": _own_tree(tree, examples, classifier)}
    if held_out is not None and "validation" in classifier.fit_options():
        own["validation"] = held_out
    unfinished = model.with_name(f"{model.name}.unfinished")
    if resume and is_main_process() and not unfinished.exists():
        note(f"{unfinished}: no checkpoint to resume from; training starts from scratch")
    trained = time.monotonic()
    with keeping(unfinished, resume=resume):
        classifier.fit(examples, **own)
        if not is_main_process():  # another process of this training saves the model
            return
        if recipe is not None:
            classifier.statistics |= _recipe_facts(recipe)
        if not resume:  # the time before a kill is not known
            seconds = round(time.monotonic() - trained, 3)
            classifier.statistics["spent"] = {"seconds": seconds, "peak_bytes": peak_memory()}
        with step(f"Saving {model}"):
            classifier.save(model)
    note_saved(model, examples, began)
    if held_out is not None:
        with step("Evaluating"):
            metrics = classifier.evaluate(held_out)
        show(metrics.table())


def _untrained(recipe: str | None, method: str | None) -> Method:
    """An untrained model with the settings of the recipe, if one was given."""
    from ..methods import make
    from ..recipes import find_recipe

    if recipe is None:
        return make(method or DEFAULT)
    found = find_recipe(recipe)
    if method not in (None, found.method):
        raise ConfigError(f"--recipe {recipe} is for {found.method}, not for {method}: leave out --method")
    untrained = found.make()  # before the notes: it fails for methods that treetop does not have
    if found.settings is None:
        note(f"{recipe}: only scores are published, no settings; using the defaults of {found.method}")
    if len(found.members) > 1:
        names = ", ".join(member.name for member in found.members)
        note(f"{recipe} is an ensemble of {names}; this trains {found.members[0].name} alone")
    for hint in found.notes:
        note(hint)
    return untrained


def _recipe_facts(name: str) -> dict[str, str]:
    """What a model records of its recipe."""
    from ..recipes import find_recipe

    members = find_recipe(name).members
    return {"recipe": name} | ({"recipe_member": members[0].name} if members else {})


def note_saved(model: Path, examples: Dataset, began: float) -> None:
    """Notes the size of a new model, and the time since ``began``."""
    size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    note(
        f"{model}: {counted(len(examples.labels), 'label')} from {counted(len(examples), 'example')},"
        f" {file_size(size)}, {duration(time.monotonic() - began)}"
    )


def _hold_out(
    examples: Dataset, validation: str, reading: LabelledReading, seed: int
) -> tuple[Dataset, Dataset]:
    """The examples to train on and those to validate on."""
    from ..data.held_out import hold_out

    try:
        fraction = float(validation)
    except ValueError:
        return examples, reading.read_beside(Path(validation), "test")
    return hold_out(examples, fraction, seed, "validation")


def _own_tree(path: Path, examples: Dataset, classifier: Method) -> LabelTree:
    from ..tree import read_tree

    if "tree" not in classifier.fit_options():
        raise ConfigError(f"--tree: {classifier.name} cannot use a label tree from a file; leave out --tree")
    return read_tree(path, examples.labels, examples.source)
