"""Models whose arrays, settings and statistics were edited, with matching checksums; pickled label lists.

    python bench/attacks/model_arrays.py [--rounds 20] [--tries 200] [--seed 0]

Each round edits the models of `tests/stored_models`, and some more, in another order, in processes of their
own: loads them, predicts, explains, updates, saves. Each try has to end with a sentence or an answer. Prints
a row of a table for each attack. Exits with code 1 if a try failed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import numpy as np

import model_edits
import pickled_lists
from common import provenance
from common.options import parser_for

STORED = Path(__file__).parents[2] / "tests" / "stored_models"
LISTS = 100
"""Pickled lists for each edited model: they take a hundredth of the time."""


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--tries", type=int, default=200, help="edited models in each round")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tried = failed = 0
    with tempfile.TemporaryDirectory() as place:
        models = sorted(STORED.glob("*.zip")) + model_edits.save_others(Path(place))
        for number in range(chosen.rounds):
            result = model_edits.attack(Path(place), models, seed=chosen.seed + number, tries=chosen.tries)
            tried, failed = tried + result.tried, failed + len(result.failures)
            for count, what, failure in result.failures:
                print(f"seed {chosen.seed + number}, try {count}, {what}:\n{failure}\n", file=sys.stderr)
        lists, broken = attack_lists(Path(place), chosen.rounds * chosen.tries * LISTS, chosen.seed)
    print(
        "| attack | tried | failed |\n|---|---|---|\n"
        f"| arrays, settings and statistics of models edited, checksums correct | {tried:,} | {failed} |\n"
        f"| pickled label lists: changed bytes, operations in any order | {lists:,} | {broken} |\n\n"
        f"{provenance.measured([provenance.this_run()])}"
    )
    return int(failed + broken > 0)


def attack_lists(place: Path, tries: int, seed: int) -> tuple[int, int]:
    """How many pickles were tried, and how many gave neither a sentence nor lists."""
    rng, broken = np.random.default_rng(seed), 0
    for number in range(tries):
        content = (pickled_lists.changed, pickled_lists.program)[number % 2](rng)
        try:
            pickled_lists.try_read(place, content)
        except Exception as error:
            broken += 1
            print(f"{content!r}: {type(error).__name__}: {error}\n", file=sys.stderr)
    return tries, broken


if __name__ == "__main__":
    sys.exit(main())
