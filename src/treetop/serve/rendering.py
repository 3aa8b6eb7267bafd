"""Predictions as response bytes, built by hand: most of what the server writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..predictions import Predictions
from .served_model import ServedModel, score_texts

Render = Callable[[ServedModel, Predictions, int, int], bytes]
"""Model, predictions, first row, row after the last → the response body."""


def predict_renderer(threshold: float | None) -> Render:
    """The response of POST /v1/predict for a range of rows."""

    def render(served: ServedModel, predictions: Predictions, first: int, last: int) -> bytes:
        rows = (
            b'{"labels":[%s]}' % b",".join(_scored_labels(served, predictions, row, threshold))
            for row in range(first, last)
        )
        return served.response_start + b",".join(rows) + b"]}"

    return render


def _scored_labels(
    served: ServedModel, predictions: Predictions, row: int, threshold: float | None
) -> list[bytes]:
    """``{"label":…,"score":…}`` for each label of a row above the threshold."""
    labels, scores = labels_above(predictions, row, threshold)
    label_json = served.label_json
    return [
        b'{%s"score":%s}' % (label_json(label), score.encode())
        for label, score in zip(labels, score_texts(scores), strict=True)
    ]


def labels_above(predictions: Predictions, row: int, threshold: float | None) -> tuple[list[int], np.ndarray]:
    """Labels and scores of a row with a score above the threshold, best first; None: all of them."""
    span = slice(predictions.indptr[row], predictions.indptr[row + 1])
    labels, scores = predictions.indices[span], predictions.scores[span]
    if threshold is not None:
        kept = scores > threshold
        labels, scores = labels[kept], scores[kept]
    return labels.tolist(), scores


def suggest_renderer(threshold: float | None, document_ids: Sequence[str | None] | None = None) -> Render:
    """The same in Annif's format: for one text, or for documents with ``document_ids``."""

    def render(served: ServedModel, predictions: Predictions, first: int, last: int) -> bytes:
        lists = [_suggestions(served, predictions, row, threshold) for row in range(first, last)]
        if document_ids is None:
            body: Any = {"results": lists[0]}
        else:
            body = [
                {"document_id": document_id, "results": found}
                for document_id, found in zip(document_ids, lists, strict=True)
            ]
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

    return render


def _suggestions(
    served: ServedModel, predictions: Predictions, row: int, threshold: float | None
) -> list[dict[str, Any]]:
    labels, scores = labels_above(predictions, row, threshold)
    found = []
    for label, score in zip(labels, score_texts(scores), strict=True):
        name = served.labels[label]
        found.append(
            {
                "uri": name,
                "label": served.text_of(label) or name,
                "notation": None,
                "score": float(score),
            }
        )
    return found
