"""Options that several scripts have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def parser_for(documentation: str | None) -> argparse.ArgumentParser:
    """With the documentation of the script as its help."""
    return argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawTextHelpFormatter)


def add_settings(parser: argparse.ArgumentParser, what: str, default: Iterable[str] = ()) -> None:
    parser.add_argument(
        "--set",
        nargs="*",
        default=list(default),
        metavar="NAME=VALUE",
        dest="settings",
        help=f"settings of {what}",
    )


def named(pairs: Iterable[str]) -> dict[str, str]:
    """``NAME=VALUE`` … as a mapping."""
    return dict(pair.split("=", 1) for pair in pairs)
