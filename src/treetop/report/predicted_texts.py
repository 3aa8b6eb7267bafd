"""The test texts with the best and the worst predictions, and explanations of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import UserError
from ..metrics.matching import match_truth
from .highlights import Segment, WordContribution, highlighted, word_contributions

if TYPE_CHECKING:
    from ..explanation import Explanation
    from .evidence import Evidence, ReportedModel

CHARACTERS = 1500
"""Characters shown of each text."""
PREDICTED_EXPLAINED, MISSED_EXPLAINED = 3, 2
WORDS, VOTES = 8, 5


class PredictedLabel(NamedTuple):
    """A predicted label of one text."""

    label: str
    score: str
    correct: bool


@dataclass(frozen=True)
class LabelExplanation:
    """Why a label was predicted, or why it was missed."""

    label: str
    state: str
    """``correct``, ``wrong`` or ``missed``."""
    score: str
    note: str
    segments: Sequence[Segment]
    words: Sequence[WordContribution]
    others: int
    """Number of words that are not listed."""
    votes: Sequence[tuple[str, str]]
    """Share of the votes and description of the nearest training texts with the label."""
    rule: str


@dataclass(frozen=True)
class PredictedText:
    """A test text with its predicted and missed labels."""

    title: str
    metric: str
    segments: Sequence[Segment]
    """The plain text, shown if no label is explained."""
    cut: int
    """Number of characters left out at the end."""
    predicted: Sequence[PredictedLabel]
    missed: Sequence[str]
    explanations: Sequence[LabelExplanation]


def best_and_worst(evidence: Evidence, place: int, count: int) -> tuple[list[int], list[int]]:
    """Rows of labelled texts with the best and the worst nDCG at the largest k.

    Ties: the best texts have few labels beyond k, then most labels; the worst have the highest wrong score.
    """
    scores = evidence.scores[place][f"nDCG@{evidence.depth}"]
    rows = np.flatnonzero(scores.denominator > 0)
    quality = scores.numerator[rows].round(9)
    assert evidence.truth.Y is not None
    labels = np.diff(evidence.truth.Y.indptr)[rows]
    matched = match_truth(evidence.models[place].runs[0], evidence.truth, evidence.depth)
    wrong = ~matched.best_hits
    highest_wrong = np.full(len(matched.best), -np.inf)
    np.maximum.at(highest_wrong, matched.best.rows[wrong], matched.best.scores[wrong])
    beyond_k = np.maximum(labels - evidence.depth, 0)
    best = rows[np.lexsort((rows, -labels, beyond_k, -quality))]
    worst = rows[np.lexsort((rows, -highest_wrong[rows], quality))]
    count = min(count, len(rows) // 2)  # no text is in both lists
    return best[:count].tolist(), worst[:count].tolist()


def predicted_text(evidence: Evidence, place: int, row: int) -> PredictedText:
    """One text with its predicted labels, its missed labels, and explanations."""
    reported, truth = evidence.models[place], evidence.truth
    predicted = reported.runs[0][row][: evidence.depth]
    true = truth.labels_of(row)
    labels = [
        PredictedLabel(
            evidence.readable(item.label), _score(item.score) if reported.scored else "", item.label in true
        )
        for item in predicted
    ]
    names = {item.label for item in predicted}
    missed = [label for label in true if label not in names]
    text = "" if truth.texts is None else truth.texts[row]
    explanations = []
    if reported.model is not None and reported.model.can_explain:
        explained = [
            (item.label, "correct" if item.label in true else "wrong")
            for item in predicted[:PREDICTED_EXPLAINED]
        ]
        explained += [(label, "missed") for label in missed[:MISSED_EXPLAINED]]
        explanations = [_explain(evidence, reported, row, label, state, text) for label, state in explained]
    ndcg = 100 * evidence.scores[place][f"nDCG@{evidence.depth}"].numerator[row]
    return PredictedText(
        title=str(row if truth.ids is None else truth.ids[row]),
        metric=f"nDCG@{evidence.depth} {ndcg:.0f} %",
        segments=[Segment(text[:CHARACTERS], 0)],
        cut=max(len(text) - CHARACTERS, 0),
        predicted=labels,
        missed=[evidence.readable(label) for label in missed],
        explanations=explanations,
    )


def _explain(
    evidence: Evidence, reported: ReportedModel, row: int, label: str, state: str, text: str
) -> LabelExplanation:
    assert reported.model is not None
    name = evidence.readable(label)
    try:
        explanation = reported.model.explain(evidence.truth[[row]], label)
    except UserError as error:  # a label that the model does not know or never predicts
        return LabelExplanation(name, state, "", str(error), [], [], 0, [], "")
    words = word_contributions(explanation)
    score = explanation.score if explanation.probability is None else explanation.probability
    return LabelExplanation(
        label=name,
        state=state,
        score=_score(score),
        note=explanation.why_missed or "",
        segments=_cut(highlighted(text, words)),
        words=words[:WORDS],
        others=max(len(words) - WORDS, 0),
        votes=_votes(explanation),
        rule=explanation.rule,
    )


def _votes(explanation: Explanation) -> list[tuple[str, str]]:
    agreeing = [vote for vote in explanation.votes if vote.agrees][:VOTES]
    rows = [
        (f"{100 * vote.share:.1f} %", f"training text in row {vote.example} ({', '.join(vote.labels[:8])})")
        for vote in agreeing
    ]
    for part in explanation.parts:
        if part.explanation is not None:
            rows += _votes(part.explanation)
    return rows[:VOTES]


def _cut(segments: Sequence[Segment]) -> list[Segment]:
    """The first characters of a text in segments."""
    kept, left = [], CHARACTERS
    for segment in segments:
        if left > 0:
            kept.append(segment._replace(text=segment.text[:left]))
        left -= len(segment.text)
    return kept


def _score(value: float) -> str:
    return f"{value:.3f}" if 0.001 <= abs(value) < 1000 or value == 0 else f"{value:.2g}"
