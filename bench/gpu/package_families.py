"""Families of Debian packages, by their names: a split of such data keeps a family on one side."""

from __future__ import annotations

import dataclasses
import re

from treetop import Dataset, Strings

PREFIXES = re.compile(
    r"^(librust-|lib|python3?-|node-|ruby-|golang-|r-cran-|r-bioc-|gir1\.2-|fonts-|elpa-|php-)+"
)
COMMON = {"doc", "dev", "dbg", "common", "data", "utils", "tools", "bin", "perl", "java"}


def family(package: str) -> str:
    """The first two distinctive words of a name: ``libinfinity-0.7-doc`` is in the family ``infinity``."""
    words = re.split(r"[-0-9.+]+", PREFIXES.sub("", package))
    return "-".join([word for word in words if word and word not in COMMON][:2]) or package


def with_families(data: Dataset) -> Dataset:
    """Data whose ids are names of packages, with their families as groups."""
    assert data.ids is not None
    return dataclasses.replace(data, groups=Strings.of(map(family, data.ids)))
