"""Compares settings of a contestant on a validation split of the training data; chooses the tuned ones.

    python bench/peers/peer_settings.py FOLDER RUNNER [--limit N] --peers PYTHON '{}' '{"beam_size": 20}'

FOLDER holds train.jsonl.xz. RUNNER names the script bench/peers/runners/run_RUNNER.py. Each further argument
is one run: its settings as JSON, {} for the defaults. A fifth of the training texts is held out, at random
but always the same; the test set is not used.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import treetop
from common import provenance
from common.options import parser_for
from contestants import Contestant
from measuring import METRICS, GaveUpError, measure, prepare


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz")
    parser.add_argument("runner", help="one of napkinxc, omikuji, pecos, treetop")
    parser.add_argument(
        "runs", nargs="+", metavar="SETTINGS", type=json.loads, help="settings of a run, as JSON"
    )
    parser.add_argument(
        "--peers", type=Path, required=True, help="Python interpreter that has the peers installed"
    )
    parser.add_argument("--limit", type=int, default=25_000, help="maximum number of training texts")
    parser.add_argument("--threads", type=int, default=2, help="number of threads")
    options = parser.parse_args()
    stamp = provenance.this_run()

    train, validation = treetop.read(options.folder / "train.jsonl.xz").split(0.2, seed=1)
    train = train[: options.limit]
    print(f"{options.folder.name}: {len(train):,} training texts, {len(validation):,} validation texts")
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
            metrics = " ".join(f"{found['metrics'][name]:6.2f}" for name in METRICS)
            print(f"{metrics}  {found['train_s']:6.1f} s  {json.dumps(settings)}", flush=True)
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
