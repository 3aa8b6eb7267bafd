"""Stored feedback as a data set, ready for `Method.update`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import NamedTuple

from ..data import Dataset
from ..errors import DataError


class FeedbackData(NamedTuple):
    """Training examples from feedback."""

    examples: Dataset
    unlabelled: int
    """Texts left out because all their labels were rejected: the correct ones are unknown."""
    entries: int
    """Feedback entries read."""
    last_id: int
    """The id of the newest entry read."""


def read_feedback(path: Path, *, model: str | None = None, after: int = 0) -> FeedbackData:
    """Each text once, with its accepted and added labels; later decisions replace earlier ones."""
    correct: dict[str, dict[str, None]] = {}
    entries, last_id = 0, after
    for identity, text, accepted, rejected, added in _rows(path, model, after):
        entries, last_id = entries + 1, max(last_id, identity)
        labels = correct.setdefault(text, {})
        labels |= dict.fromkeys(accepted + added)
        for label in rejected:
            labels.pop(label, None)
    texts = [text for text, labels in correct.items() if labels]
    if not texts:
        which = "" if model is None else f" on the model {model!r}"
        since = "" if after == 0 else f" after id {after:,}"
        raise DataError(
            f"{path}: no text has a correct label in the feedback{which}{since}; collect more feedback,"
            " or check --model and --after"
        )
    examples = Dataset.from_texts(texts, [list(correct[text]) for text in texts], source=str(path))
    return FeedbackData(examples, len(correct) - len(texts), entries, last_id)


def _rows(
    path: Path, model: str | None, after: int
) -> list[tuple[int, str, list[str], list[str], list[str]]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file; give the file that treetop serve writes (--feedback)")
    query = "SELECT id, text, accepted, rejected, added FROM feedback WHERE id > ?"
    parameters: list[object] = [after]
    if model is not None:
        query += " AND model = ?"
        parameters.append(model)
    try:
        connection = sqlite3.connect(path, timeout=20)
        try:
            rows = connection.execute(f"{query} ORDER BY id", parameters).fetchall()
        finally:
            connection.close()
        found = [(identity, text, *map(json.loads, lists)) for identity, text, *lists in rows]
        for _, text, *lists in found:
            if not isinstance(text, str) or not all(map(_are_names, lists)):
                raise ValueError("an entry is not a text with lists of labels")
        return found
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path}: not a feedback file ({error}); give the file that treetop serve writes (--feedback)"
        ) from None


def _are_names(labels: object) -> bool:
    return isinstance(labels, list) and all(isinstance(label, str) for label in labels)
