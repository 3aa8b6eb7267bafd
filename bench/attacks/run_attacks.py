"""Runs every attack for a bounded time, and prints how often each was tried and how often it failed.

    make attack [ATTACK_SECONDS=60]
    python bench/attacks/run_attacks.py [--seconds 60] [--fuzzers build/attack] [--only NAME …] [--record]

An attack is

- a fuzzer of the core: a program named ``fuzz_…`` in the folder ``--fuzzers``, for libFuzzer (cpp/fuzz); or
- a script in this folder. It takes ``--seconds N``, tries its attacks for about that long, prints as its last
  lines a JSON object for each, ``{"attack": "FAMILY/NAME", "tried": 1234, "failed": 0}``, perhaps with
  ``fails_if``: what a trial must not lead to; and exits with code 0 if nothing failed (see trials.py).

``--record`` keeps the results for docs/attacks.md (see bench/league/recorded_attacks.py).

What a fuzzer found stays in ``build/attack/found``; the fuzzer repeats it if it is given such a file. Once
that is fixed, the file becomes a seed in ``cpp/fuzz/seeds``. Exits with code 1 if an attack failed or could
not run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import machine, provenance, record_files
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
    fails_if: str = ""

    def record(self) -> record_files.Record:
        found = {"attack": self.attack, "tried": self.tried, "failed": self.failed}
        return found | ({"fails_if": self.fails_if} if self.fails_if else {})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each attack")
    parser.add_argument("--fuzzers", type=Path, default=FUZZERS, help="folder of the fuzzers of the core")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="attacks with this in their name"
    )
    parser.add_argument("--record", action="store_true", help="keep the results for docs/attacks.md")
    chosen = parser.parse_args(arguments)
    fuzzers = sorted(path for path in chosen.fuzzers.glob("fuzz_*") if path.is_file() and not path.suffix)
    scripts = sorted(path for path in HERE.glob("*.py") if is_attack(path))
    attacks = [
        path
        for path in [*fuzzers, *scripts]
        if not chosen.only or any(name in path.stem for name in chosen.only)
    ]
    if not attacks:
        print("no attacks found: build the fuzzers with make attack, or check --only", file=sys.stderr)
        return 1
    outcomes = []
    stamp = {"machine": machine.describe_hardware()} | provenance.this_run()
    print(f"{'attack':<48} {'tried':>12} {'failed':>7} {'seconds':>8}")
    for path in attacks:
        is_script = path.suffix == ".py"
        for outcome in run_script(path, chosen.seconds) if is_script else [run_fuzzer(path, chosen.seconds)]:
            print(
                f"{outcome.attack:<48} {outcome.tried:>12,} {outcome.failed:>7,} {outcome.seconds:>8.0f}",
                flush=True,
            )
            outcomes.append(outcome)
    if chosen.record:
        file = record_files.file_of("attacks", "results")
        record_files.put(file, (outcome.record() | stamp for outcome in outcomes), "attack")
    for outcome in outcomes:
        if outcome.failed:
            print(f"\n{outcome.attack} failed:\n{outcome.words}", file=sys.stderr)
    return int(any(outcome.failed for outcome in outcomes))


def run_fuzzer(program: Path, seconds: float) -> Outcome:
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
    return Outcome(f"core/{program.name.removeprefix('fuzz_')}", tried, failed, took, _end_of(text))


def is_attack(path: Path) -> bool:
    """Whether it is a script of its own, rather than this one or a module that several share."""
    return path.name != Path(__file__).name and 'if __name__ == "__main__":' in path.read_text("utf-8")


def run_script(script: Path, seconds: float) -> list[Outcome]:
    """The outcome of each of its attacks."""
    code, text, took = _run([sys.executable, str(script), "--seconds", f"{seconds:g}"], seconds)
    found = [
        Outcome(
            str(result["attack"]),
            int(result["tried"]),
            int(result["failed"]) or int(not result["tried"]),
            took,
            _end_of(text),
            str(result.get("fails_if", "")),
        )
        for result in _results(text)
    ]
    if not found or (code != 0 and not any(outcome.failed for outcome in found)):
        found.append(Outcome(script.stem, 0, 1, took, _end_of(text)))
    return found


def _results(text: str) -> Iterator[dict[str, object]]:
    for line in text.splitlines():
        try:
            result = json.loads(line)
        except ValueError:
            continue
        if isinstance(result, dict) and {"attack", "tried", "failed"} <= result.keys():
            yield result


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
