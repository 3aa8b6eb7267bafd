"""A label tree as plain lists for the page, small enough for a browser however many labels there are.

Every node has: how many labels lie below it, how often these are true in the test data, and how often they
are found among the first k. Nodes of a level stand in the order of the tree, so children are a slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..metrics.judged import judge
from ..tree import LabelTree

if TYPE_CHECKING:
    from .subject import Evidence

LABELS = 30_000
"""Labels in a page at most; of a tree with more, each lowest cluster shows its most frequent ones."""
NODES = 20_000
"""Clusters of a level at most; larger levels are left out, and labels hang below those above."""
Counts = npt.NDArray[np.int64]


def tree_data(evidence: Evidence, place: int, tree: LabelTree) -> dict[str, Any]:
    """For the script of the page."""
    subject = evidence.subjects[place]
    model = subject.model
    assert model is not None and model.labels is not None
    judged = judge(subject.runs[0], evidence.truth, evidence.depth)
    # The evidence has labels of other models too: the tree's ids are numbers of this model's labels.
    number = np.array([judged.predictions.labels.position(name) for name in model.labels.take(tree.labels)])
    total = len(judged.predictions.labels)
    true = np.bincount(judged.truth.indices, minlength=total)[number]
    found = np.bincount(judged.best.indices[judged.best_hits], minlength=total)[number]
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
            "title": [evidence.shown(int(label)) for label in number[kept]],
            "trained": trained[kept].tolist(),
            "true": true[kept].tolist(),
            "found": found[kept].tolist(),
        },
        "left_out": len(number) - len(kept),
    }


def _leaf_starts(tree: LabelTree) -> list[Counts]:
    """Of every level of clusters: where the labels below each node begin, and the end."""
    starts = []
    for level in range(1, tree.depth):
        start = np.arange(len(tree.offsets[level]))
        for offsets in tree.offsets[level:]:
            start = offsets[start]
        starts.append(start)
    return starts


def _kept_labels(start: Counts, trained: Counts) -> tuple[Counts, Counts]:
    """Places of the labels to show, the most frequent of a cluster first; and where each cluster's begin."""
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
    """The most frequent labels of a cluster."""
    some = low + np.argsort(-trained[low:high], kind="stable")[:3]
    names = [evidence.shown(int(number[at])) for at in some]
    return ", ".join(names) + (", …" if high - low > len(names) else "")
