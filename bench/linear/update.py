"""Updating a trained model against training from scratch: seconds and accuracy.

    python bench/linear/update.py FOLDER [--method NAME] [--threads N] [--validation]
        [--limits P,E …] [--seeds N]

FOLDER holds train.jsonl.xz and test.jsonl.xz. A model of one part of the training texts is updated with the
rest: 0.01, 1 or 10 % of the texts, drawn at random, or all texts of 1 % or 10 % of the labels. "CPU s" is the
CPU time of all threads, "retrained" the share of classifiers that were retrained. PSP uses the
propensities of all training texts in every row; the updated model keeps its training data. --limits compares
other limits (new_positives,new_examples) than the defaults; with --validation they can be chosen without the
test texts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import treetop
from common import provenance
from common.options import parser_for
from treetop.data import Dataset
from treetop.features import Tfidf
from treetop.linear import TreeModel
from treetop.machine import thread_count
from treetop.methods.tree_linear import TreeLinear

METRICS = ("P@1", "P@3", "P@5", "PSP@5")


def metrics_of(model: TreeLinear, test: Dataset, train: Dataset) -> str:
    metrics = treetop.evaluate(model.predict(test, k=5), test, train=train)
    return " | ".join(f"{metrics[name]:.2f}" for name in METRICS)


def solved_again(before: list[TreeModel], after: list[TreeModel]) -> float:
    """The share of classifiers that are new or have another bias."""
    kept = total = 0
    for old, new in zip(before, after, strict=True):
        labels = dict(zip(old.tree.labels.tolist(), old.levels[-1].biases.tolist(), strict=True))
        leaves = zip(new.tree.labels.tolist(), new.levels[-1].biases.tolist(), strict=True)
        kept += sum(labels.get(label) == bias for label, bias in leaves)
        kept += sum(
            int((a.biases == b.biases).sum()) for a, b in zip(old.levels[:-1], new.levels[:-1], strict=True)
        )
        total += sum(new.tree.sizes)
    return 1 - kept / total


def parts(train: Dataset, scenario: str, seed: int) -> tuple[Dataset, Dataset]:
    """Old and new examples."""
    rng = np.random.default_rng(seed)
    what, percent, _ = scenario.split()
    share = float(percent) / 100
    if what == "labels":
        chosen = rng.permutation(len(train.labels))[: round(share * len(train.labels))]
        is_new = np.asarray(train.Y[:, chosen].sum(axis=1)).ravel() > 0
    else:
        is_new = np.zeros(len(train), bool)
        is_new[rng.permutation(len(train))[: round(share * len(train))]] = True
    return train[~is_new], train[is_new]


def row(what: str, seconds: float, again: str, accuracy: str) -> None:
    print(f"| {what} | {seconds:.1f} | {again} | {accuracy} |", flush=True)


def compare(
    train: Dataset,
    test: Dataset,
    scenario: str,
    method: str,
    threads: int,
    limits: list[tuple[str, ...]],
    seeds: int,
) -> None:
    old, new = parts(train, scenario, seed=0)
    print(f"\n{scenario}: {len(old):,} texts, then {len(new):,} more\n")
    print(f"| | CPU s | retrained | {' | '.join(METRICS)} |\n|---|---|---|{'---|' * len(METRICS)}")

    def fitted(data: Dataset, seed: int = 0) -> tuple[TreeLinear, float]:
        start = time.process_time()
        model = treetop.make(method, threads=threads, seed=seed, keep_data=True).fit(data)
        return model, time.process_time() - start

    model, seconds = fitted(old)
    row("before", seconds, "", metrics_of(model, test, train))
    for limit in limits:
        options = dict(zip(("new_positives", "new_examples"), map(float, limit), strict=False))
        copied = type(model).from_stored(model.to_stored(), "a copy")
        copied.config = model.config
        start = time.process_time()
        copied.update(new, **options)
        seconds = time.process_time() - start
        named = f"updated ({', '.join(limit)})" if limit else "updated"
        again = solved_again(model.forest.models, copied.forest.models)
        row(named, seconds, f"{100 * again:.0f} %", metrics_of(copied, test, train))
    for seed in range(seeds):
        model, seconds = fitted(train, seed)
        row(
            f"trained from scratch{f', seed {seed}' if seed else ''}",
            seconds,
            "",
            metrics_of(model, test, train),
        )


def with_features(train: Dataset, test: Dataset, method: str, threads: int) -> tuple[Dataset, Dataset]:
    """Both as feature matrices with the vocabulary of all training texts."""
    tfidf = Tfidf(treetop.make(method).config.tfidf)
    X = tfidf.fit_transform(train.texts, threads)
    queries = tfidf.transform(test.texts, threads)
    return (
        Dataset.from_matrices(X, train.Y, labels=train.labels),
        Dataset.from_matrices(queries, test.Y, labels=test.labels),
    )


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz and test.jsonl.xz")
    parser.add_argument("--method", default="xr-linear", help="linear method to update")
    parser.add_argument("--threads", type=int, default=0, help="number of threads; 0: all cores")
    parser.add_argument("--validation", action="store_true", help="evaluate on a fifth of the training texts")
    parser.add_argument(
        "--seeds", type=int, default=1, help="trainings from scratch, each with its own label tree"
    )
    parser.add_argument(
        "--same-vocabulary",
        action="store_true",
        help="use the vocabulary of all training texts, also before an update",
    )
    parser.add_argument("--limits", nargs="*", default=[], metavar="P,E", help="limits to compare")
    parser.add_argument(
        "--scenarios",
        nargs="*",
        help="what is new: texts or labels, and their share",
        default=["texts 0.01 %", "texts 1 %", "texts 10 %", "labels 1 %", "labels 10 %"],
    )
    options = parser.parse_args()
    stamp = provenance.this_run()
    train = treetop.read(options.folder / "train.jsonl.xz")
    if options.validation:
        train, test = train.split(0.2, seed=1)
    else:
        test = treetop.read(options.folder / "test.jsonl.xz")
    threads = thread_count(options.threads)
    if options.same_vocabulary:
        train, test = with_features(train, test, options.method, threads)
    limits = [tuple(pair.split(",")) for pair in options.limits] or [(), ("0", "0")]
    for scenario in options.scenarios:
        compare(train, test, scenario, options.method, threads, limits, options.seeds)
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
