"""Writes docs/benchmarks.md, its picture, and the section of docs/serving.md, all from the records.

    python bench/peers/report.py [--output docs/benchmarks.md]

The picture and the goals, which are ratios of times, stay as they are while all records have the digits of
the page only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[1] / name) for name in (".", "linear", "serving"))

import goals
import label_search
import picture
import scale
import seeds
import serving
import tfidf
import training_profile
from common import benchmarks_page as page
from common import provenance, record_files
from common.options import parser_for
from common.record_files import Record
from contestants import CONTESTANTS, is_ours
from side_by_side import table

PAGE, PICTURE = provenance.ROOT / "docs" / "benchmarks.md", "benchmarks.svg"

INTRODUCTION = """
Written by `make bench`, `make bench-scale` and `make bench-serving`, and made of the records in
`bench/records`; the line below each table names the command and the commit. All times in a section come from
one machine: compare them with each other, not with times from other machines. Data: {data}. {machine}.
{versions}.
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
    parser.add_argument("--output", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    results = recorded()
    print(table(results["runs"]))
    if not all_rounded(results):
        print(goals.table(results))
        picture.draw(results, options.output.parent / PICTURE)
    page.put(options.output, sections(results) | others(), introduction(results))
    serving.put(options.output.with_name("serving.md"), others()[page.SERVING])


def recorded() -> dict[str, list[Record]]:
    """The records of all data sets: runs in the order of the contestants, seeds, and TF-IDF."""
    names = [contestant.name for contestant in CONTESTANTS]
    subjects = {"runs": "side-by-side", "seeds": "seeds", "tfidf": "tfidf"}
    found = {name: record_files.with_data(subject) for name, subject in subjects.items()}
    sets = list(dict.fromkeys(run["data"] for run in found["runs"]))
    found["runs"].sort(key=lambda run: (sets.index(run["data"]), names.index(run["contestant"])))
    return found


def all_rounded(results: dict[str, list[Record]]) -> bool:
    return all("rounded" in record for found in results.values() for record in found)


def introduction(results: dict[str, list[Record]]) -> str:
    runs = results["runs"]
    machines = dict.fromkeys(f"{run['machine']}; {run['threads']} threads for all" for run in runs)
    ours, peers = (
        versions(run for run in runs if is_ours(run["contestant"]) == wanted) for wanted in (True, False)
    )
    data = ", ".join(dict.fromkeys(run["data"] for run in runs))
    return INTRODUCTION.format(data=data, machine=". ".join(machines), versions=f"{ours}; peers: {peers}")


def versions(runs: Iterable[Record]) -> str:
    found = {package: None for run in runs for package in run["versions"].items()}
    return ", ".join(f"{name} {version}" for name, version in found)


def sections(results: dict[str, list[Record]]) -> dict[str, str]:
    runs = results["runs"]
    settings = {run["contestant"]: json.dumps(run["settings"]) for run in runs if run["settings"]}
    found = {
        page.SIDE_BY_SIDE: SIDE_BY_SIDE.format(
            picture=PICTURE,
            table=table(runs),
            measured="\n".join([provenance.measured(runs), *notes(runs)]),
            settings="\n".join(f"- {name}: `{changed}`" for name, changed in settings.items()),
            threads=" or ".join(dict.fromkeys(f"{run['threads']} threads" for run in runs)),
        ),
        page.SEEDS: SEEDS.format(
            seeds=seeds.table(results["seeds"]), measured=provenance.measured(results["seeds"])
        ),
        page.TFIDF: TFIDF.format(tables="\n\n".join(tfidf_tables(results["tfidf"]))),
    }
    if not all_rounded(results):
        found[page.GOALS] = GOALS.format(goals=goals.table(results), measured=provenance.measured(runs))
    return found


def others() -> dict[str, str]:
    """The sections of other benchmarks."""
    return {
        page.PROFILE: training_profile.section(record_files.with_data(training_profile.SUBJECT)),
        page.GROWTH: scale.section(record_files.with_data(scale.SUBJECT)[-1]),
        page.SERVING: serving.section(record_files.with_data(serving.SUBJECT)[-1]),
        page.LABEL_SEARCH: label_search.section(record_files.with_data(label_search.SUBJECT)[-1]),
    }


def notes(runs: list[Record]) -> Iterator[str]:
    """What a record says of its row."""
    for run in runs:
        if "note" in run:
            yield f"The row *{run['data']}, {run['contestant']}* {run['note']}"


def tfidf_tables(timings: list[Record]) -> Iterator[str]:
    for timing in timings:
        yield tfidf.table(timing["data"], timing)
        yield provenance.measured([timing])


if __name__ == "__main__":
    main()
