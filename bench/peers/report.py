"""Writes docs/benchmarks.md and its picture from the JSON of run.py; `make bench` calls it.

python bench/peers/report.py RESULTS.json --output docs/benchmarks.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import goals
import picture
import seeds
import tfidf
from common import benchmarks_page as page
from common import provenance
from common.options import parser_for
from side_by_side import table

PICTURE = "benchmarks.svg"

INTRODUCTION = """
Written by `make bench`, `make bench-scale` and `make bench-serving`; the line below each table names the
command and the commit. All times in a section come from one machine: compare them with each other, not with
times from other machines. Data: {data}. {machine}. {versions}.
"""

SIDE_BY_SIDE = """
![Training time against P@1]({picture})

{table}

{measured}

All contestants get the same matrices: TF-IDF of words and word pairs by treetop, rows of unit length. Only
"from texts" computes features of its own, with treetop's defaults (a title counts four times, counts
saturate): its P@k is what a user of treetop gets, not a comparison of methods. On each data set the
contestants take turns in a rotating order; each training and each prediction runs in its own process.
Predictions were timed in two rounds, and so was training that took less than 10 s; the better time counts,
which slightly favours fast contestants. Omikuji takes no seed, so its results vary a little from run to run.

- **train s**: from matrices in memory to a trained model, including clustering but not reading and saving
  (napkinXC writes its model while it trains, which is included). "From texts" includes TF-IDF.
- **peak MB**: peak physical memory of the training process (VmHWM), including interpreter, imports and data.
- **model MB**: all files of the saved model. **load ms**: loading it, files in the page cache, best of three.
- **batch ms/text**: the whole test set in one call on {threads}, best of three, divided by the number of
  texts. PECOS is loaded for prediction only, and the faster of its two chunked layouts counts. Omikuji's
  Python interface takes one text at a time (the faster of plain and densified weights counts).
- **one row**: from a row of the matrix to the best five labels through the Python interface, 1,000 rows one
  after the other. **one text**: the same from the text, including TF-IDF, where the library has it.
- **P@k, PSP@5**: computed by treetop's metrics for all; labels of the test set that never occur in training
  count as missed.

Settings other than the defaults:

{settings}

The tuned setting of a peer has the highest mean of P@1, P@3 and P@5 over deb-tags and deb-deps among those
compared with `bench/peers/peer_settings.py --limit`: trained on up to 12,000 training texts and evaluated on
a held-out fifth (PECOS: cluster size, beam, negatives; Omikuji: balanced or not, children of a node,
collapsed layers; napkinXC: loss and cost, children of a node, number of trees). treetop's defaults were
chosen with `bench/linear/settings.py` on validation splits of all three data sets, so they fit these sets
better than the peers' defaults do: compare them with the tuned rows. A contestant without a row on a data set
was left out there to keep the run short.
"""

GOALS = """
A goal counts as reached only where P@1, P@3 and P@5 are no lower than the peer's, with a tolerance of 0.1
(model size: P@5).

{goals}

{measured}
"""

SEEDS = """
P@k of treetop and PECOS on the same tree sizes (training with tfn, batch prediction, model on disk) are means
over five seeds of the clustering, since a single tree may be better than another by luck:

{seeds}

{measured}
"""

TFIDF = """
Word uni- and bigrams with the same options as scikit-learn's `TfidfVectorizer`, interleaved, best of two.

{tables}
"""


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("results", type=Path, help="the JSON that run.py writes")
    parser.add_argument("--output", type=Path, required=True, help="the page to write")
    options = parser.parse_args()
    results = json.loads(options.results.read_text())
    print(table(results["runs"]))
    print(goals.table(results))
    picture.draw(results, options.output.parent / PICTURE)
    page.put(options.output, sections(results), introduction(results))


def introduction(results: dict[str, Any]) -> str:
    listed = {
        who: ", ".join(f"{name} {version}" for name, version in found.items())
        for who, found in results["versions"].items()
    }
    versions = f"{listed['treetop']}; peers: {listed['peers']}"
    data = ", ".join(dict.fromkeys(run["data"] for run in results["runs"]))
    return INTRODUCTION.format(data=data, machine=results["machine"], versions=versions)


def sections(results: dict[str, Any]) -> dict[str, str]:
    settings = "\n".join(
        f"- {name}: `{json.dumps(values)}`" for name, values in results["settings"].items() if values
    )
    measured = provenance.measured("make bench", results["stamps"].values())
    side_by_side = SIDE_BY_SIDE.format(
        picture=PICTURE,
        table=table(results["runs"]),
        measured=measured,
        settings=settings,
        threads=f"{results['threads']} threads",
    )
    reached = GOALS.format(goals=goals.table(results), measured=measured)
    if results.get("seeds"):
        reached += SEEDS.format(seeds=seeds.table(results["seeds"]), measured=measured)
    return {
        page.SIDE_BY_SIDE: side_by_side,
        page.GOALS: reached,
        page.TFIDF: TFIDF.format(tables="\n\n".join(tfidf_tables(results))),
    }


def tfidf_tables(results: dict[str, Any]) -> Iterator[str]:
    for timing in results["tfidf"]:
        yield tfidf.table(timing)
        yield provenance.measured("make bench", [results["stamps"][timing["data"]]])


if __name__ == "__main__":
    main()
