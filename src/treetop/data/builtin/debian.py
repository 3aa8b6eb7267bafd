"""Debian package descriptions → debtags, or → the packages they depend on.

Built from the package lists that apt keeps on this machine: the ``Packages`` lists (``apt-cache dumpavail``)
have names, tags, dependencies and one-line summaries, and the ``Translation-en`` lists the long descriptions,
joined by ``Description-md5``. Nothing is fetched here: apt itself does that (``apt-get update``).

The text is the summary and the long description. Binary packages of one source package (``foo``, ``foo-doc``,
``libfoo-dev``) have nearly the same text, and so have versions of a source package kept side by side
(``llvm-toolchain-14``, ``llvm-toolchain-15``): the group is the source package without its numbers. Packages
of different sources with the very same text share the group of the first.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...config import setting
from ...errors import DataError
from ..dataset import Dataset
from .recipe import GroupedTexts

CATALOGUE = ("apt-cache", "dumpavail")
TRANSLATIONS = (
    *("apt-get", "indextargets", "--option", "Acquire::Languages=en", "--format", "$(FILENAME)"),
    *("Created-By: Translations", "Language: en"),
)
UNPACK = ("/usr/lib/apt/apt-helper", "cat-file")  # apt's lists are kept compressed, in a format of its choice
REFRESH = "apt-get -o Acquire::Languages=en update"

_NUMBERS = re.compile(r"[-.]?\d[\d.]*")
_PACKAGE_NAME = re.compile(r"\s*([^\s(:\[|]+)")


@dataclass(frozen=True)
class _Debian(GroupedTexts):
    def collect(self) -> Dataset:
        return dataset_of(_catalogue(), _translations(), self)

    @abstractmethod
    def name(self) -> str:
        """The data set's name."""

    @abstractmethod
    def labels_of(self, package: dict[str, str]) -> set[str]:
        """The labels of one package."""


@dataclass(frozen=True)
class DebianTags(_Debian):
    """Labels are debtags such as ``role::program`` or ``works-with::text``, without the ``…::TODO`` marks."""

    min_examples: int = setting(1, "drop tags with fewer training texts than this", at_least=1)

    def name(self) -> str:
        return "debian-tags"

    def labels_of(self, package: dict[str, str]) -> set[str]:
        tags = {tag.strip() for tag in package.get("Tag", "").split(",")}
        return {tag for tag in tags if tag and not tag.endswith("::TODO")}


@dataclass(frozen=True)
class DebianDeps(_Debian):
    """Labels are the packages it pre-depends on, depends on or recommends; of ``a | b`` the first."""

    def name(self) -> str:
        return "debian-deps"

    def labels_of(self, package: dict[str, str]) -> set[str]:
        relations = ",".join(package.get(field, "") for field in ("Pre-Depends", "Depends", "Recommends"))
        return {match[1] for relation in relations.split(",") if (match := _PACKAGE_NAME.match(relation))}


def dataset_of(catalogue: Iterable[str], translations: Iterable[str], recipe: _Debian) -> Dataset:
    """The labelled packages of the lines of a catalogue and of its English translations."""
    long_texts = {
        record["Description-md5"]: record["Description-en"]
        for record in records(translations)
        if "Description-md5" in record and "Description-en" in record
    }
    if not long_texts:
        raise DataError(f"{recipe.name()}: apt's lists have no English long descriptions; run: {REFRESH}")
    names, texts, labels, groups = [], [], [], []
    seen: set[str] = set()
    group_of_text: dict[str, str] = {}
    for package in records(catalogue):
        name = package.get("Package", "")
        text = plain_text(long_texts.get(package.get("Description-md5", ""), package.get("Description", "")))
        found = recipe.labels_of(package)
        if found and text and name not in seen:
            seen.add(name)
            names.append(name)
            texts.append(text)
            labels.append(found)
            groups.append(group_of_text.setdefault(text, group_of(package)))
    if not names:
        raise DataError(f"{recipe.name()}: apt's lists have no labelled packages; run: {REFRESH}")
    return Dataset.from_texts(texts, labels, ids=names, groups=groups, source=recipe.name())


def records(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Paragraphs of ``Field: value`` lines; a line that begins with a space continues the field before it."""
    record: dict[str, str] = {}
    field = ""
    for line in map(str.rstrip, lines):
        if not line:
            if record:
                yield record
            record = {}
        elif line[0] in " \t":
            record[field] = f"{record.get(field, '')}\n{line}"
        else:
            field, _, value = line.partition(":")
            record[field] = value.strip()
    if record:
        yield record


def plain_text(description: str) -> str:
    """The words on one line; a line with only a full stop is an empty line."""
    return " ".join(word for line in description.split("\n") if line.strip() != "." for word in line.split())


def group_of(package: dict[str, str]) -> str:
    """The source package ("name (version)", or the package itself) without its numbers."""
    source = package.get("Source", package["Package"]).split(" ")[0]
    return _NUMBERS.sub("", source) or source


def _catalogue() -> Iterator[str]:
    if shutil.which(CATALOGUE[0]) is None:
        raise DataError(
            "debian data sets come from apt's package lists, and this machine has no apt-cache;"
            " build another data set"
        )
    return _lines(*CATALOGUE)


def _translations() -> Iterator[str]:
    for path in list(_lines(*TRANSLATIONS)):
        yield from _lines(*UNPACK, path.strip())
        yield ""


def _lines(*command: str) -> Iterator[str]:
    """The output of a command, line by line."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise DataError(f"cannot run {command[0]}: {error.strerror}") from None
    with process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode:
        raise DataError(f"{' '.join(command)} failed with exit code {process.returncode}")
