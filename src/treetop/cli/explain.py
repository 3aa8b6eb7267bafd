"""``treetop explain``: why a text has its labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DataError
from ..units import counted
from .options import Json, Model, Reading, Threads, load_model
from .output import heading, show, show_json, show_table

if TYPE_CHECKING:
    from ..data import Dataset
    from ..explanation import Explanation, Vote
    from ..methods import Method


def explain(
    model: Model,
    data: Annotated[
        str, typer.Argument(metavar="TEXT|FILE", help="Text, or file of texts; - for standard input.")
    ],
    *,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="NAME", help="Label to explain; may be repeated."),
    ] = None,
    k: Annotated[
        int, typer.Option("--k", "-k", help="Number of best labels to explain, without --label.")
    ] = 3,
    terms: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of terms and of neighbours to show.")
    ] = 10,
    json: Json = False,
    threads: Threads = None,
    reading: Reading,
) -> None:
    """Explain the score of a label: the path in the label tree and the contributions of words.

    Contributions sum to the raw score of each node; the last line states how the score follows from these.
    """
    classifier = load_model(model, threads)
    examples = _examples(data, reading)
    found = [_explain_row(classifier, examples[[row]], label, k) for row in range(len(examples))]
    if json:
        show_json([_as_json(examples, row, explanations) for row, explanations in enumerate(found)])
        return
    for row, explanations in enumerate(found):
        if len(found) > 1:
            heading(f"{'' if row == 0 else chr(10)}{_title(examples, row)}")
        for number, explanation in enumerate(explanations):
            if number > 0 or len(found) > 1:
                show()
            _show(explanation, terms)


def _examples(text: str, reading: Reading) -> Dataset:
    from ..data import Dataset

    try:
        is_file = text == "-" or (text != "" and Path(text).exists())  # Path("") is this folder
    except OSError:  # longer than a file name can be
        is_file = False
    return reading.read(Path(text)) if is_file else Dataset.from_texts([text], source="the text")


def _explain_row(classifier: Method, example: Dataset, labels: list[str] | None, k: int) -> list[Explanation]:
    if not labels:
        known = classifier.statistics["labels_used"]
        labels = [item.label for item in classifier.predict(example, min(k, known))[0]]
    if not labels:
        raise DataError(f"{example.source}: the model predicts no label to explain; name one with --label")
    return [classifier.explain(example, label) for label in labels]


def _title(examples: Dataset, row: int) -> str:
    text = f"row {row}" if examples.texts is None else " ".join(examples.texts[row].split())
    shown = text if len(text) <= 100 else f"{text[:99]}…"
    return shown if examples.ids is None else f"{examples.ids[row]}: {shown}"


def _as_json(examples: Dataset, row: int, explanations: list[Explanation]) -> dict[str, Any]:
    facts: dict[str, Any] = {} if examples.ids is None else {"id": examples.ids[row]}
    if examples.texts is not None:
        facts["text"] = examples.texts[row]
    return facts | {"explanations": [explanation.to_dict() for explanation in explanations]}


def _show(explanation: Explanation, terms: int, title: str = "") -> None:
    score = f"{title or explanation.label}  {explanation.score:.4g}"
    if explanation.probability is not None:
        score += f", probability {explanation.probability:.3f}"
    heading(score)
    if explanation.why_missed is not None:
        show(explanation.why_missed)
    if explanation.path:
        _show_path(explanation)
        show()
        _show_terms(explanation, terms)
    if explanation.votes:
        _show_votes(explanation.votes, terms)
    if explanation.parts:
        rows = [
            (part.name, f"{part.weight:.3f}", f"{part.value:.4f}", f"{part.weight * part.value:.4f}")
            for part in explanation.parts
        ]
        show_table(rows, ("part", "weight", "value", "weight × value"), right=(1, 2, 3))
    show(f"score: {explanation.rule}")
    for part in explanation.parts:
        if part.explanation is not None:
            show()
            _show(part.explanation, terms, part.name)


def _show_path(explanation: Explanation) -> None:
    rows = [
        (
            str(step.level),
            step.name,
            "" if step.raw is None else f"{step.raw:+.3f}",
            "" if step.transformed is None else f"{step.transformed:.3f}",
            f"{step.score:.4g}",
            "not in beam" if step.place is None else f"{step.place:,} of {step.beam:,}",
        )
        for step in explanation.path
    ]
    show_table(rows, ("level", "node", "u", "T(u)", "score", "place"), right=(0, 2, 3, 4, 5))


def _show_terms(explanation: Explanation, count: int) -> None:
    """A row per term and a column per level; each column sums to the raw score of its node."""
    steps = [step for step in explanation.path if step.raw is not None]
    added = [{term.name: term.contribution for term in step.terms} for step in steps]
    totals: dict[str, float] = {}
    for column in added:
        for name, contribution in column.items():
            totals[name] = totals.get(name, 0.0) + abs(contribution)
    names = sorted(totals, key=lambda name: (-totals[name], name))
    shown, others = names[:count], names[count:]
    rows = [(name, *(_signed(column.get(name)) for column in added)) for name in shown]
    if others:
        sums = (sum(column.get(name, 0.0) for name in others) for column in added)
        rows.append((f"({counted(len(others), 'other term')})", *map(_signed, sums)))
    rows.append(("(bias)", *(_signed(step.bias) for step in steps)))
    rows.append(("u", *(_signed(step.raw) for step in steps)))
    header = ("term", *(f"level {step.level}" for step in steps))
    show_table(rows, header, right=range(1, len(header)))


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _show_votes(votes: tuple[Vote, ...], count: int) -> None:
    agreeing = [vote for vote in votes if vote.agrees]
    rows = [_vote_row(vote) for vote in agreeing[:count]]
    for title, rest in (
        ("more with the label", agreeing[count:]),
        ("without the label", [vote for vote in votes if not vote.agrees]),
    ):
        if rest:
            rows.append((f"({len(rest)} {title})", "", f"{sum(vote.share for vote in rest):.4f}", ""))
    show_table(rows, ("training text", "similarity", "share", "its labels"), right=(1, 2))


def _vote_row(vote: Vote) -> tuple[str, str, str, str]:
    labels = ", ".join(vote.labels[:8]) + (", …" if len(vote.labels) > 8 else "")
    return f"row {vote.example}", f"{vote.similarity:.3f}", f"{vote.share:.4f}", labels
