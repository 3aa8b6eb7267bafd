"""Writes docs/benchmarks.md and its picture from the JSON of bench/run.py; `make bench` calls it.

python bench/report.py RESULTS.json --output docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import goals
import page
import picture
import seeds
import tfidf
from table import table

PICTURE = "benchmarks.svg"

INTRODUCTION = """
Made by `make bench` (the last section by `bench/scale.py`). Times were taken on one machine in one run:
compare them with each other, not with other machines. Data: {data}. {machine}. {versions}.
"""

SIDE_BY_SIDE = """
![Training time against P@1]({picture})

{table}

Everybody gets the same matrices: TF-IDF of words and word pairs by treetop, rows of unit length. Only "from
texts" makes features of its own, with treetop's defaults (a title counts four times, counts saturate): its
P@k is what a user of treetop gets, not a comparison of methods. On each data set the contestants take turns
in an order that rotates; every training and every prediction is a process of its own. Predictions were timed
in two rounds, training too where it took less than 10 s; the better time counts, which favours the quick a
little. Omikuji cannot be given a seed, so its figures differ a little from run to run.

- **train s**: from matrices in memory to a trained model, clustering included, reading and saving not
  (napkinXC writes its model while it trains, so that is in it). "From texts" includes TF-IDF.
- **peak MB**: the most physical memory of the training process (VmHWM), interpreter, imports and data
  included.
- **model MB**: all files of the saved model. **load ms**: opening it again, files in the page cache, the
  best of three.
- **batch ms/text**: the whole test set in one call on {threads}, the best of three, divided by its texts.
  PECOS is loaded for prediction only, and the faster of its two chunked layouts counts. Omikuji's Python
  interface takes one text at a time (the faster of plain and densified weights counts).
- **one row**: a row of the matrix in, the best five labels out, through the Python interface, 1,000 rows
  one after the other. **one text**: the same from the text, TF-IDF included, for those who have it.
- **P@k, PSP@5**: by treetop's metrics, for everybody; labels of the test set that never occur in training
  count as missed.

Settings other than the defaults:

{settings}

The tuned setting of a peer is the one with the highest mean of P@1, P@3 and P@5 over deb-tags and deb-deps
among those compared with `bench/peer_settings.py --limit`: up to 12,000 training texts to learn from, a fifth
of the training texts held out to judge (PECOS: size of the clusters, beam, negatives; Omikuji: balanced or
not, children of a node, collapsed layers; napkinXC: loss and cost, children of a node, number of trees).
treetop's defaults were chosen with `bench/settings.py` on validation splits of all three data sets, so they
fit these sets better than the peers' defaults do: compare them with the tuned rows. A contestant without a
row on a data set was left out there to keep the run short.
"""

GOALS = """
Ratios are of this run. A goal counts as reached only where P@1, P@3 and P@5 are no lower than the peer's,
with a tolerance of 0.1 (model size: P@5).

{goals}
"""

SEEDS = """
P@k of treetop and PECOS on the same tree sizes (training with tfn, batch prediction, model on disk) are means
over five seeds of the clustering, since a single tree may be luckier than another:

{seeds}
"""

TFIDF = """
Word uni- and bigrams, the same options as scikit-learn's `TfidfVectorizer`, interleaved, best of two.

{tables}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--output", type=Path, required=True)
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
    side_by_side = SIDE_BY_SIDE.format(
        picture=PICTURE,
        table="\n\n".join([table(results["runs"]), *results.get("notes", ())]),
        settings=settings,
        threads=f"{results['threads']} threads",
    )
    reached = GOALS.format(goals=goals.table(results))
    if results.get("seeds"):
        reached += SEEDS.format(seeds=seeds.table(results["seeds"]))
    tables = "\n\n".join(tfidf.table(timing) for timing in results["tfidf"])
    return {
        page.SIDE_BY_SIDE: side_by_side,
        page.GOALS: reached,
        page.TFIDF: TFIDF.format(tables=tables),
    }


if __name__ == "__main__":
    main()
