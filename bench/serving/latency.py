"""How fast a saved model loads and predicts, one text at a time and all in one call.

    python bench/serving/latency.py MODEL TEXTS [--k 5] [--threads 1,2] [--most 300]
        [--set int8=true device=cpu]

MODEL is a model folder, TEXTS any data file with texts. Prints the size of the model and the milliseconds to
load it (with and without comparing checksums, files in the page cache, median of several) and to predict the
first text. Then, for each number of threads: the median and the 99th percentile of milliseconds from a text
to its labels, one text after the other, and the milliseconds per text for the whole file in one call (best of
three).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import treetop
from common import provenance
from common.options import add_settings, named, parser_for


def milliseconds(task: Callable[[], Any]) -> float:
    """Duration of one call."""
    start = time.perf_counter()
    task()
    return 1000 * (time.perf_counter() - start)


def load_times(
    folder: Path, text: str, verify: bool, settings: dict[str, str], rounds: int = 9
) -> tuple[float, float]:
    """Medians of loading and of the first prediction."""
    loads, predictions = [], []
    treetop.load(folder)  # imports what the method needs, and fills the page cache
    for _ in range(rounds):
        start = time.perf_counter()
        model = treetop.load(folder, verify=verify, **settings)
        loads.append(1000 * (time.perf_counter() - start))
        predictions.append(milliseconds(lambda model=model: model.predict(text)))
    return median(loads), median(predictions)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("texts", type=Path, help="data file with texts")
    parser.add_argument("--k", type=int, default=5, help="labels per text")
    parser.add_argument("--threads", default="1,2", help="numbers of threads to compare")
    parser.add_argument("--most", type=int, help="maximum number of texts; default: all")
    add_settings(parser, "the method, for loading")
    options = parser.parse_args()
    stamp = provenance.this_run()

    texts = treetop.read(options.texts, need_labels=False)[: options.most].texts
    settings = named(options.settings)
    size = sum(path.stat().st_size for path in options.model.rglob("*") if path.is_file())
    print(f"{options.model}: {size / 1e6:.1f} MB, {len(texts):,} texts")
    for verify in (True, False):
        load, first = load_times(options.model, texts[0], verify, settings)
        print(f"load {'with' if verify else 'without'} checksums {load:.1f} ms, first text {first:.2f} ms")
    model = treetop.load(options.model, **settings)
    listed = list(texts)
    for threads in map(int, options.threads.split(",")):
        model.config = model.config.replace_settings({"threads": threads})
        for text in listed[:200]:
            model.predict(text, k=options.k)
        single = [milliseconds(lambda text=text: model.predict(text, k=options.k)) for text in listed]
        batch = min(milliseconds(lambda: model.predict(texts, k=options.k)) for _ in range(3)) / len(texts)
        print(
            f"{threads} thread{'s' * (threads > 1)}: one text median {median(single):.3f} ms, "
            f"99th percentile {np.percentile(single, 99):.3f} ms; batch {batch:.4f} ms per text"
        )
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
