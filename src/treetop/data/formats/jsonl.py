"""JSON Lines: ``{"id": "7", "text": "…", "labels": ["a", "b"]}`` on every line.

Labels are a list of strings or numbers, or one string (one label; several where a separator is given). Other
fields are ignored, blank lines are skipped.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ...errors import DataError
from ..dataset import Dataset
from ..files import Input, Output
from .examples import Examples, label_sets
from .fields import is_name, join_texts, missing_field, text_fields, weight_of
from .options import Column, ReadOptions, WriteOptions


def read(source: Input, options: ReadOptions) -> Dataset:
    examples = Examples(source.name, options.need_labels)
    names: list[str] = []
    never_seen: set[str] = set()
    for line, content in source.lines():
        if not content.strip():
            continue
        place = f"{source.name} line {line}"
        record = parse_record(content, place)
        if not names:
            names = text_fields(options.text, record)
            never_seen = set(names)
        if never_seen:
            never_seen -= record.keys()
        examples.append(
            line,
            record_text(record, names, place),
            _scalar(record, options.id, place, "--id", needed=options.id != "id"),
            _scalar(record, options.group, place, "--group", needed=True),
            _weight(record, options.weight, place),
        )
        examples.labels.append(_labels(record, options, place))
    dataset = examples.build()
    if never_seen:
        raise DataError(f"{source.name}: no line has the text field {min(never_seen)!r}; name it with --text")
    return dataset


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    assert dataset.texts is not None
    file = output.text(path)
    ids = iter(dataset.ids or ())
    groups = iter(dataset.groups or ())
    weights = iter(() if dataset.weights is None else dataset.weights)
    for text, labels in zip(dataset.texts, label_sets(dataset), strict=True):
        record: dict[str, Any] = {}
        if dataset.ids is not None:
            record[options.id] = next(ids)
        record[options.text] = text
        if dataset.Y is not None:
            record[options.labels] = labels
        if dataset.groups is not None:
            record[options.group] = next(groups)
        if dataset.weights is not None:
            record[options.weight] = float(str(next(weights)))  # 0.1, not 0.10000000149
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def parse_record(content: str, place: str) -> dict[str, Any]:
    """A line that must be an object."""
    try:
        record = json.loads(content)
    except json.JSONDecodeError as error:
        if content.strip() == "[":
            raise DataError(f"{place}: a JSON array; write one object on each line instead") from None
        what = error.msg.removesuffix(" at")
        raise DataError(f"{place}: not valid JSON ({what} at column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not readable JSON ({error})") from None
    if not isinstance(record, dict):
        raise DataError(f'{place}: {_kind(record)}, not a JSON object such as {{"text": …}}')
    return record


def record_text(record: dict[str, Any], names: list[str], place: str) -> str:
    """The text in some fields, each on its own line."""
    parts = []
    for name in names:
        value = record.get(name)
        if isinstance(value, str):
            parts.append(value)
        elif value is not None or (len(names) == 1 and name in record):
            raise _wrong_type(place, name, "a string", value)
    if not parts:
        raise missing_field(place, ",".join(names), record, "--text")
    return join_texts(parts) if len(names) > 1 else parts[0]


def _labels(record: dict[str, Any], options: ReadOptions, place: str) -> list[str]:
    name = str(options.labels)
    if name not in record:
        if options.need_labels:
            raise missing_field(place, name, record, "--labels")
        return []
    value = record[name]
    if value is None:
        return []
    if isinstance(value, str):
        parts = [value] if options.label_separator is None else value.split(options.label_separator)
        return [label for part in parts if (label := part.strip())]
    labels = []
    for item in value if isinstance(value, list) else [value]:
        if not is_name(item):
            raise _wrong_type(place, name, "a list of strings", value, item)
        if item != "":
            labels.append(str(item))
    return labels


def _scalar(record: dict[str, Any], name: Column | None, place: str, option: str, needed: bool) -> str | None:
    if name is None:
        return None
    value = record.get(str(name))
    if value is None:
        if needed:
            raise missing_field(place, str(name), record, option)
        return None
    if is_name(value):
        return str(value)
    raise _wrong_type(place, str(name), "a string", value)


def _weight(record: dict[str, Any], name: Column | None, place: str) -> float | None:
    if name is None:
        return None
    value = record.get(str(name))
    if value is None:
        raise missing_field(place, str(name), record, "--weight")
    return weight_of(value, place, name)


def _wrong_type(place: str, field: str, wanted: str, value: Any, item: Any = None) -> DataError:
    found = f"a list with {_kind(item)} in it" if isinstance(value, list) and value else _kind(value)
    return DataError(f"{place}: field {field!r} must be {wanted}, not {found}")


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}
    return kinds.get(type(value), "a number")
