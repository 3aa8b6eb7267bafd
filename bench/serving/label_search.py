"""How fast labels are found by a part of their name, among a million.

    python bench/serving/label_search.py [--labels 1000000] [--queries 2000] [--output docs/benchmarks.md]

Names consist of one to four words made of syllables, with a Zipf distribution of words, and a number. Queries
are the beginnings of words, pieces from inside names, single letters, and strings that occur nowhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from common import benchmarks_page as page
from common import machine, provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown
from treetop.serve.label_search import LabelSearch
from treetop.strings import Strings

SYLLABLES = [a + b for a in "bdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
LIMIT = 20
GOAL_MS = 20
PERCENTILES = {"median ms": 50, "p99 ms": 99, "max ms": 100}
SUBJECT, MADE_UP = "label-search", "made-up-names"


def made_up(labels: int, rng: np.random.Generator) -> list[str]:
    words = ["".join(rng.choice(SYLLABLES, rng.integers(1, 5))) for _ in range(50_000)]
    share = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(len(words), (labels, 4), p=share / share.sum())
    used = rng.integers(1, 5, labels)
    return [
        f"{' '.join(words[word] for word in row[:count])} {number}"
        for number, (row, count) in enumerate(zip(drawn.tolist(), used.tolist(), strict=True))
    ]


def queries(names: list[str], count: int, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    for _ in range(count):
        name = names[rng.integers(len(names))]
        word = name.split()[0]
        at = int(rng.integers(1, max(2, len(name) - 4)))
        yield "one letter", str(rng.choice(list("abdefgkmnrst")))
        yield "beginning of a word", word[: int(rng.integers(2, 6))]
        yield "inside a name", name[at : at + int(rng.integers(3, 8))]
        yield "two letters anywhere", "".join(rng.choice(list("qxjwyc"), 1)) + str(rng.choice(list("aeiou")))
        yield "two words", " ".join(name.split()[:2])[:-1]
        yield "nowhere", "".join(rng.choice(SYLLABLES, 4)) + "q"


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--labels", type=int, default=1_000_000, help="number of labels")
    parser.add_argument("--queries", type=int, default=2000, help="number of queries of each kind")
    parser.add_argument("--output", type=Path, help="record it, and replace the section of this page")
    options = parser.parse_args()
    stamp = {"machine": machine.describe_hardware()} | provenance.this_run()
    rng = np.random.default_rng(0)
    names = made_up(options.labels, rng)
    counts = np.maximum(1, options.labels / (1 + rng.permutation(options.labels))).astype(np.int64)
    labels = Strings.of(names)
    began = time.perf_counter()
    index = LabelSearch(labels, None, counts)
    built = time.perf_counter() - began
    times: dict[str, list[float]] = {}
    for kind, query in queries(names, options.queries, rng):
        began = time.perf_counter()
        index.find(query, LIMIT)
        times.setdefault(kind, []).append(1000 * (time.perf_counter() - began))
    times["all"] = [value for values in times.values() for value in values]
    found = {
        kind: {name: float(np.percentile(values, share)) for name, share in PERCENTILES.items()}
        for kind, values in times.items()
    }
    record = {"labels": options.labels, "limit": LIMIT, "build_s": built, "queries": found} | stamp
    print(section(record))
    if options.output is not None:
        record_files.put(record_files.file_of(SUBJECT, MADE_UP), [record], "labels")
        page.put(options.output, {page.LABEL_SEARCH: section(record)})


def section(record: Record) -> str:
    labels, met = record["labels"], record["queries"]["all"]["p99 ms"] < GOAL_MS
    table = markdown(
        ("query", *PERCENTILES),
        (
            [kind, *(f"{found[name]:.2f}" for name in PERCENTILES)]
            for kind, found in record["queries"].items()
        ),
    )
    return (
        f"`GET /v1/labels` among {labels:,} made-up names, {record['limit']} results each; building the "
        f"index takes {record['build_s']:.1f} s. The goal, a 99th percentile under {GOAL_MS} ms, is "
        f"{'met' if met else 'NOT met'}.\n\n"
        "<!-- not run: takes a minute and a quiet machine -->\n"
        f"```sh\npython bench/serving/label_search.py --labels {labels} --output docs/benchmarks.md\n"
        f"```\n\n{table}\n\n{provenance.measured([record])}"
    )


if __name__ == "__main__":
    main()
