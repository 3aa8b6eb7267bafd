"""The types of the names in `treetop`, for editors and type checkers: src/treetop/__init__.pyi.

    python tools/write_stub.py [--check]

``treetop`` loads its names on first use, which no type checker sees. The stub lists them, from the table in
``treetop/__init__.py`` and the registry of methods. ``--check`` fails where the file is not up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import treetop


def stub() -> str:
    homes = sorted((home, name) for name, home in vars(treetop)["_HOMES"].items())
    lines = [f"from {home} import {name} as {name}" for home, name in homes]
    return "\n".join(["# Made by tools/write_stub.py (make stub).", *lines, "", "__version__: str", ""])


def main() -> None:
    file = Path(treetop.__file__).with_name("__init__.pyi")
    if sys.argv[1:] == ["--check"]:
        if not file.exists() or file.read_text("utf-8") != stub():
            sys.exit(f"{file.name} is not up to date: run make stub")
    else:
        file.write_text(stub(), "utf-8")


if __name__ == "__main__":
    main()
