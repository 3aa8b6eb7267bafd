"""Explanations as the page shows them: the path to a label, and the words of the text that led there."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..explanation import Explanation, Span
from .answers import above
from .served_model import ServedModel, score_texts

WORDS = 30
"""Of a label, with the largest weights over all places where they stand."""
PLACES = 20
"""Of a word: the first ones, which share its weight."""


def explained(
    served: ServedModel, texts: list[str], k: int, threshold: float | None, most: int, until: float
) -> dict[str, Any]:
    """The answer of POST /v1/predict with ``explain``: ``most`` labels are explained, of each text as many.

    After ``until``, a time of the monotonic clock, nobody waits for the answer any more.
    """
    each = max(1, most // len(texts))
    predictions = served.predict(texts, k)
    results = []
    for row, text in enumerate(texts):
        labels, scores = above(predictions, row, threshold)
        found: list[dict[str, Any]] = []
        for label, score in zip(labels, score_texts(scores), strict=True):
            entry: dict[str, Any] = {"label": served.labels[label]}
            readable = served.text_of(label)
            if readable is not None:
                entry["text"] = readable
            entry["score"] = float(score)
            if len(found) < each and most > 0 and served.model.label_counts[label] > 0:
                if time.monotonic() > until:
                    raise TimeoutError
                most -= 1
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
    weights: defaultdict[str, float] = defaultdict(float)
    places: defaultdict[str, set[Span]] = defaultdict(set)
    for (start, end), weight in _spans(explanation, 1.0):
        word = text[start:end].lower()
        weights[word] += weight
        places[word].add((start, end))
    heavy = sorted(weights, key=lambda word: -abs(weights[word]))[:WORDS]
    shares = {
        span: weights[word] / min(len(places[word]), PLACES)
        for word in heavy
        for span in sorted(places[word])[:PLACES]
    }
    about["words"] = [
        {"word": text[start:end], "weight": round(share, 6), "start": start, "end": end}
        for (start, end), share in sorted(shares.items())
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
