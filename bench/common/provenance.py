"""Which command and which commit a number comes from.

A stamp is what a record keeps: `commit`, the code that was measured ("+changes" where it was not committed),
or `recorded_in`, the first commit that has the number, where the code is not known; a `date`; and the
`command`. Pages name them in one line below each table:

    Measured with `COMMAND`, at 1a2b3c4 (2026-11-18).
    Measured with `COMMAND`, recorded in 1a2b3c4 (2026-11-18).
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("src", "cpp", "bench", ":!bench/records", "CMakeLists.txt", "pyproject.toml")
"""Changes of these count, those of the pages that benchmarks write do not."""
UNKNOWN = "unknown"
HASH_DIGITS = 7

Stamp = Mapping[str, str]


def now() -> dict[str, str]:
    """The stamp of something that is measured now, with the code of this checkout."""
    commit = _git("rev-parse", "HEAD") or UNKNOWN
    changed = "+changes" if _git("status", "--porcelain", "--", *CODE) else ""
    return {"commit": commit + changed, "date": date.today().isoformat()}


def command() -> str:
    """The command line of this script; of files elsewhere only the names."""
    script, *arguments = sys.argv
    named = [Path(word).name if Path(word).is_absolute() else word for word in arguments]
    return shlex.join(["python", str(Path(script).resolve().relative_to(ROOT)), *named])


def this_run() -> dict[str, str]:
    """The stamp of what this script measures; made before it does, as the code may change meanwhile."""
    return {"command": command()} | now()


def _git(*arguments: str) -> str:
    """Its output; empty where there is no git, or no repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def measured(stamps: Iterable[Stamp]) -> str:
    """The line below a table: each command, and the commits it was run at."""
    commands: dict[str, list[Stamp]] = {}
    for stamp in stamps:
        commands.setdefault(stamp["command"], []).append(stamp)
    return " ".join(f"Measured with `{command}`, {origin(found)}." for command, found in commands.items())


def origin(stamps: Iterable[Stamp]) -> str:
    """``at 1a2b3c4 (2026-11-18)``, with all commits."""
    commits: dict[str, dict[str, None]] = {}
    for stamp in stamps:
        kind, commit = kind_and_commit(stamp)
        commits.setdefault(kind, {})[commit] = None
    return ", ".join(f"{kind} {', '.join(found)}" for kind, found in commits.items())


def kind_and_commit(stamp: Stamp) -> tuple[str, str]:
    """``at`` or ``recorded in``, and ``1a2b3c4 (2026-11-18)``."""
    kind, commit = ("at", stamp["commit"]) if "commit" in stamp else ("recorded in", stamp["recorded_in"])
    digits, plus, changes = commit.partition("+")
    return kind, f"{digits[:HASH_DIGITS]}{plus}{changes} ({stamp['date']})"
