"""`ServedModel`: one version of a loaded model, with what its responses need."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from .private_copies import PrivateCopies, naming, read_served_manifest, version_of_manifest

if TYPE_CHECKING:
    from ..methods import Method
    from ..predictions import Predictions
    from .label_search import LabelSearch

CACHED_LABELS = 100_000


class ServedModel:
    """Immutable: a changed folder is loaded as another one."""

    def __init__(self, name: str, folder: Path, model: Method, version: str) -> None:
        labels = model.labels
        assert labels is not None
        self.name, self.folder, self.model, self.version = name, folder, model, version
        self.labels, self.label_texts = labels, model.label_texts
        self.loaded_at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.response_start = b'{"model":%s,"version":"%s","results":[' % (_json(name), version.encode())
        """Start of every prediction response."""
        self._label_json: dict[int, bytes] = {}
        self._search: LabelSearch | None = None
        self._search_lock = threading.Lock()

    def predict(self, texts: list[str], k: int) -> Predictions:
        """At most ``k`` labels per text: all labels if the model has fewer."""
        return self.model.predict(texts, min(k, len(self.labels)))

    def text_of(self, label: int) -> str | None:
        """The label's readable name, if it differs from the label."""
        if self.label_texts is None:
            return None
        text = self.label_texts[label]
        return text if text != self.labels[label] else None

    def label_json(self, label: int) -> bytes:
        """``"label":"…",`` (and ``"text":"…",`` if the label has a readable name) as JSON bytes."""
        part = self._label_json.get(label)
        if part is None:
            part = b'"label":%s,' % _json(self.labels[label])
            text = self.text_of(label)
            if text is not None:
                part += b'"text":%s,' % _json(text)
            if len(self._label_json) >= CACHED_LABELS:
                self._label_json.clear()
            self._label_json[label] = part
        return part

    @property
    def search(self) -> LabelSearch:
        """The index of label names, built on first use."""
        from .label_search import LabelSearch

        with self._search_lock:
            if self._search is None:
                counts = self.model.training_counts.get("train_counts")
                self._search = LabelSearch(self.labels, self.label_texts, counts)
            return self._search

    def describe(self) -> dict[str, Any]:
        """The model's entry in the list of models."""
        return {
            "name": self.name,
            "method": self.model.name,
            "version": self.version,
            "labels": len(self.labels),
            "examples": self.model.statistics["examples"],
            "loaded_at": self.loaded_at,
            "explains": self.model.can_explain,
            "calibrated": self.model.calibration is not None,
        }


def version_of(folder: Path) -> str:
    """The version of the model in this folder."""
    return version_of_manifest(read_served_manifest(folder))


def load_served(name: str, folder: Path, settings: Mapping[str, Any], copies: PrivateCopies) -> ServedModel:
    """Loads a copy of the folder and predicts once, so that a model that cannot predict fails here."""
    while True:
        copy = copies.of(name, folder)
        try:
            served = load_copy(name, folder, settings, copy)
        except ModelError:
            if copy.exists():
                raise
            continue  # another worker has loaded a newer version meanwhile
        copies.keep(copy)
        return served


def load_copy(name: str, folder: Path, settings: Mapping[str, Any], copy: Path) -> ServedModel:
    """The same from a copy that was made before."""
    from ..methods import load

    with naming(folder, copy):
        model = load(copy, verify=False, **settings)  # verified while it was copied
    if model.needs_features:
        raise ModelError(f"{folder} was trained on features, so it cannot be served; train it on texts")
    served = ServedModel(name, folder, model, copy.name)
    served.predict(["a first text, which also reads the mapped files into memory"], 1)
    return served


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def score_texts(scores: np.ndarray) -> list[str]:
    """The shortest decimal that identifies each float32."""
    listed: list[str] = scores.astype(np.str_).tolist()
    return listed
