"""Docstrings of this Python installation → the modules, names and exceptions they belong to.

The text is the object's name in plain words and the prose of its docstring: "remove dirs. Remove …".
The labels are what a reader may be looking for:

- the module and the packages above it: ``email``, ``email.utils``;
- the documented objects it refers to (roles, names in backquotes, dotted names, "See Also"):
  ``os.path.join``, ``numpy.mean``;
- the exceptions it names in the docstring or raises in the code: ``ValueError``.

A label needs two training texts (``min_examples``): nearly half of all names occur only once, too rarely to
be learned. Docstrings of fewer than five words ("See base class.") say too little. Objects of the same name
(``posixpath.join`` and ``ntpath.join``, ``numpy.mean`` and ``numpy.ma.mean``) are often documented in nearly
the same words: the group of an example is the name of its outermost class or function.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...config import setting
from ...errors import DataError
from ..dataset import Dataset
from .docstring_text import exceptions, plain_text, references
from .docstrings import Documented, installed
from .recipe import GroupedTexts

_WORD_BREAK = re.compile(r"[._]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHORT_FORMS = {"np": "numpy", "sp": "scipy"}


@dataclass(frozen=True)
class PythonDocs(GroupedTexts):
    """Docstrings of the standard library and of installed packages."""

    packages: tuple[str, ...] = setting(
        ("numpy", "scipy"), "installed packages to read, next to the standard library"
    )
    min_words: int = setting(5, "leave out docstrings with fewer words than this", at_least=1)

    def collect(self) -> Dataset:
        return dataset_of(installed(self.packages), self.min_words)


def dataset_of(found: Iterable[Documented], min_words: int) -> Dataset:
    """Texts, labels and groups; a docstring used several times is one example with all of their labels."""
    objects: dict[str, Documented] = {}
    for item in found:
        objects.setdefault(item.full_name, item)
    names = NameIndex(objects.values())
    first: dict[str, Documented] = {}
    labels: dict[str, set[str]] = {}
    for item in objects.values():
        prose = plain_text(item.doc)
        if len(prose.split()) >= min_words:
            first.setdefault(prose, item)
            labels.setdefault(prose, set()).update(labels_of(item, names))
    if not first:
        raise DataError("python-docs: this Python has no docstrings; use an installation that keeps them")
    return Dataset.from_texts(
        (f"{title(item.name)}. {prose}" if item.name else prose for prose, item in first.items()),
        labels.values(),
        ids=(item.full_name for item in first.values()),
        groups=(item.name.partition(".")[0] or item.module for item in first.values()),
        source="python-docs",
    )


def title(name: str) -> str:
    """``HTTPServer.handle_error`` → "HTTP Server handle error"."""
    return " ".join(_WORD_BREAK.sub(" ", name).split())


def labels_of(item: Documented, names: NameIndex) -> set[str]:
    """Modules, cross-references and exceptions of one object; never the object itself."""
    parts = item.module.split(".")
    labels = {".".join(parts[: depth + 1]) for depth in range(len(parts))}
    mentioned = {name for name in references(item.doc) if name not in item.parameters}
    for name in mentioned | item.raises | exceptions(item.doc):
        resolved = names.resolve(name, item)
        if resolved and resolved != item.full_name:
            labels.add(resolved)
    return labels


class NameIndex:
    """Finds the documented object that a name refers to where it is written."""

    def __init__(self, objects: Iterable[Documented]) -> None:
        self._full: set[str] = set()
        self._by_ending: dict[tuple[str, str], set[str]] = {}
        for item in objects:
            self._full.update((item.full_name, item.module))
            if item.name:
                package = item.module.partition(".")[0]
                self._by_ending.setdefault((package, item.name), set()).add(item.full_name)

    def resolve(self, name: str, place: Documented) -> str | None:
        """The full name: in the same class, module or package, as written, or unique in the top package."""
        head, dot, rest = name.partition(".")
        name = _SHORT_FORMS.get(head, head) + dot + rest
        scopes = place.full_name.split(".")
        for depth in range(len(scopes), 0, -1):
            inner = ".".join((*scopes[:depth], name))
            if inner in self._full:
                return inner
        if name in self._full or isinstance(getattr(builtins, name, None), type):
            return name
        same_ending = self._by_ending.get((scopes[0], name), ())
        return next(iter(same_ending)) if len(same_ending) == 1 else None
