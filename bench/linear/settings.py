"""Compares settings of a method on a validation split of the training data; chooses the defaults.

    python bench/linear/settings.py FOLDER [--method NAME] [--limit N]
        "" "leaf_size=100" "leaf_size=50 beam=20"

Each argument is one run: settings as NAME=VALUE, separated by spaces; "" for the defaults.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import treetop
from common import provenance
from common.options import named, parser_for


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz")
    parser.add_argument("runs", nargs="+", metavar="SETTINGS", help="settings of a run, as NAME=VALUE …")
    parser.add_argument("--method", default="xr-linear", help="method to compare settings of")
    parser.add_argument("--limit", type=int, default=25_000, help="maximum number of training texts")
    options = parser.parse_args()
    stamp = provenance.this_run()

    train, validation = treetop.read(options.folder / "train.jsonl.xz").split(0.2, seed=1)
    train = train[: options.limit]
    print(f"{options.folder.name}: {len(train):,} training texts, {len(validation):,} validation texts")
    for run in options.runs:
        model = treetop.make(options.method, **named(run.split()))
        start = time.perf_counter()
        model.fit(train)
        taken = time.perf_counter() - start
        metrics = model.evaluate(validation)
        shown = " ".join(f"{metrics[name]:6.2f}" for name in ("P@1", "P@3", "P@5", "PSP@5"))
        print(f"{shown}  {taken:6.1f} s  {run or 'defaults'}", flush=True)
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
