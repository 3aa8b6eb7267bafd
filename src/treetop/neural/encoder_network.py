"""An encoder with a head that scores labels or clusters of labels, and vectors of many texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .batches import Batch, Examples
from .encoder import ON_PROCESSOR, Encoder
from .heads import Head, LabelHead
from .inference import InferenceSettings, for_each_batch
from .losses import Shortlist
from .network import Network

INITIAL_SPREAD = 0.02
"""Standard deviation of initial weights, as in the pretrained transformers."""


class HeadedEncoder(Network):
    """Parts: ``encoder``, ``head``."""

    most_on_processor = ON_PROCESSOR

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head: Head = head

    @property
    def label_head(self) -> Head:
        return self.head

    def seen(self, batch: Batch) -> Any:
        """The input of the head: one vector per text, or several."""
        return self.encoder(batch)

    def label_vectors(self, seen: Any) -> Tensor:
        """Those of the vectors that score the labels."""
        vectors: Tensor = seen
        return vectors

    def forward(self, batch: Batch) -> Tensor:
        assert batch.positives is not None
        return self.head.loss(self.seen(batch), batch.positives)

    def top(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        return self.head.top(self.seen(batch), k)

    def compile_parts(self) -> None:
        """Compiles layer by layer: all layers have the same code, which is compiled once.

        With whole masks it fits all batches, so that steps can be recorded as CUDA graphs.
        """
        encoders = [module for module in self.children() if isinstance(module, Encoder)]
        self.records_compiled = self.encoder.takes_whole_masks
        for encoder in encoders:
            encoder.whole_masks = self.records_compiled
            lists = (module for module in encoder.modules() if isinstance(module, nn.ModuleList))
            for layer in max(lists, key=len, default=()):
                layer.compile(dynamic=True)


class EncoderNetwork(HeadedEncoder):
    """A score for every label. If the labels are a level of a tree, batches may have shortlists."""

    parents: Tensor | None
    head: LabelHead

    def __init__(
        self,
        encoder: Encoder,
        labels: int,
        loss: str,
        parents: npt.NDArray[np.int64] | None = None,
        *,
        reduction: str = "sum",
        bits: int = 32,
        scale: float = 1.0,
        penalty: float = 0.0,
    ) -> None:
        """``parents`` of every label, for shortlists; ``reduction`` and ``bits`` of the `LabelHead`.

        The loss is multiplied by ``scale``, and ``penalty`` · ‖W‖² of the head added.
        """
        super().__init__(encoder, LabelHead(encoder.width, labels, loss, reduction=reduction, bits=bits))
        nn.init.normal_(self.head.weight, std=INITIAL_SPREAD)
        known = None if parents is None else torch.from_numpy(parents)
        self.register_buffer("parents", known, persistent=False)
        self.scale = scale
        self.penalty = penalty
        self.n_parents = 0 if parents is None else int(parents.max(initial=0)) + 1

    def forward(self, batch: Batch) -> Tensor:
        assert batch.positives is not None
        shortlist = None
        if self.parents is not None and batch.parents is not None:
            shortlist = Shortlist.of(batch.parents, self.parents, self.n_parents)
        loss = self.head.loss(self.encoder(batch), batch.positives, shortlist)
        if self.scale != 1:
            loss = self.scale * loss
        if self.penalty:
            loss = loss + self.penalty * self.head.weight.float().square().sum()
        return loss


def text_vectors(
    encoder: Encoder, examples: Examples, inference: InferenceSettings
) -> npt.NDArray[np.float32]:
    """Texts × width, by the current encoder, without dropout."""
    vectors = torch.zeros((len(examples), encoder.width), device=inference.device)

    def use(batch: Batch) -> None:
        vectors[batch.rows] = encoder(batch).float()

    for_each_batch("Vectors of texts", encoder, use, examples, inference)
    return vectors.cpu().numpy()


def vectors_and_labels(
    network: HeadedEncoder, examples: Examples, k: int, inference: InferenceSettings, *, layers: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """``vectors, labels, scores`` in one pass: the vectors that score the labels, and the ``k`` best labels.

    The vectors are those of the last ``layers``. A score below 0 marks an unused place, as for `as_lists`.
    """
    width = network.encoder.width_of_last(layers)
    vectors = torch.zeros((len(examples), width), device=inference.device)
    labels = torch.zeros((len(examples), k), dtype=torch.int32, device=inference.device)
    scores = torch.zeros((len(examples), k), device=inference.device)

    def use(batch: Batch) -> None:
        seen = network.seen(batch)
        vectors[batch.rows] = network.label_vectors(seen)[:, -width:].float()
        if k:
            with torch.autocast(inference.device.type, enabled=False):
                values, ids = network.head.top(seen, k)
            scores[batch.rows], labels[batch.rows] = values, ids.int()

    for_each_batch("Vectors of texts", network, use, examples, inference)
    return vectors.cpu().numpy(), labels.cpu().numpy(), scores.cpu().numpy()
