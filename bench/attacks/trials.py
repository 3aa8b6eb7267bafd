"""What the attacks share: their options, seed and time, and the lines that they print.

A script marks its attacks with `attack` and ends with ``sys.exit(run(__doc__))``. The last lines that it
prints are JSON objects, one for each attack; it exits with code 1 if any trial failed.

    {"attack": "http/mutated", "fails_if": "an answer is malformed, …", "tried": 1000, "failed": 0}
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).parents[1]
TESTS = Path(__file__).parents[2] / "tests"
SHOWN = 5
"""Failures of an attack that are printed."""


@dataclass
class Trials:
    """The trials of one attack within its time."""

    name: str
    seed: int
    seconds: float
    tried: int = 0
    failed: int = 0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.seed} {self.name}")
        self._end = time.monotonic() + self.seconds

    def go_on(self) -> bool:
        """Whether there is time for another trial; always for a first one."""
        return self.tried == 0 or time.monotonic() < self._end

    def count(self, fault: str | None, number: int = 1) -> None:
        """Counts trials that went well (None), or one that failed."""
        self.tried += number
        if fault is None:
            return
        self.failed += 1
        if self.failed <= SHOWN:
            print(f"{self.name}, seed {self.seed}, trial {self.tried}: {fault}", file=sys.stderr, flush=True)


Function = Callable[[Trials], None]
_attacks: dict[str, tuple[str, Function]] = {}


def attack(name: str, fails_if: str) -> Callable[[Function], Function]:
    """Registers an attack as ``FAMILY/NAME``, with what a trial must not lead to."""

    def register(function: Function) -> Function:
        _attacks[name] = fails_if, function
        return function

    return register


def run(documentation: str | None) -> int:
    """Runs the attacks of a script one after the other, which share its time."""
    sys.path.insert(0, str(BENCH))
    from common.options import parser_for

    parser = parser_for(documentation)
    parser.add_argument("--seconds", type=float, default=60, help="for all attacks together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(_attacks), default=list(_attacks), metavar="NAME")
    chosen = parser.parse_args()
    results = []
    for name in chosen.only:
        trials = Trials(name, chosen.seed, chosen.seconds / len(chosen.only))
        try:
            _attacks[name][1](trials)
        except Exception:  # what an attack relies on fails, too
            trials.count(traceback.format_exc())
        results.append(
            {"attack": name, "fails_if": _attacks[name][0], "tried": trials.tried, "failed": trials.failed}
        )
    for result in results:
        print(json.dumps(result), flush=True)
    return int(any(result["failed"] or not result["tried"] for result in results))
