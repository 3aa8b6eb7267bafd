"""A label tree as plain lists for the page, limited in size so that a browser can show any number of labels.

Each node has the number of labels below it, how often they are true in the test data, and how often they are
found among the first k. Nodes of a level are in the order of the tree, so that children form a slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..metrics.matching import match_truth
from ..tree import LabelTree

if TYPE_CHECKING:
    from .evidence import Evidence

LABELS = 30_000
"""Largest number of labels in a page; in larger trees, each lowest cluster lists its most frequent labels."""
NODES = 20_000
"""Largest number of clusters in a level; larger levels are left out, and their labels move one level up."""
Counts = npt.NDArray[np.int64]


def tree_data(evidence: Evidence, place: int, tree: LabelTree) -> dict[str, Any]:
    """The data of a `TreeView`."""
    reported = evidence.models[place]
    model = reported.model
    assert model is not None and model.labels is not None
    matched = match_truth(reported.runs[0], evidence.truth, evidence.depth)
    # The vocabulary of the evidence includes labels of other models; the tree has ids of this model's labels.
    number = np.array([matched.predictions.labels.position(name) for name in model.labels.take(tree.labels)])
    total = len(matched.predictions.labels)
    true = np.bincount(matched.truth.indices, minlength=total)[number]
    found = np.bincount(matched.best.indices[matched.best_hits], minlength=total)[number]
    trained = np.asarray(model.label_counts)[tree.labels]
    levels = [offsets for offsets in tree.offsets[1:] if len(offsets) - 1 <= NODES]
    starts = _leaf_starts(tree)[: len(levels)]
    kept, first = _kept_labels(starts[-1] if starts else np.array([0, len(number)]), trained)
    return {
        "k": evidence.depth,
        "clusters": [
            {
                "first": (levels[level] if level + 1 < len(levels) else first).tolist(),
                "labels": np.diff(start).tolist(),
                "true": _sums(true, start),
                "found": _sums(found, start),
                "title": [
                    _title(evidence, number, trained, *bounds)
                    for bounds in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)
                ],
            }
            for level, start in enumerate(starts)
        ],
        "labels": {
            "title": [evidence.label_name(int(label)) for label in number[kept]],
            "trained": trained[kept].tolist(),
            "true": true[kept].tolist(),
            "found": found[kept].tolist(),
        },
        "left_out": len(number) - len(kept),
    }


def _leaf_starts(tree: LabelTree) -> list[Counts]:
    """For each level of clusters: the first label below each node, and the number of labels."""
    starts = []
    for level in range(1, tree.depth):
        start = np.arange(len(tree.offsets[level]))
        for offsets in tree.offsets[level:]:
            start = offsets[start]
        starts.append(start)
    return starts


def _kept_labels(start: Counts, trained: Counts) -> tuple[Counts, Counts]:
    """Places of the labels to show, the most frequent of a cluster first; and each cluster's start."""
    each = max(LABELS // max(len(start) - 1, 1), 1)
    sizes = np.diff(start)
    if len(trained) <= LABELS:
        each = int(sizes.max(initial=1))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((np.arange(len(trained)), -trained, cluster))
    rank = np.arange(len(order)) - np.repeat(start[:-1], sizes)
    return order[rank < each], np.append(0, np.cumsum(np.minimum(sizes, each)))


def _sums(values: Counts, start: Counts) -> list[int]:
    summed = np.append(0, np.cumsum(values))
    return (summed[start[1:]] - summed[start[:-1]]).tolist()  # type: ignore[no-any-return]


def _title(evidence: Evidence, number: Counts, trained: Counts, low: int, high: int) -> str:
    """A cluster's title: its most frequent labels."""
    some = low + np.argsort(-trained[low:high], kind="stable")[:3]
    names = [evidence.label_name(int(number[at])) for at in some]
    return ", ".join(names) + (", …" if high - low > len(names) else "")
