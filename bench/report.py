"""Runs the side-by-side benches and writes docs/benchmarks.md; `make bench` calls it.

python bench/report.py FOLDER… --pecos PYTHON --output docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import subprocess
from pathlib import Path

import tfidf
import xr_linear
from treetop.threads import count as thread_count

PAGE = """# Benchmarks

Made by `make bench`. Times are seconds on one machine in one run: compare them with each other, not with
other machines. {versions}

## XR-Linear

{linear}

PECOS runs with its defaults (teacher-forcing negatives, beam 10) on word uni- and bigram TF-IDF, and treetop
once on the very same matrices with clusters of at most 100 labels, as PECOS has them. Training from texts
includes TF-IDF; on given matrices it does not. Prediction is of the whole test set. Labels of the test set
that never occur in training count as missed.

The defaults of treetop (terms in at least two texts, saturating counts, clusters of at most 1000 labels) were
chosen on validation splits of the training data of these sets; `bench/settings.py` compares settings that
way.

## TF-IDF

Word uni- and bigrams, the same options as scikit-learn's `TfidfVectorizer`, interleaved, best of two.

{features}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--pecos", type=Path, required=True, help="a Python interpreter that has libpecos")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()

    code = "import importlib.metadata as m; print(m.version('libpecos'))"
    pecos = subprocess.run([str(options.pecos), "-c", code], check=True, capture_output=True, text=True)
    threads = thread_count(0)
    versions = (
        f"treetop {importlib.metadata.version('treetop')}, libpecos {pecos.stdout.strip()}, "
        f"scikit-learn {importlib.metadata.version('scikit-learn')}; "
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {threads} threads."
    )
    runs = []
    for folder in options.folders:
        for run in xr_linear.compare(folder, options.pecos, threads):
            print(run.row(), flush=True)
            runs.append(run)
    features = "\n\n".join(tfidf.compare(folder, None, 2, 1) for folder in options.folders)
    print(features)
    page = PAGE.format(versions=versions, linear=xr_linear.table(runs), features=features)
    options.output.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
