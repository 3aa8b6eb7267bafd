"""Full-label transformer: a pretrained encoder and a linear score for every label, trained end to end.

No tree and no sampled negatives: the loss is over all labels. It is computed in blocks of labels, so that
memory does not grow with texts × labels. What ranks the labels in the end are linear rankers on TF-IDF and
the trained encoder's vectors, and with a smaller share the scores that the encoder was trained with:

    score(l) = (1 - w) · ranker(l) + w · σ(w_l · φ(x) + b_l)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .._native import combine
from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError
from ..features import Tfidf
from ..features.encoder import Vectors
from ..neural.batches import Examples
from ..neural.config import TrainingConfig
from ..neural.device import chosen_device, chosen_precision, memory_told, using_threads
from ..neural.encoder import EncoderConfig
from ..neural.encoder_network import EncoderNetwork, text_vectors
from ..neural.losses import LOSSES
from ..neural.ranking import make_ready
from ..neural.vector_cache import cached
from ..search_space import SearchSpace
from ..sparse import normalize_rows
from ..store import under_prefix, with_prefix
from .base import Ranked
from .cat_rankers import CatRankers, CatRankersConfig
from .encoded import EncodedConfig, EncodedMethod
from .features import fitted_tfidf

FLAT_SPACE: SearchSpace = {
    "training.learning_rate": (1e-4, 2e-4, 4e-4),
    "transformer.dropout": (0.2, 0.4, 0.6),
    "epochs": (5, 10, 20),
}
DEPTH = 50
"""Labels that scores and rankers list at least: a label may be low in one list and high in the other."""
STARTS = ("frequency", "pifa", "label-text", "random")


@dataclass(frozen=True)
class FlatTransformerConfig(EncodedConfig):
    """Settings of the full-label transformer."""

    epochs: int = setting(10, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(256, "texts in one step", at_least=1)
    loss: str = setting("bce", "loss over all labels", choices=LOSSES)
    head_bits: int = setting(
        32,
        "of a label's weights: with 16 they and their moments take half the memory, rounded at random",
        choices=(16, 32),
    )
    start: str = setting(
        "frequency",
        "scores before training: those of the labels' frequencies, also of the mean vectors of their texts "
        "(pifa) or of the vectors of their own texts (label-text), or random ones",
        choices=STARTS,
    )
    rankers: bool = setting(
        True, "rank labels with linear rankers on TF-IDF and the trained encoder's vectors, too"
    )
    head_share: float = setting(
        0.15, "of the encoder's scores in those of the labels, beside the rankers'", at_least=0, at_most=1
    )
    ranking: CatRankersConfig = part(CatRankersConfig(), "the rankers")
    transformer: EncoderConfig = part(EncoderConfig(dropout=0.4), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=2e-4, rates=("head=0.002",), schedule="linear", warmup=0.1),
        "the training loop",
    )


class FlatTransformer(EncodedMethod):
    """Encoder and all labels at once."""

    name = "flat-transformer"
    config_class = FlatTransformerConfig
    search_space = FLAT_SPACE
    config: FlatTransformerConfig
    rankers: CatRankers | None = None
    _terms: tuple[Tfidf, sparse.csr_matrix] | None = None
    """Of the training texts, until the rankers are made."""

    @property
    def network_alone(self) -> bool:
        return self.rankers is None

    def _build(self, labels: int, *, trained: bool) -> EncoderNetwork:
        return EncoderNetwork(self._new_encoder(), labels, self.config.loss, bits=self.config.head_bits)

    def _initialise(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        """b_l = log(p_l / (1 - p_l)) of the share p_l of texts with the label; and perhaps better vectors.

        A label's vector v_l is the mean of its texts' (pifa) or that of its own text, both less the mean of
        all; w_l = v_l / ‖v_l‖ / n, where n is how long such vectors are: scores are 1 at most at first.
        """
        network, config = self.network, self.config
        assert isinstance(network, EncoderNetwork)
        self.rankers, self._terms = None, None
        if config.rankers:  # what can go wrong with texts is found before the network is trained
            assert dataset.texts is not None
            self._terms = fitted_tfidf(config.ranking.tfidf, dataset.texts, self.threads)
        if config.start == "random":
            return
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        odds = counts / np.maximum(Y.shape[0] - counts, 0.5)
        network.head.bias.data = torch.from_numpy(np.log(odds).astype(np.float32))
        if config.start == "frequency":
            return
        if config.start == "label-text":
            if dataset.label_texts is None:
                raise ConfigError("start=label-text needs texts of the labels (--label-texts FILE)")
            examples = Examples(self._tokens(dataset.label_texts.take(self.used)))
        vectors = self._published_vectors(examples, device)
        centred = vectors - vectors.mean(0)
        rows = centred
        if config.start == "pifa":
            rows = normalize_rows(sparse.csr_matrix(Y.T), "l1") @ centred
        sizes = np.linalg.norm(centred, axis=1).mean() * np.linalg.norm(rows, axis=1, keepdims=True)
        first = torch.from_numpy((rows / np.maximum(sizes, 1e-6)).astype(np.float32))
        network.head.weight.data = first.to(network.head.weight.dtype)

    def _published_vectors(self, examples: Examples, device: torch.device) -> Vectors:
        """By the encoder before it is trained; they may lie in the cache."""
        assert isinstance(self.network, EncoderNetwork)
        return cached(
            self.config.transformer.cache,
            self.network.encoder,
            examples,
            lambda: self._vectors(examples, device),
        )

    def _vectors(self, examples: Examples, device: torch.device) -> Vectors:
        assert isinstance(self.network, EncoderNetwork)
        return text_vectors(
            self.network.encoder,
            examples,
            batch_size=4 * self.config.batch_size,
            device=device,
            precision=chosen_precision(self.config.training.precision, device),
        )

    def _after_training(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        terms, self._terms = self._terms, None
        if terms is not None:
            self.rankers = CatRankers.fit(
                *terms,
                self._vectors(examples, device),
                Y,
                self.config.ranking,
                seed=self.config.seed,
                threads=self.threads,
            )

    def _rank(self, dataset: Dataset, k: int) -> Ranked:  # type: ignore[override]
        if self.rankers is None:
            return super()._rank(dataset, k)
        assert dataset.texts is not None and isinstance(self.network, EncoderNetwork)
        self.network.encoder.narrow = self.config.transformer.int8
        depth, share = min(max(k, DEPTH), len(self.used)), self.config.head_share
        with using_threads(self.threads), memory_told():
            device = chosen_device(self.config.device)
            make_ready(self.network, device)
            vectors = self._vectors(self._examples(dataset), device)
            lists = [self._head_list(vectors, depth, device)] if share else []
        lists.append(self.rankers.rank(dataset.texts, vectors, depth if share else k, threads=self.threads))
        ranked = lists[0] if len(lists) == 1 else combine(lists, [share, 1 - share], k, self.threads)
        return ranked[0], self.used[ranked[1]].astype(np.int32), ranked[2]

    def _head_list(self, vectors: Vectors, k: int, device: torch.device) -> Ranked:
        """The best labels by the scores that the encoder was trained with."""
        assert isinstance(self.network, EncoderNetwork)
        size = 4 * self.config.batch_size
        best = []
        with torch.inference_mode():
            for at in range(0, max(len(vectors), 1), size):
                top = self.network.head.top(torch.from_numpy(vectors[at : at + size]).to(device), k)
                best.append([part.cpu().numpy().reshape(-1) for part in top])
        scores, labels = (np.concatenate(parts) for parts in zip(*best, strict=True))
        return np.arange(len(vectors) + 1, dtype=np.int64) * k, labels.astype(np.int32), scores

    def _state(self) -> dict[str, npt.NDArray]:
        rankers = {} if self.rankers is None else with_prefix("rankers", self.rankers.state())
        return super()._state() | rankers

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        super()._restore(arrays)
        if self.config.rankers:
            state = under_prefix("rankers", arrays)
            self.rankers = CatRankers.from_state(state, self.config.ranking, len(self.used))
