"""Recall of each level of a `CascadeNetwork`: the share of true nodes in its beam. Table 11 of CascadeXML."""

from __future__ import annotations

import torch

from .batches import Batch, Examples
from .cascade_network import CascadeNetwork
from .inference import InferenceSettings, for_each_batch


def level_recall(
    network: CascadeNetwork, examples: Examples, inference: InferenceSettings
) -> list[dict[str, float]]:
    """For each level: ``level``, ``nodes``, ``chosen`` (mean beam of a text) and ``recall`` in percent.

    The recall is over the true nodes of all texts together. The last level is the labels.
    """
    head = network.head
    counts = torch.zeros((len(examples), len(head.levels), 3), dtype=torch.int64, device=inference.device)

    def use(batch: Batch) -> None:
        assert batch.positives is not None
        counts[batch.rows] = head.recalled(network.seen(batch), batch.positives)

    for_each_batch("Recall of levels", network, use, examples, inference)
    return [
        {
            "level": number + 1,
            "nodes": len(head.parents(number)),
            "chosen": chosen / len(examples),
            "recall": 100 * found / true,
        }
        for number, (true, found, chosen) in enumerate(counts.sum(0).tolist())
    ]
