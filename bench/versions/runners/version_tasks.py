"""What two versions are timed on: reading, loading, predicting, training. Runs with either version's Python.

    PYTHON bench/versions/runners/version_tasks.py FOLDER     (by compare_versions.py)

FOLDER has train.jsonl, test.jsonl, train.xmc, train.arrays, and a model folder for each of METHODS. With
``prepare`` as the second argument the script makes the last two and the models. Otherwise it prints the names
of the tasks as JSON, reads names from standard input, one on each line, runs the task, and prints its seconds
of processor time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import treetop
from treetop.features.tfidf import Tfidf

METHODS = ("xr-linear", "neighbours", "hybrid")
THREADS = 1
ONE_BY_ONE = 300
"""Texts that are predicted in a call each."""
LOADS = 5


def main() -> None:
    folder = Path(sys.argv[1])
    if sys.argv[2:] == ["prepare"]:
        prepare(folder)
        return
    tasks = tasks_on(folder)
    print(json.dumps(list(tasks)), flush=True)
    for line in sys.stdin:
        task = tasks[line.strip()]
        started = time.process_time()
        task()
        print(time.process_time() - started, flush=True)


def prepare(folder: Path) -> None:
    train = treetop.read(folder / "train.jsonl")
    features = Tfidf().fit_transform(train.texts, threads=THREADS)
    matrices = treetop.Dataset.from_matrices(features, train.Y)
    for name in ("train.xmc", "train.arrays"):
        treetop.data.write(matrices, folder / name)
    for method in METHODS:
        treetop.make(method, threads=THREADS).fit(train).save(folder / method)


def tasks_on(folder: Path) -> dict[str, Callable[[], object]]:
    """A name and a call for each task; each is called once, so that files and pages are cached."""
    test = treetop.read(folder / "test.jsonl")
    texts = list(test.texts)[:ONE_BY_ONE]
    train = treetop.read(folder / "train.jsonl")
    matrices = treetop.read(folder / "train.xmc")
    tasks: dict[str, Callable[[], object]] = {
        "read JSONL": lambda: treetop.read(folder / "train.jsonl"),
        "read xmc": lambda: treetop.read(folder / "train.xmc"),
        "read arrays": lambda: [treetop.read(folder / "train.arrays") for _ in range(LOADS)],
        "Dataset.from_matrices": lambda: treetop.Dataset.from_matrices(matrices.X, matrices.Y),
        "train xr-linear": lambda: treetop.make("xr-linear", threads=THREADS).fit(train),
    }
    for method in METHODS:
        model = treetop.load(folder / method, threads=THREADS)
        tasks |= {
            f"load {method}": lambda method=method: [treetop.load(folder / method) for _ in range(LOADS)],
            f"predict {method}": lambda model=model: model.predict(test, k=10),
            f"predict {method}, one by one": lambda model=model: [model.predict([t], k=10) for t in texts],
        }
    for task in tasks.values():
        task()
    return tasks


if __name__ == "__main__":
    main()
