"""The pages of the documentation, cut into fenced blocks.

A comment on the line above a block says what a test cannot know:

    <!-- not run: why -->          only checked: commands must parse, Python must compile
    <!-- output differs: why -->   run, but what it prints is not compared
    <!-- file: NAME -->            no command at all: a file that the blocks below it need
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = ("python", "sh", "console")
PLAIN = ("text", "csv", "json", "yaml", "toml", "ini", "dockerfile", "html", "javascript", "http")
_FENCE = re.compile(r"^( *)```(.*)$")
_COMMENT = re.compile(r"^ *<!-- (not run|output differs|file)(?:: (.*?))? ?-->$")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    marker: str | None
    """What the comment above it says: ``not run``, ``output differs``, ``file``."""
    reason: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    lines = page.read_text("utf-8").splitlines()
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        comment = _COMMENT.match(lines[number - 1]) if number else None
        first = number + 1
        last = next(n for n in range(first, len(lines)) if lines[n].strip() == "```")
        found.append(
            Block(
                page,
                first,
                opening[2].strip(),
                "\n".join(line.removeprefix(opening[1]) for line in lines[first:last]) + "\n",
                None if comment is None else comment[1],
                "" if comment is None else (comment[2] or "").strip(),
            )
        )
        number = last + 1
    return found


def prose(page: Path) -> str:
    """The page without its blocks."""
    kept, inside = [], False
    for line in page.read_text("utf-8").splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)
