"""Compares settings of a method on a validation split of the training data; defaults are chosen with it.

    python bench/settings.py FOLDER [--method NAME] [--limit N] "" "leaf_size=100" "leaf_size=50 beam=20"

Each argument is one run: settings as name=value, separated by blanks; "" is the defaults.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import treetop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz")
    parser.add_argument("runs", nargs="+", metavar="SETTINGS")
    parser.add_argument("--method", default="xr-linear")
    parser.add_argument("--limit", type=int, default=25_000, help="training texts at most")
    options = parser.parse_args()

    train, validation = treetop.read(options.folder / "train.jsonl.xz").split(0.2, seed=1)
    train = train[: options.limit]
    print(f"{options.folder.name}: {len(train):,} texts to learn from, {len(validation):,} to validate on")
    for run in options.runs:
        model = treetop.make(options.method, **dict(pair.split("=") for pair in run.split()))
        start = time.perf_counter()
        model.fit(train)
        taken = time.perf_counter() - start
        metrics = model.evaluate(validation)
        figures = " ".join(f"{metrics[name]:6.2f}" for name in ("P@1", "P@3", "P@5", "PSP@5"))
        print(f"{figures}  {taken:6.1f} s  {run or 'defaults'}", flush=True)


if __name__ == "__main__":
    main()
