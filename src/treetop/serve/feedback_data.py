"""Kept feedback as a data set, ready for `Method.update`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import NamedTuple

from ..data import Dataset
from ..errors import DataError


class Learned(NamedTuple):
    """What feedback says."""

    examples: Dataset
    unlabelled: int
    """Texts all of whose labels were rejected: nothing is known of what would be right."""
    feedbacks: int
    last: int
    """The id of the newest feedback that was read."""


def read_feedback(path: Path, *, model: str | None = None, after: int = 0) -> Learned:
    """Each text once, with the labels that were accepted or added; what was said last counts."""
    right: dict[str, dict[str, None]] = {}
    count, last = 0, after
    for identity, text, accepted, rejected, added in _rows(path, model, after):
        count, last = count + 1, max(last, identity)
        labels = right.setdefault(text, {})
        labels |= dict.fromkeys(accepted + added)
        for label in rejected:
            labels.pop(label, None)
    texts = [text for text, labels in right.items() if labels]
    if not texts:
        where = "" if model is None else f" for the model {model!r}"
        since = "" if after == 0 else f" after number {after:,}"
        raise DataError(f"{path}: no feedback{where}{since} gives a text a label")
    examples = Dataset.from_texts(texts, [list(right[text]) for text in texts], source=str(path))
    return Learned(examples, len(right) - len(texts), count, last)


def _rows(
    path: Path, model: str | None, after: int
) -> list[tuple[int, str, list[str], list[str], list[str]]]:
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
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
        return [(identity, text, *map(json.loads, lists)) for identity, text, *lists in rows]
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise DataError(f"{path}: is not a file of feedback ({error})") from None
