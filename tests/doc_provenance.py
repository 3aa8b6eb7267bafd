"""Where the numbers of the documentation come from: commands, and the commits that a page names after them.

    Measured with `make bench`, recorded in 1a2b3c4 (2026-11-15).

The command is one of that commit: its script, target or subcommand may be called something else today.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from doc_blocks import ROOT

_COMMIT = r"[0-9a-f]{7}(?:\+changes)?(?:\s+\([\d-]+\))?"
_NAMED = re.compile(rf"\b(?:at|recorded\s+in)\s+({_COMMIT}(?:,\s+{_COMMIT})*)")
_BEGIN = re.compile(r"Measured\s+with|From\s+(?:the\s+)?\[|\((?=`|with\s)")
_SPAN = re.compile(r"`([^`]+)`")
_COMMAND = re.compile(r"(?:python )?bench/|make [a-z]|treetop [a-z]")
NOT_KEPT = "not kept"


@dataclass(frozen=True)
class Claim:
    """Commits, and the commands whose output they recorded."""

    begin: int
    end: int
    text: str
    commits: list[str]
    commands: list[str]

    @property
    def refers(self) -> bool:
        """To a page that has the commands."""
        return self.text.startswith("From")


def claims(text: str) -> Iterator[Claim]:
    """A commit without a command of its own belongs to the commands of the one before it."""
    begin = end = 0
    commands: list[str] = []
    for named in _NAMED.finditer(text):
        start = max((found.start() for found in _BEGIN.finditer(text, end, named.start())), default=None)
        if start is not None:
            begin, commands = start, []
        found = [" ".join(span.split()) for span in _SPAN.findall(text, max(begin, end), named.start())]
        commands = [span for span in found if _COMMAND.match(span)] or commands
        end = named.end()
        commits = re.findall(r"\b[0-9a-f]{7}\b", named[1])
        yield Claim(begin, end, text[begin:end], commits, commands)


def spans_of_today(text: str) -> list[str]:
    """The code spans of a page without those of its claims."""
    covered = [range(claim.begin, claim.end) for claim in claims(text)]
    return [found[1] for found in _SPAN.finditer(text) if not any(found.start() in part for part in covered)]


def has_history() -> bool:
    """Of this repository, and all of it."""
    return git("rev-parse", "--show-toplevel") == str(ROOT) and (
        git("rev-parse", "--is-shallow-repository") == "false"
    )


def git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def is_known(commit: str) -> bool:
    return git("cat-file", "-e", f"{commit}^{{commit}}") is not None


@cache
def missing(command: str, commit: str) -> str | None:
    """What of a command that commit does not have."""
    program, *words = command.removeprefix("python ").split()
    if program == "make":
        targets = git("show", f"{commit}:Makefile") or ""
        return None if re.search(rf"(?m)^{words[0]}:", targets) else f"target {words[0]}"
    if program == "treetop":
        source, places = f"src/treetop/cli/{_module(words)}.py", ("src/treetop/cli",)
    else:
        source, places = program, ("bench",)
    if git("cat-file", "-e", f"{commit}:{source}") is None:
        return source
    for option in re.findall(r"--([a-z-]+)", " ".join(words)):
        name = f"--{option}\\b|\\b{option.replace('-', '_')}:"
        if git("grep", "-qE", "-e", name, commit, "--", *places) is None:
            return f"--{option}"
    return None


def _module(words: list[str]) -> str:
    return f"data_{words[1]}" if words[0] == "data" else words[0]
