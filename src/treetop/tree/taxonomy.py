"""Taxonomies from files: one parent for each node."""

from __future__ import annotations

import os

from ..data.files import Input
from ..errors import DataError


def read_taxonomy(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Reads a taxonomy file: ``node<TAB>parent`` on each line; an empty parent is the top."""
    parents: dict[str, str | None] = {}
    with Input(path) as source:
        for number, line in source.lines():
            if not line.strip():
                continue
            node, tab, parent = line.partition("\t")
            node, above = node.strip(), parent.strip() or None
            if not tab or not node:
                raise DataError(f"{path} line {number}: expected node<TAB>parent")
            if parents.setdefault(node, above) != above:
                raise DataError(
                    f"{path} line {number}: {node!r} already has another parent, {parents[node]!r}: keep one"
                )
    return parents
