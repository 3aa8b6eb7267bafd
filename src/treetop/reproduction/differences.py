"""How a rerun differs from the published setup: data, features, word vectors, encoders, settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..recipes import PublishedEncoder, Recipe, published_encoders
from ..regular_files import read_regular
from ..units import counted

if TYPE_CHECKING:
    from ..data import Dataset
    from .plan import PlannedMember

WIDTHS = ("hidden_size", "d_model", "dim", "n_embd")
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers")
"""Names of an encoder's width and number of layers in the configurations of transformers."""
FROM_FILES = {"words.vectors": "vectors", "words.vocabulary": "vocabulary"}
"""Settings that name a file, and what of the recipe's inputs it holds."""


def differences(recipe: Recipe, members: Sequence[PlannedMember], train: Dataset, test: Dataset) -> list[str]:
    """A sentence, without a stop, for each difference from the published setup."""
    found = [*_of_sizes(recipe, train, test), *_of_inputs(recipe, train, members)]
    return [*found, *_of_settings(members)]


def _of_sizes(recipe: Recipe, train: Dataset, test: Dataset) -> Iterator[str]:
    data = recipe.data_set
    labels = len(set(_used_labels(train)) | set(_used_labels(test)))
    sizes = {"training texts": (data.train, len(train)), "test texts": (data.test, len(test))}
    for noun, (expected, here) in sizes.items():
        if here != expected:
            yield f"{data.title} has {expected:,} {noun}, these data have {here:,}"
    if labels > data.labels:  # labels without examples may be in the published count
        yield f"{data.title} has {data.labels:,} labels, these data have {labels:,}"


def _used_labels(data: Dataset) -> list[str]:
    return list(data.labels.take(np.flatnonzero(data.label_counts)))


def _of_inputs(recipe: Recipe, train: Dataset, members: Sequence[PlannedMember]) -> Iterator[str]:
    inputs, data = recipe.inputs, recipe.data_set
    if inputs.features and train.X is None:
        yield (
            f"the paper uses the TF-IDF features distributed with {data.title} ({data.features:,} columns),"
            " but the data have none: treetop's own TF-IDF takes their place"
        )
    elif inputs.features and train.X is not None and not _as_wide(train, data.features):
        yield f"the features of {data.title} have {data.features:,} columns, these have {train.X.shape[1]:,}"
    if inputs.label_texts and train.label_texts is None:
        yield "the paper uses texts of the labels, but the data have none: the labels' names take their place"
    for setting, kind in FROM_FILES.items():
        expected = getattr(inputs, kind)
        files = dict.fromkeys(member.config.value(setting) for member in members if expected)
        for file in files:
            if file is None or not Path(file).name.startswith(expected):
                here = "there are none" if file is None else f"{Path(file).name} is used"
                yield f"the paper uses the {kind} {expected}, but {here}: --set {setting}=FILE gives them"


def _as_wide(train: Dataset, features: int) -> bool:
    """Whether the data have so many features, as far as they say: columns may count from 1."""
    assert train.X is not None
    found = int(train.X.shape[1])
    return found == features or (train.open_width and found <= features + 1)


def _of_settings(members: Sequence[PlannedMember]) -> Iterator[str]:
    """A sentence for each value that some members share."""
    sharing: dict[tuple[str, str, str], list[str]] = {}
    for member in members:
        for name, (published, here) in member.changes().items():
            sharing.setdefault((name, published, here), []).append(member.name)
    known = published_encoders()
    for (name, published, here), names in sharing.items():
        whose = "all members" if len(names) == len(members) > 1 else ", ".join(names)
        if name in FROM_FILES:
            continue
        if published not in known:
            yield f"{whose}: {name} is {_or_unset(here)}, not {_or_unset(published)}"
        elif (size := size_of(here)) != known[published]:
            yield f"{whose}: the encoder is {here}{_described(size)}, not {published}"


def _or_unset(value: str) -> str:
    return value or "left at its default"


def size_of(encoder: str) -> PublishedEncoder | None:
    """The size of an encoder: a published one by name, or one in a local folder; None if unknown.

    A folder with the size of a published encoder counts as that.
    """
    known = published_encoders()
    if encoder in known:
        return known[encoder]
    try:
        found = json.loads(read_regular(Path(encoder).expanduser() / "config.json"))
    except (OSError, ValueError, RecursionError, RuntimeError):
        return None
    if not isinstance(found, dict):
        return None
    hidden, layers, vocabulary = (
        next((found[name] for name in names if isinstance(found.get(name), int)), None)
        for names in (WIDTHS, DEPTHS, ("vocab_size",))
    )
    if hidden is None or layers is None or vocabulary is None:
        return None
    for published in known.values():
        if (published.hidden, published.layers, published.vocabulary) == (hidden, layers, vocabulary):
            return published
    return PublishedEncoder(encoder, hidden, layers, vocabulary)


def _described(size: PublishedEncoder | None) -> str:
    return "" if size is None else f" ({counted(size.layers, 'layer')} of width {size.hidden})"
