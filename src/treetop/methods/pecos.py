"""PECOS's models as treetop models: XR-Linear folders, and text2text folders with their TF-IDF and items.

    FOLDER/ranker/…                       a model that takes features (see `linear.pecos_folder`)

    FOLDER/xlinear_ensemble/0/ranker/…    the same in a text2text model,
    FOLDER/xlinear_ensemble/config.json   a list of such models,
    FOLDER/preprocessor/…                 its TF-IDF (see `features.pecos_tfidf`),
    FOLDER/output_items.json              and the names of its labels

The folders have neither the training data's counts nor the settings of the training.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..data import Dataset
from ..data.files import read_lines
from ..data.json_files import COPY_AGAIN, read_object
from ..data.labels import distinct_names
from ..errors import DataError, ModelError, raise_machine_fault
from ..features.pecos_tfidf import read_pecos_tfidf
from ..features.text_features import TextFeatures
from ..linear import Forest
from ..linear.pecos_folder import PecosRanker
from ..regular_files import read_regular
from ..store import MANIFEST
from ..strings import Strings
from .xr_linear import XRLinear, XRLinearConfig

_MODELS, _ITEMS, _TFIDF = "xlinear_ensemble", "output_items.json", "preprocessor"
_TRANSFORMER = "concat_model"
_PARTS = (f"{_MODELS}/config.json", "ranker/param.json", "0.model/param.json", f"{_TRANSFORMER}/param.json")


def is_pecos(folder: str | os.PathLike[str]) -> bool:
    """Whether it is a model folder of PECOS, by the files that it has."""
    folder = Path(folder)
    return not (folder / MANIFEST).exists() and any((folder / part).is_file() for part in _PARTS)


def load_pecos(
    folder: str | os.PathLike[str],
    *,
    labels: Iterable[str] | os.PathLike[str] | None = None,
    train: Dataset | None = None,
    threads: int = 0,
) -> XRLinear:
    """Loads an XR-Linear or text2text model of PECOS; its predictions are PECOS's own.

    ``labels``: their names in PECOS's order, or a file with one on each line; by default the items of a
    text2text model, else "0", "1", ….
    ``train``: its training data, for what PECOS does not keep: how often each label occurs, which
    propensity-scored metrics need. ``threads``: 0 for all cores.
    """
    folder = Path(folder)
    if not is_pecos(folder):
        raise ModelError(
            f"{folder}: is not a model folder of PECOS: it has none of {', '.join(_PARTS)}; give the folder"
            " that its save wrote"
        )
    if (folder / _TRANSFORMER).is_dir():
        raise ModelError(
            f"{folder}: is an XR-Transformer model of PECOS, whose encoder treetop does not load: load its"
            f" {_TRANSFORMER}, which takes TF-IDF and the encoder's vectors side by side"
        )
    of_texts = (folder / _MODELS).is_dir()
    ranker = PecosRanker.read(_only_model(folder) if of_texts else folder)
    tfidf = columns = None
    width = ranker.n_features
    if of_texts:
        tfidf, columns = read_pecos_tfidf(folder / _TFIDF)
        if len(columns) != width:
            raise ModelError(
                f"{folder}: its TF-IDF has {len(columns):,} terms, but its linear model takes {width:,}"
                f" features; {COPY_AGAIN}"
            )
        width = tfidf.n_features
    forest = Forest([ranker.to_model(columns, width)])
    config = dataclasses.replace(XRLinearConfig(), linear=forest.models[0].config)
    if tfidf is not None:
        config = dataclasses.replace(config, tfidf=tfidf.config)
    model = XRLinear(config.replace_settings({"threads": threads}))
    model.features, model.forest = TextFeatures(tfidf, width), forest
    model.labels = _names(folder, labels, ranker.labels)
    used = model.tree.labels
    model.statistics = {
        "examples": None,
        "labels": ranker.labels,
        "labels_used": len(used),
        "labels_per_example": None,
        "input": "texts" if of_texts else "features",
        "source": str(folder),
    }
    model.label_counts = np.zeros(ranker.labels, np.int64)
    model.label_counts[used] = 1
    if train is not None:
        _count(model, train)
    return model


def _only_model(folder: Path) -> Path:
    path = folder / _MODELS / "config.json"
    listed = read_object(path).get("kwargs")
    if not isinstance(listed, list) or len(listed) != 1:
        count = len(listed) if isinstance(listed, list) else 0
        raise ModelError(
            f"{path}: lists {count} models, and treetop loads one: load each in {_MODELS} by itself, which"
            " takes features, and combine them with treetop ensemble"
        )
    return folder / _MODELS / "0"


def _names(folder: Path, given: Iterable[str] | os.PathLike[str] | None, count: int) -> Strings:
    path = folder / _ITEMS
    if isinstance(given, os.PathLike):
        names, where = read_lines(given), str(given)
    elif given is not None:
        names, where = Strings.of(given), "the label names"
    elif path.is_file():
        try:
            items = json.loads(read_regular(path))
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise ValueError("it is not a list of strings")
        except (OSError, ValueError, RecursionError) as error:
            raise_machine_fault(error, path)
            raise ModelError(f"{path}: cannot be read ({error}); {COPY_AGAIN}") from None
        names, where = Strings.of(items), str(path)
    else:
        return Strings.numbers(count)
    if len(names) != count:
        raise DataError(
            f"{where}: {len(names):,} names, but the model has {count:,} labels; each needs one name"
        )
    return distinct_names(names, where)


def _count(model: XRLinear, train: Dataset) -> None:
    """Takes the label counts from the training data."""
    labels = model.known_labels
    if train.X is not None and not model.takes_texts and train.X.shape[1] != model.features.n_features:
        raise DataError(
            f"{train.source}: has {train.X.shape[1]:,} features, but the model takes"
            f" {model.features.n_features:,}; give the data that it was trained on"
        )
    aligned = train.aligned_to(labels)
    if len(aligned.labels) > len(labels):
        raise DataError(
            f"{train.source}: has the label {aligned.labels[len(labels)]!r}, which the model lacks; name the"
            " model's labels as in its training data"
        )
    assert aligned.Y is not None
    model.label_counts = aligned.label_counts
    model.statistics |= {
        "examples": len(train),
        "labels_used": int((model.label_counts > 0).sum()),
        "labels_per_example": round(aligned.Y.nnz / len(train), 3),
        "source": train.source,
    }
