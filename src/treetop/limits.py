"""Limits of what a file may declare or unpack to, so that a few bytes cannot take all memory.

A declared size (labels, features, rows) may always be as large as the limit; a larger one needs one entry in
the file for every `PER_ENTRY` declared. So memory grows with what is there. Real data sets are far below.
``TREETOP_LIMITS=labels=200000000,line=4000000000`` raises some limits, ``TREETOP_LIMITS=none`` turns all off.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from .errors import ConfigError, DataError, UserError

VARIABLE = "TREETOP_LIMITS"
"""The environment variable that changes limits."""
PER_ENTRY = 100
"""Labels, features or rows that may be declared for each entry of the file."""
RATIO = 200
"""Decompressed bytes for each compressed one, beyond the limit of decompressed bytes."""


@dataclass(frozen=True)
class Limit:
    """``name`` in `VARIABLE`, and the default."""

    name: str
    default: int

    @property
    def most(self) -> int:
        """The limit in force."""
        return _chosen().get(self.name, self.default)

    def exceeded(self, fault: str, needed: int, remedy: str, error: type[UserError] = DataError) -> UserError:
        """The error for something that needs ``needed``."""
        return error(f"{fault}: {remedy}, or set {VARIABLE}={self.name}={needed} to allow it")


LABELS = Limit("labels", 10_000_000)
FEATURES = Limit("features", 100_000_000)
ROWS = Limit("rows", 10_000_000)
"""Of matrices whose files do not have something for every row."""
LINE = Limit("line", 1 << 28)
"""Bytes of a line."""
DECOMPRESSED = Limit("decompressed", 1 << 28)
"""Decompressed bytes of a file that is compressed more than `RATIO` to 1."""
LAYERS = Limit("layers", 1000)
"""Layers of a stored encoder."""
LEVELS = Limit("levels", 100)
"""Levels of a taxonomy."""
ALL = LABELS, FEATURES, ROWS, LINE, DECOMPRESSED, LAYERS, LEVELS


def check_declared(
    limit: Limit,
    declared: int,
    entries: int,
    where: str,
    unit: str = "entries",
    error: type[UserError] = DataError,
) -> None:
    """Checks a size that nothing but a header or shape declares, in a file with so many entries."""
    most = max(limit.most, PER_ENTRY * entries)
    if declared > most:
        raise limit.exceeded(
            f"{where}: declares {declared:,} {limit.name} but has {entries:,} {unit}, and the limit is"
            f" {most:,}",
            declared,
            "fix the declared size",
            error,
        )


def check_count(limit: Limit, count: int, what: str, error: type[UserError] = DataError) -> None:
    """Checks a number that takes memory by itself."""
    if count > limit.most:
        raise limit.exceeded(f"{what} is {count:,}, and the limit is {limit.most:,}", count, "fix it", error)


def check_decompressed(size: int, compressed: int, where: str) -> None:
    """Checks the decompressed size, as far as it is known, of so many compressed bytes."""
    if size > RATIO * compressed and size > DECOMPRESSED.most:
        raise DECOMPRESSED.exceeded(
            f"{where}: decompresses to more than {DECOMPRESSED.most:,} bytes, over {RATIO} times its"
            " compressed size",
            10 * size,
            "decompress it yourself",
        )


def check_lines(lines: int, where: str) -> None:
    """Checks the number of lines in what has decompressed to over `RATIO` times its size."""
    if lines > ROWS.most:
        raise ROWS.exceeded(
            f"{where}: decompresses to more than {ROWS.most:,} lines, over {RATIO} times its compressed size",
            10 * lines,
            "decompress it yourself",
        )


def _chosen() -> dict[str, int]:
    text = os.environ.get(VARIABLE, "").strip()
    if text == "none":
        return {limit.name: sys.maxsize for limit in ALL}
    chosen = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if name.strip() not in {limit.name for limit in ALL} or not number.strip().isdecimal():
            known = ", ".join(limit.name for limit in ALL)
            raise ConfigError(f"{VARIABLE}: {part!r} is not NAME=NUMBER with a name of {known}")
        chosen[name.strip()] = int(number)
    return chosen
