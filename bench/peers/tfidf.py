"""TF-IDF of treetop and scikit-learn side by side: word uni- and bigrams of the training texts.

    python bench/peers/tfidf.py FOLDER [--texts N] [--rounds R] [--min-df M]

The two take turns, so that a busy machine slows both; the table has the best time of each and their ratio.
"""

from __future__ import annotations

import itertools
import json
import lzma
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from common import provenance
from common.options import parser_for
from treetop.features import Tfidf, TfidfConfig
from treetop.strings import Strings

SKLEARN = "scikit-learn"


def read_texts(file: Path, limit: int | None) -> list[str]:
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, limit)]


def seconds(work: Callable[[], Any], repeat: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - start) / repeat


def measure(folder: Path, limit: int | None, rounds: int, min_df: int) -> dict[str, Any]:
    """Best times on the training texts of a folder: seconds[task][who], and speed_up[task][who]."""
    texts = read_texts(folder / "train.jsonl.xz", limit)
    strings = Strings.of(texts)
    short = [" ".join(texts[0].split()[:20])]
    theirs = TfidfVectorizer(ngram_range=(1, 2), min_df=min_df, dtype=np.float32)
    ours = Tfidf(TfidfConfig(ngram_max=2, min_df=min_df))
    best: dict[str, dict[str, float]] = {"fit_transform": {}, "transform": {}, "one short text": {}}

    def note(task: str, who: str, taken: float) -> None:
        best[task][who] = min(taken, best[task].get(who, taken))

    for _ in range(rounds):
        note("fit_transform", SKLEARN, seconds(lambda: theirs.fit_transform(texts)))
        note("transform", SKLEARN, seconds(lambda: theirs.transform(texts)))
        note("one short text", SKLEARN, seconds(lambda: theirs.transform(short), 100))
        for threads in (1, 2):
            who = f"treetop, {threads} thread{'s' if threads > 1 else ''}"
            note("fit_transform", who, seconds(lambda: ours.fit_transform(strings, threads)))  # noqa: B023
            note("transform", who, seconds(lambda: ours.transform(strings, threads)))  # noqa: B023
            note("one short text", who, seconds(lambda: ours.transform(short, threads), 300))  # noqa: B023
    return {
        "texts": len(texts),
        "bytes": strings.buffer.nbytes,
        "terms": ours.n_features,
        "seconds": best,
        "speed_up": {
            task: {who: found[SKLEARN] / taken for who, taken in found.items()}
            for task, found in best.items()
        },
    }


def table(data: str, timing: dict[str, Any]) -> str:
    """A Markdown table of the times and their ratios."""
    lines = [
        f"{data}: {timing['texts']:,} texts, {timing['bytes'] / 1e6:.0f} MB, {timing['terms']:,} terms",
        "",
        "| task | library | time | speed-up over scikit-learn |",
        "|---|---|---|---|",
    ]
    for task, found in timing["seconds"].items():
        for who, taken in found.items():
            shown = f"{taken * 1e6:,.0f} µs" if taken < 0.01 else f"{taken:.2f} s"
            lines.append(f"| {task} | {who} | {shown} | {timing['speed_up'][task][who]:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz")
    parser.add_argument("--texts", type=int, help="number of texts, from the first on; default: all")
    parser.add_argument("--rounds", type=int, default=2, help="measurements, of which the best counts")
    parser.add_argument("--min-df", type=int, default=1, help="texts that a term must occur in")
    options = parser.parse_args()
    stamp = provenance.this_run()
    timing = measure(options.folder, options.texts, options.rounds, options.min_df)
    print(table(options.folder.name, timing))
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
