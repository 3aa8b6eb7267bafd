"""Explanations in JSON: the path to a label, and the words of the text that led to it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..explanation import Explanation, Span
from .rendering import labels_above
from .served_model import ServedModel, score_texts

WORDS = 30
"""Words per label: those with the largest weights, summed over their occurrences."""
PLACES = 20
"""Occurrences per word: the first ones, which share its weight."""


def explained_predictions(
    served: ServedModel,
    texts: list[str],
    k: int,
    threshold: float | None,
    max_explained: int,
    deadline: float,
) -> dict[str, Any]:
    """The response of POST /v1/predict with ``explain``.

    Explains ``max_explained`` labels, the same number for each text. Raises TimeoutError after ``deadline``
    (monotonic clock), when the client already has its response.
    """
    per_text = max(1, max_explained // len(texts))
    left = max_explained
    predictions = served.predict(texts, k)
    results = []
    for row, text in enumerate(texts):
        labels, scores = labels_above(predictions, row, threshold)
        found: list[dict[str, Any]] = []
        for label, score in zip(labels, score_texts(scores), strict=True):
            entry: dict[str, Any] = {"label": served.labels[label]}
            readable = served.text_of(label)
            if readable is not None:
                entry["text"] = readable
            entry["score"] = float(score)
            if len(found) < per_text and left > 0 and served.model.label_counts[label] > 0:
                if time.monotonic() > deadline:
                    raise TimeoutError
                left -= 1
                entry |= _as_json(served.model.explain(text, served.labels[label]), text)
            found.append(entry)
        results.append({"labels": found})
    return {"model": served.name, "version": served.version, "results": results}


def _as_json(explanation: Explanation, text: str) -> dict[str, Any]:
    """``path``, ``parts`` of a combined score, and ``words``."""
    fields: dict[str, Any] = {"path": _path(explanation)}
    if explanation.parts:
        fields["parts"] = [
            {"name": part.name, "weight": part.weight, "value": part.value} for part in explanation.parts
        ]
    weights: defaultdict[str, float] = defaultdict(float)
    places: defaultdict[str, set[Span]] = defaultdict(set)
    for (start, end), weight in _weighted_spans(explanation, 1.0):
        word = text[start:end].lower()
        weights[word] += weight
        places[word].add((start, end))
    heaviest = sorted(weights, key=lambda word: -abs(weights[word]))[:WORDS]
    shares = {
        span: weights[word] / min(len(places[word]), PLACES)
        for word in heaviest
        for span in sorted(places[word])[:PLACES]
    }
    fields["words"] = [
        {"word": text[start:end], "weight": round(share, 6), "start": start, "end": end}
        for (start, end), share in sorted(shares.items())
    ]
    return fields


def _path(explanation: Explanation) -> list[str]:
    """Names of the tree nodes; without a tree, a count of neighbours; of several parts, the first path."""
    if explanation.path:
        return [step.name for step in explanation.path]
    if explanation.votes:
        agree = sum(vote.agrees for vote in explanation.votes)
        return [f"{agree} of the {len(explanation.votes)} nearest training texts"]
    inner = (part.explanation for part in explanation.parts if part.explanation is not None)
    return next((path for path in map(_path, inner) if path), [])


def _weighted_spans(explanation: Explanation, factor: float) -> Iterator[tuple[Span, float]]:
    """Spans of the text with their contributions to raw scores, over all nodes of the path and all parts.

    The contribution of a word is divided evenly over its occurrences.
    """
    for step in explanation.path:
        for term in step.terms:
            for span in term.spans:
                yield span, factor * term.contribution / len(term.spans)
    for part in explanation.parts:
        if part.explanation is not None:
            yield from _weighted_spans(part.explanation, factor * part.weight)
