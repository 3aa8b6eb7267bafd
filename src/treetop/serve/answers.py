"""Predictions as the bytes of an answer, put together by hand: this is most of what the server writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..predictions import Predictions
from .served_model import ServedModel, score_texts


def predicted(threshold: float | None) -> Callable[[ServedModel, Predictions, int, int], bytes]:
    """The answer of POST /v1/predict for some rows."""

    def render(served: ServedModel, predictions: Predictions, first: int, last: int) -> bytes:
        rows = (
            b'{"labels":[%s]}' % b",".join(scored_labels(served, predictions, row, threshold))
            for row in range(first, last)
        )
        return served.opening + b",".join(rows) + b"]}"

    return render


def scored_labels(
    served: ServedModel, predictions: Predictions, row: int, threshold: float | None
) -> list[bytes]:
    """``{"label":…,"score":…}`` of one row's labels above the threshold."""
    labels, scores = above(predictions, row, threshold)
    part = served.label_part
    return [
        b'{%s"score":%s}' % (part(label), score.encode())
        for label, score in zip(labels, score_texts(scores), strict=True)
    ]


def above(predictions: Predictions, row: int, threshold: float | None) -> tuple[list[int], np.ndarray]:
    """One row's labels with a score above the threshold, best first; None is no threshold."""
    span = slice(predictions.indptr[row], predictions.indptr[row + 1])
    labels, scores = predictions.indices[span], predictions.scores[span]
    if threshold is not None:
        kept = scores > threshold
        labels, scores = labels[kept], scores[kept]
    return labels.tolist(), scores


def suggested(
    threshold: float | None, ids: Sequence[str | None] | None = None
) -> Callable[[ServedModel, Predictions, int, int], bytes]:
    """The same as Annif writes it: of one text, or of documents with ``ids``."""

    def render(served: ServedModel, predictions: Predictions, first: int, last: int) -> bytes:
        lists = [_suggestions(served, predictions, row, threshold) for row in range(first, last)]
        if ids is None:
            answer: Any = {"results": lists[0]}
        else:
            answer = [
                {"document_id": identity, "results": found}
                for identity, found in zip(ids, lists, strict=True)
            ]
        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")

    return render


def _suggestions(
    served: ServedModel, predictions: Predictions, row: int, threshold: float | None
) -> list[dict[str, Any]]:
    labels, scores = above(predictions, row, threshold)
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
