"""Texts that a model answered best and worst, and why it answered so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import UserError
from ..metrics.judged import judge
from .marks import Piece, Word, marked, words_of

if TYPE_CHECKING:
    from ..explanation import Explanation
    from .subject import Evidence, Subject

CHARACTERS = 1500
"""Of a text that are shown."""
GIVEN_EXPLAINED, MISSING_EXPLAINED = 3, 2
WORDS, VOTES = 8, 5


class Answer(NamedTuple):
    """A label of one text."""

    label: str
    score: str
    right: bool


@dataclass(frozen=True)
class Why:
    """Why one label got its score."""

    label: str
    state: str
    """``right``, ``wrong``, or ``missing``."""
    score: str
    note: str
    pieces: Sequence[Piece]
    words: Sequence[Word]
    others: int
    """Words that are not listed."""
    votes: Sequence[tuple[str, str]]
    """Share and labels of the nearest training texts that have the label."""
    rule: str


@dataclass(frozen=True)
class Example:
    title: str
    figure: str
    pieces: Sequence[Piece]
    """The plain text, shown where no label is explained."""
    cut: int
    """Characters that are left out at its end."""
    given: Sequence[Answer]
    missing: Sequence[str]
    whys: Sequence[Why]


def best_and_worst(evidence: Evidence, place: int, count: int) -> tuple[list[int], list[int]]:
    """Rows by nDCG at the largest k, of texts that have labels.

    Among equals the best have few labels missing, then most labels; the worst, the highest wrong score.
    """
    scores = evidence.scores[place][f"nDCG@{evidence.depth}"]
    rows = np.flatnonzero(scores.denominator > 0)
    quality = scores.numerator[rows].round(9)
    assert evidence.truth.Y is not None
    labels = np.diff(evidence.truth.Y.indptr)[rows]
    judged = judge(evidence.subjects[place].runs[0], evidence.truth, evidence.depth)
    wrong = ~judged.best_hits
    sure = np.full(len(judged.best), -np.inf)
    np.maximum.at(sure, judged.best.rows[wrong], judged.best.scores[wrong])
    missing = np.maximum(labels - evidence.depth, 0)
    best = rows[np.lexsort((rows, -labels, missing, -quality))]
    worst = rows[np.lexsort((rows, -sure[rows], quality))]
    count = min(count, len(rows) // 2)  # no text is among both
    return best[:count].tolist(), worst[:count].tolist()


def example(evidence: Evidence, place: int, row: int) -> Example:
    """One text: what was given, what is missing, and why."""
    subject, truth = evidence.subjects[place], evidence.truth
    given = subject.runs[0][row][: evidence.depth]
    true = truth.labels_of(row)
    answers = [
        Answer(evidence.named(item.label), _score(item.score) if subject.scored else "", item.label in true)
        for item in given
    ]
    named = {item.label for item in given}
    missing = [label for label in true if label not in named]
    text = "" if truth.texts is None else truth.texts[row]
    whys = []
    if subject.model is not None and subject.model.can_explain:
        shown = [(item.label, "right" if item.label in true else "wrong") for item in given[:GIVEN_EXPLAINED]]
        shown += [(label, "missing") for label in missing[:MISSING_EXPLAINED]]
        whys = [_why(evidence, subject, row, label, state, text) for label, state in shown]
    ndcg = 100 * evidence.scores[place][f"nDCG@{evidence.depth}"].numerator[row]
    return Example(
        title=str(row if truth.ids is None else truth.ids[row]),
        figure=f"nDCG@{evidence.depth} {ndcg:.0f} %",
        pieces=[Piece(text[:CHARACTERS], 0)],
        cut=max(len(text) - CHARACTERS, 0),
        given=answers,
        missing=[evidence.named(label) for label in missing],
        whys=whys,
    )


def _why(evidence: Evidence, subject: Subject, row: int, label: str, state: str, text: str) -> Why:
    assert subject.model is not None
    name = evidence.named(label)
    try:
        explanation = subject.model.explain(evidence.truth[[row]], label)
    except UserError as error:  # a label that the model does not know, or never gives
        return Why(name, state, "", str(error), [], [], 0, [], "")
    words = words_of(explanation)
    votes = _votes(explanation)
    score = explanation.score if explanation.probability is None else explanation.probability
    return Why(
        label=name,
        state=state,
        score=_score(score),
        note=explanation.why_missed or "",
        pieces=_cut(marked(text, words)),
        words=words[:WORDS],
        others=max(len(words) - WORDS, 0),
        votes=votes,
        rule=explanation.rule,
    )


def _votes(explanation: Explanation) -> list[tuple[str, str]]:
    agreeing = [vote for vote in explanation.votes if vote.agrees][:VOTES]
    rows = [
        (f"{100 * vote.share:.1f} %", f"row {vote.example}: {', '.join(vote.labels[:8])}")
        for vote in agreeing
    ]
    for part in explanation.parts:
        if part.explanation is not None:
            rows += _votes(part.explanation)
    return rows[:VOTES]


def _cut(pieces: Sequence[Piece]) -> list[Piece]:
    """The first characters of a text in pieces."""
    kept, left = [], CHARACTERS
    for piece in pieces:
        if left > 0:
            kept.append(piece._replace(text=piece.text[:left]))
        left -= len(piece.text)
    return kept


def _score(value: float) -> str:
    return f"{value:.3f}" if 0.001 <= abs(value) < 1000 or value == 0 else f"{value:.2g}"
