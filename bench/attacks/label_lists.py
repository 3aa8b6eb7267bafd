"""Pickled arrays of label clusters: changed bytes, and the permitted operations in any order.

    python bench/attacks/label_lists.py [--seconds 60] [--seed 0]

Each has to give a sentence or lists no longer than the file. Memory is limited to 4 GB, so a pickle that
takes all of it fails too. The last line is a JSON object for `run.py`.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import numpy as np

import pickled_lists
from common import provenance
from common.options import parser_for

MEMORY = 4 << 30


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, end, tried, failed = np.random.default_rng(chosen.seed), time.monotonic() + chosen.seconds, 0, 0
    with tempfile.TemporaryDirectory() as place:
        while time.monotonic() < end:
            content = (pickled_lists.changed, pickled_lists.program)[tried % 2](rng)
            tried += 1
            try:
                pickled_lists.try_read(Path(place), content)
            except BaseException as error:
                failed += 1
                print(f"{content!r}: {type(error).__name__}: {error}\n", file=sys.stderr)
    print(f"{tried:,} pickles, {failed} failed.\n\n{provenance.measured([provenance.this_run()])}")
    print(json.dumps({"attack": "readers/pickled label clusters", "tried": tried, "failed": failed}))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
