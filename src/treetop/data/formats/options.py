"""The options of readers and writers."""

from __future__ import annotations

from dataclasses import dataclass

Column = str | int
"""A field by name, or a column of a table by its number from 0."""


@dataclass(frozen=True)
class ReadOptions:
    text: Column = "text"
    labels: Column = "labels"
    id: Column | None = "id"
    group: Column | None = None
    weight: Column | None = None
    label_separator: str | None = None
    need_labels: bool = True
    split: str | None = None
    features: str | None = None
    """The sub-folder of features in a folder that has several, or "none"."""


@dataclass(frozen=True)
class WriteOptions:
    text: str = "text"
    labels: str = "labels"
    id: str = "id"
    group: str = "group"
    weight: str = "weight"
    label_separator: str | None = None
    split: str | None = None
