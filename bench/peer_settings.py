"""Compares settings of a contestant on a validation split of the training data; tuned ones come from it.

    python bench/peer_settings.py FOLDER RUNNER [--limit N] --peers PYTHON '{}' '{"beam_size": 20}'

FOLDER holds train.jsonl.xz. RUNNER is the middle of bench/peers/run_<runner>.py. Each further argument is one
run: settings as JSON; {} is the defaults. A fifth of the training texts is held out, by chance but always the
same; the test set is not touched.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import treetop
from contestants import Contestant
from measuring import FIGURES, GaveUpError, measure, prepare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("runner")
    parser.add_argument("runs", nargs="+", metavar="SETTINGS", type=json.loads)
    parser.add_argument("--peers", type=Path, required=True, help="a Python interpreter that has the peers")
    parser.add_argument("--limit", type=int, default=25_000, help="training texts at most")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    train, validation = treetop.read(options.folder / "train.jsonl.xz").split(0.2, seed=1)
    train = train[: options.limit]
    print(f"{options.folder.name}: {len(train):,} texts to learn from, {len(validation):,} to validate on")
    with tempfile.TemporaryDirectory() as folder:
        data = prepare(options.folder.name, train, validation, Path(folder) / "data", options.threads)
        for settings in options.runs:
            try:
                found = measure(
                    Contestant(options.runner, options.runner, settings), data, options.peers, options.threads
                )
            except GaveUpError as error:
                print(f"{error}  {json.dumps(settings)}", flush=True)
                continue
            figures = " ".join(f"{found['metrics'][name]:6.2f}" for name in FIGURES)
            print(f"{figures}  {found['train_s']:6.1f} s  {json.dumps(settings)}", flush=True)


if __name__ == "__main__":
    main()
