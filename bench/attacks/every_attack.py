"""Runs every attack for a bounded time, and prints how often each was tried and how often it failed.

    make attack [ATTACK_SECONDS=60]
    python bench/attacks/every_attack.py [--seconds 60] [--fuzzers build/attack] [--only NAME …]

An attack is

- a fuzzer of the core: a program named ``fuzz_…`` in the folder ``--fuzzers``, for libFuzzer (cpp/fuzz); or
- a script in this folder. It takes ``--seconds N`` and tries its attack for about that long. Its last line is
  a JSON object ``{"attack": "what it attacks, in a few words", "tried": 1234, "failed": 0}``, with further
  fields as it likes; a script with several attacks prints such a line for each. Its exit code is 0 if nothing
  failed.

What a fuzzer found stays in ``build/attack/found``; the fuzzer repeats it if it is given such a file. Once
that is fixed, the file becomes a seed in ``cpp/fuzz/seeds``. The exit code is 1 if an attack failed or could
not run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import provenance
from common.options import parser_for

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FUZZERS = ROOT / "build" / "attack"
PATIENCE_S = 600.0
"""A script may prepare models and servers: so long beyond its time, and it counts as stuck."""


@dataclass(frozen=True)
class Outcome:
    attack: str
    tried: int
    failed: int
    seconds: float
    words: str = ""
    """The end of what it printed, where it failed."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each attack")
    parser.add_argument("--fuzzers", type=Path, default=FUZZERS, help="folder of the fuzzers of the core")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="attacks with this in their name"
    )
    chosen = parser.parse_args(arguments)
    fuzzers = sorted(path for path in chosen.fuzzers.glob("fuzz_*") if path.is_file() and not path.suffix)
    scripts = sorted(path for path in HERE.glob("*.py") if _is_attack(path))
    attacks = [
        path
        for path in [*fuzzers, *scripts]
        if not chosen.only or any(name in path.stem for name in chosen.only)
    ]
    if not attacks:
        print("no attacks found: build the fuzzers with make attack, or check --only", file=sys.stderr)
        return 1
    outcomes = []
    print(f"{'attack':<48} {'tried':>12} {'failed':>7} {'seconds':>8}")
    for path in attacks:
        for outcome in (run_script if path.suffix == ".py" else run_fuzzer)(path, chosen.seconds):
            counts = f"{outcome.tried:>12,} {outcome.failed:>7,} {outcome.seconds:>8.0f}"
            print(f"{outcome.attack:<48} {counts}", flush=True)
            outcomes.append(outcome)
    print(f"\n{provenance.measured([provenance.this_run()])}")
    for outcome in outcomes:
        if outcome.failed:
            print(f"\n{outcome.attack} failed:\n{outcome.words}", file=sys.stderr)
    return int(any(outcome.failed for outcome in outcomes))


def _is_attack(script: Path) -> bool:
    return script.name != Path(__file__).name and "__main__" in script.read_text("utf-8")


def run_fuzzer(program: Path, seconds: float) -> list[Outcome]:
    """libFuzzer on ``program``, with its seeds and what earlier runs have collected next to it."""
    corpus, found = program.parent / "corpus" / program.name, program.parent / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    seeds = ROOT / "cpp" / "fuzz" / "seeds" / program.name.removeprefix("fuzz_")
    command = [
        str(program.resolve()),
        f"-max_total_time={max(round(seconds), 1)}",
        "-max_len=4096",
        "-len_control=20",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={found.resolve()}/{program.name}-",
        str(corpus.resolve()),
        *([str(seeds)] if seeds.is_dir() else []),
    ]
    code, text, took = _run(command, seconds)
    executions = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    tried = int(executions[-1]) if executions else 0
    failed = int(code != 0 or tried == 0)
    return [Outcome(f"core: {program.name.removeprefix('fuzz_')}", tried, failed, took, _end_of(text))]


def run_script(script: Path, seconds: float) -> list[Outcome]:
    code, text, took = _run([sys.executable, str(script), "--seconds", f"{seconds:g}"], seconds)
    outcomes = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)
            outcome = Outcome(found["attack"], int(found["tried"]), int(found["failed"]), took, _end_of(text))
            outcomes.append(outcome if outcome.tried else replace(outcome, failed=1))
    if not outcomes or (code != 0 and not any(outcome.failed for outcome in outcomes)):
        outcomes.append(Outcome(script.stem, 0, 1, took, _end_of(text)))
    return outcomes


def _run(command: list[str], seconds: float) -> tuple[int, str, float]:
    """Exit code, errors and then output, and how long it took."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + PATIENCE_S,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, f"it did not end within {seconds + PATIENCE_S:g} s", time.monotonic() - began
    return done.returncode, f"{done.stderr}\n{done.stdout}", time.monotonic() - began


def _end_of(text: str, lines: int = 40) -> str:
    return "\n".join(text.rstrip().splitlines()[-lines:])


if __name__ == "__main__":
    sys.exit(main())
