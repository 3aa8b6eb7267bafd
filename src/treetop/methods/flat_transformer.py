"""Full-label transformer: a pretrained encoder and a linear score for every label, trained end to end.

No tree and no sampled negatives: the loss is over all labels, computed in blocks of labels, so that memory
does not grow with texts × labels. Predictions combine a joined ranker on TF-IDF and the trained encoder's
vectors with a smaller weight of the network's own scores:

    score(l) = (1 - w) · ranker(l) + w · σ(w_l · φ(x) + b_l)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError
from ..features.joined import Vectors
from ..neural.batches import Examples
from ..neural.config import TrainingConfig
from ..neural.encoder_config import EncoderConfig
from ..neural.encoder_network import EncoderNetwork, vectors_and_labels
from ..neural.losses import LOSSES
from ..neural.text_encoder import encoder_of
from ..neural.vector_cache import cached
from ..search_space import SearchSpace
from ..sparse import normalize_rows
from .fine_tuning import inference_settings
from .network_config import EncoderNetworkConfig
from .neural import NeuralMethod

FLAT_SPACE: SearchSpace = {
    "training.learning_rate": (1e-4, 2e-4, 4e-4),
    "transformer.dropout": (0.2, 0.4, 0.6),
    "epochs": (5, 10, 20),
}
STARTS = ("frequency", "pifa", "label-text", "random")


@dataclass(frozen=True)
class FlatTransformerConfig(EncoderNetworkConfig):
    """Settings of the full-label transformer."""

    epochs: int = setting(10, "passes over the training examples", at_least=1)
    batch_size: int = setting(256, "texts per optimizer step", at_least=1)
    loss: str = setting("bce", "loss over all labels", choices=LOSSES)
    start: str = setting(
        "frequency",
        "initial scores of the labels: their frequencies, alone or with the mean vectors of their training "
        "texts (pifa) or the vectors of their own texts (label-text), or random",
        choices=STARTS,
    )
    transformer: EncoderConfig = part(EncoderConfig(dropout=0.4), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=2e-4, rates=("head=0.002",), schedule="linear", warmup=0.1),
        "the training loop",
    )


class FlatTransformer(NeuralMethod):
    """An encoder trained with the loss over all labels."""

    name = "flat-transformer"
    config_class = FlatTransformerConfig
    search_space = FLAT_SPACE
    config: FlatTransformerConfig

    def _build(self, labels: int, *, trained: bool) -> EncoderNetwork:
        encoder = encoder_of(self.reader)
        return EncoderNetwork(encoder, labels, self.config.loss, bits=self.config.head_bits)

    def _initialise(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        """Biases with the label frequencies, and perhaps weights from the encoder's vectors.

        A label's vector v_l is the mean of its texts' vectors (pifa) or that of its own text, both minus the
        mean of all; w_l = v_l / ‖v_l‖ / n, n the mean norm of text vectors: scores start at 1 at most.
        """
        network, config = self.network, self.config
        assert isinstance(network, EncoderNetwork)
        super()._initialise(dataset, examples, Y, device)
        if config.start in ("random", "frequency"):
            return
        if config.start == "label-text":
            if dataset.label_texts is None:
                raise ConfigError("start=label-text needs texts of the labels (--label-texts FILE)")
            examples = self._examples(dataset.label_texts.take(self.used))
        vectors = self._published_vectors(examples, device)
        centred = vectors - vectors.mean(0)
        rows = centred
        if config.start == "pifa":
            rows = normalize_rows(sparse.csr_matrix(Y.T), "l1") @ centred
        sizes = np.linalg.norm(centred, axis=1).mean() * np.linalg.norm(rows, axis=1, keepdims=True)
        first = torch.from_numpy((rows / np.maximum(sizes, 1e-6)).astype(np.float32))
        network.head.weight.data = first.to(network.head.weight.dtype)

    def _published_vectors(self, examples: Examples, device: torch.device) -> Vectors:
        """Vectors by the encoder before training, perhaps from the cache."""
        assert isinstance(self.network, EncoderNetwork)
        config, network = self.config, self.network

        def make() -> Vectors:
            inference = inference_settings(config, device)
            return vectors_and_labels(network, examples, 0, inference, layers=config.ranker_layers)[0]

        return cached(config.transformer.cache, network.encoder, examples, make)
