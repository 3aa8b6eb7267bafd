"""Models whose arrays, settings and statistics were edited, with checksums that match.

    python bench/attacks/model_arrays.py [--seconds 300] [--rounds 1000] [--tries 200] [--seed 0]

Each round edits the models of `tests/stored_models`, and some more, in processes of their own: loads them,
predicts, explains, updates, saves. Each try has to end with a sentence or an answer, without much memory. The
last line is a JSON object for `run.py`. Exits with code 1 if a try failed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import model_edits
from common import provenance
from common.options import parser_for

STORED = Path(__file__).parents[2] / "tests" / "stored_models"


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rounds", type=int, default=1000, help="at most")
    parser.add_argument("--tries", type=int, default=200, help="edited models in each round")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    chosen = parser.parse_args()
    end, tried, failed = time.monotonic() + chosen.seconds, 0, 0
    with tempfile.TemporaryDirectory() as place:
        models = sorted(STORED.glob("*.zip")) + model_edits.save_others(Path(place))
        for seed in range(chosen.seed, chosen.seed + chosen.rounds):
            left = end - time.monotonic()
            if left <= 0:
                break
            result = model_edits.attack(Path(place), models, seed=seed, tries=chosen.tries, seconds=left)
            tried, failed = tried + result.tried, failed + len(result.failures)
            for number, what, failure in result.failures:
                print(f"seed {seed}, try {number}, {what}:\n{failure}\n", file=sys.stderr)
    print(f"{tried:,} edited models, {failed} failed.\n\n{provenance.measured([provenance.this_run()])}")
    print(json.dumps({"attack": "model/edited arrays and settings", "tried": tried, "failed": failed}))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
