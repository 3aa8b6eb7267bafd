"""CascadeXML: the levels of a label tree, from coarse to fine, at ever later layers of one transformer.

Kharbanda, Banerjee, Schultheis, Babbar: "CascadeXML: Rethinking Transformers for End-to-end Multi-resolution
Training in Extreme Multi-label Classification", NeurIPS 2022. All levels are trained at once; each decides
which nodes of the next one count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..config import lengthened, part, setting
from ..data import Dataset
from ..data.frames import labelled
from ..errors import ConfigError, DataError
from ..neural.attention_views import AttentionViews, attention_views
from ..neural.batches import Examples
from ..neural.cascade_head import SCORES, CascadeHead
from ..neural.cascade_network import CascadeNetwork, usual_taps
from ..neural.config import TrainingConfig
from ..neural.device import chosen_device, memory_told, using_threads
from ..neural.encoder import EncoderConfig
from ..neural.level_recall import level_recall
from ..neural.network import Network
from ..neural.pretrained import pretrained
from ..neural.ranking import Pass
from ..search_space import SearchSpace
from .inputs import Inputs
from .sampled import SampledConfig, SampledMethod

CASCADE_SPACE: SearchSpace = {"training.learning_rate": (5e-5, 1e-4, 2e-4), "epochs": (8, 12, 16)}
MANY = 100_000
"""Labels that get three levels of clusters above them, as published; fewer get one."""


@dataclass(frozen=True)
class CascadeXMLConfig(SampledConfig):
    """Settings of CascadeXML."""

    epochs: int = setting(10, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(256, "texts in one step", at_least=1)
    clusters: tuple[int, ...] = setting(
        (),
        "of the levels above the labels, from the top; none: as many as labels need. A level with as many "
        "nodes as there are labels, or more, is left out",
        at_least=1,
    )
    taps: tuple[int, ...] = setting(
        (),
        "layers: two for the first level, then one for each; a list is for the lowest levels; none: as "
        "published, scaled to the encoder",
        at_least=1,
    )
    chosen: tuple[int, ...] = setting(
        (64,), "nodes of each level whose children count; a list is for the lowest levels", at_least=1
    )
    dropouts: tuple[float, ...] = setting(
        (0.3, 0.3, 0.4), "of each level's vectors; a list is for the lowest levels", at_least=0, at_most=1
    )
    score: str = setting(
        "weighted",
        "of a label: its probability alone (level), or times its parent's (weighted), or all above it (path)",
        choices=SCORES,
    )
    transformer: EncoderConfig = part(EncoderConfig(dropout=0.0), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=2e-4, rates=("head=0.002",), schedule="linear", warmup=0.1),
        "the training loop",
    )

    def check(self) -> None:
        super().check()
        if not self.chosen or not self.dropouts:
            raise ConfigError("chosen and dropouts need at least one entry")
        if list(self.clusters) != sorted(set(self.clusters)):
            raise ConfigError("clusters must grow from level to level")
        if list(self.taps) != sorted(self.taps):
            raise ConfigError("taps: no level can see an earlier layer than the level above it")
        if self.transformer.layers != 1 or self.transformer.pooling == "pooler":
            raise ConfigError("each level sees one layer: set layers=1, and pooling=cls, mean or last")


class CascadeXML(SampledMethod):
    """All levels by one encoder."""

    name = "cascadexml"
    config_class = CascadeXMLConfig
    search_space = CASCADE_SPACE
    config: CascadeXMLConfig

    def _sizes(self, labels: int) -> tuple[int, ...]:
        sizes = self.config.clusters or usual_clusters(labels)
        return tuple(size for size in sizes if 1 < size < labels)

    def _build(self, labels: int, *, trained: bool) -> Network:
        config, levels = self.config, len(self.parents)
        encoder = self._new_encoder()
        taps = list(config.taps[-levels - 1 :]) or usual_taps(levels, encoder.depth)
        if len(taps) != levels + 1:
            raise ConfigError(f"taps: {levels} levels need {levels + 1} layers, not {len(taps)}")
        if max(taps) > encoder.depth:
            raise ConfigError(f"taps: there is no layer {max(taps)}, the encoder has {encoder.depth}")
        head = CascadeHead(
            encoder.width,
            self.parents,
            chosen=lengthened(config.chosen, levels - 1),
            dropouts=lengthened(config.dropouts, levels),
            score=config.score,
            bits=config.head_bits,
            sparse=config.sparse,
        )
        return CascadeNetwork(encoder, head, taps)

    def level_recall(self, data: Dataset | Any) -> list[dict[str, float]]:
        """How much of the truth each level passes on to the next, on labelled texts, from the top.

        ``level``, its number of ``nodes``, those ``chosen`` for a text on average, and the ``recall``: how
        many percent of the true nodes are among them. The last level are the labels, of which those below a
        chosen cluster are chosen. Labels that the network does not know count for nothing.
        """
        known = self._fitted()
        data = labelled(data, "level_recall needs")
        if data.Y is None:
            raise DataError("level_recall needs a labelled Dataset")
        dataset = self._input_set(data).aligned_to(known)
        assert (
            dataset.texts is not None and dataset.Y is not None and isinstance(self.network, CascadeNetwork)
        )
        Y = sparse.csr_matrix(dataset.Y[:, self.used], dtype=np.float32)
        if not Y.nnz:
            raise DataError(f"{data.source}: no text has a label that the model knows")
        self._choose_bits()
        way = self._pass(chosen_device(self.config.device))
        with using_threads(self.threads), memory_told():
            return level_recall(self.network, Examples(self._tokens(dataset.texts), Y), way)

    def attention_views(
        self, inputs: Inputs, layers: Iterable[int] | None = None, *, published: bool = False
    ) -> AttentionViews:
        """What the first token of some texts attends to, in ``layers``; else in those that levels see.

        ``published``: of the encoder as it was before training, to compare with. Always in 32 bits.
        """
        self._fitted()
        dataset = self._input_set(inputs)
        assert dataset.texts is not None and isinstance(self.network, CascadeNetwork)
        encoder = self.network.encoder
        if published:
            encoder, _ = pretrained(self.config.transformer, self.config.max_length)
        way = Pass(self.config.batch_size, chosen_device(self.config.device), torch.float32)
        with using_threads(self.threads), memory_told():
            seen = self.network.taps if layers is None else layers
            return attention_views(encoder, self._examples(dataset), seen, way)


def usual_clusters(labels: int) -> tuple[int, ...]:
    """2^10, 2^13 and 2^16 for very many labels, as published; else one level, 16 to 32 labels a cluster."""
    if labels >= MANY:
        return 1 << 10, 1 << 13, 1 << 16
    level = math.ceil(math.log2(max(labels / 32, 1)))
    return (1 << level,) if level > 0 else ()
