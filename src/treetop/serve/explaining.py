"""Explanations as the page shows them: the path to a label, and the words of the text that led there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..explanation import Explanation, Span
from .answers import above
from .served_model import ServedModel, score_texts

WORDS = 30
"""Of a label, with the largest weights."""


def explained(served: ServedModel, texts: list[str], k: int, threshold: float | None) -> dict[str, Any]:
    """The answer of POST /v1/predict with ``explain``."""
    predictions = served.predict(texts, k)
    results = []
    for row, text in enumerate(texts):
        labels, scores = above(predictions, row, threshold)
        found = []
        for label, score in zip(labels, score_texts(scores), strict=True):
            entry: dict[str, Any] = {"label": served.labels[label]}
            readable = served.text_of(label)
            if readable is not None:
                entry["text"] = readable
            entry["score"] = float(score)
            if served.model.label_counts[label] > 0:
                entry |= described(served.model.explain(text, served.labels[label]), text)
            found.append(entry)
        results.append({"labels": found})
    return {"model": served.name, "version": served.version, "results": results}


def described(explanation: Explanation, text: str) -> dict[str, Any]:
    """``path``, ``parts`` where there are several, and ``words``."""
    about: dict[str, Any] = {"path": _path(explanation)}
    if explanation.parts:
        about["parts"] = [
            {"name": part.name, "weight": part.weight, "value": part.value} for part in explanation.parts
        ]
    weights: defaultdict[Span, float] = defaultdict(float)
    for span, weight in _spans(explanation, 1.0):
        weights[span] += weight
    heavy = sorted(weights.items(), key=lambda item: -abs(item[1]))[:WORDS]
    about["words"] = [
        {"word": text[start:end], "weight": round(weight, 6), "start": start, "end": end}
        for (start, end), weight in sorted(heavy)
    ]
    return about


def _path(explanation: Explanation) -> list[str]:
    """Names of the nodes; where there is no tree, who spoke for the label; of several parts the first's."""
    if explanation.path:
        return [step.name for step in explanation.path]
    if explanation.votes:
        agree = sum(vote.agrees for vote in explanation.votes)
        return [f"{agree} of the {len(explanation.votes)} nearest training texts"]
    inner = (part.explanation for part in explanation.parts if part.explanation is not None)
    return next((path for path in map(_path, inner) if path), [])


def _spans(explanation: Explanation, factor: float) -> Iterator[tuple[Span, float]]:
    """Where words stand and what they add to raw scores, over all nodes of a path and all parts.

    A word that stands there several times shares what it adds.
    """
    for step in explanation.path:
        for term in step.terms:
            for span in term.spans:
                yield span, factor * term.contribution / len(term.spans)
    for part in explanation.parts:
        if part.explanation is not None:
            yield from _spans(part.explanation, factor * part.weight)
