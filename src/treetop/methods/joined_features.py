"""What X- and XR-Transformer share: linear models on TF-IDF and an encoder's vectors, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from scipy import sparse

from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..errors import ConfigError, DataError
from ..features.joined import Vectors, side_by_side
from ..neural.config import TrainingConfig
from ..neural.encoder import EncoderConfig
from ..neural.text_encoder import TextEncoder, Tokens
from ..sparse import Rows
from ..strings import Strings
from .features import FeatureConfig, FeatureMethod


@dataclass(frozen=True)
class JoinedConfig(FeatureConfig):
    """Settings of every method on such features."""

    batch_size: int = setting(256, "texts in one step", at_least=1)
    max_length: int = setting(128, "tokens of a text that are read", at_least=1)
    device: str = setting("auto", "cuda, cuda:1, mps or cpu; auto takes the first there is")
    use: str = setting("both", "features of the rankers", choices=("both", "tfidf", "vectors"))
    transformer: EncoderConfig = part(EncoderConfig(), "the pretrained transformer")
    training: TrainingConfig = part(
        TrainingConfig(learning_rate=1e-4, rates=("head=0.001",), schedule="linear", warmup=0.1, clip=1.0),
        "the training loop of the fine-tuning",
    )

    def check(self) -> None:
        super().check()
        if self.training.validation or self.training.patience:
            raise ConfigError("this method trains to the end: leave out validation and patience")


class JoinedMethod(FeatureMethod):
    """Takes texts. A method fine-tunes `encoder` in its ``_fit``, and then calls `_joined`."""

    same_on_any_threads = False  # torch adds in another order
    config: JoinedConfig
    encoder: TextEncoder | None = None
    course: dict[str, Any]
    """What happened in training."""

    def _start(self, dataset: Dataset) -> tuple[sparse.csr_matrix, Tokens]:
        """TF-IDF and tokens of the training texts, for the encoder as it is published."""
        if dataset.texts is None:
            raise DataError(f"{dataset.source}: {self.name} learns from texts, and there are none")
        self.encoder = TextEncoder.pretrained(self.config.transformer, self.config.max_length)
        return self._fit_tfidf(dataset.texts), self.encoder.tokens(dataset.texts)

    def text_vectors(self, tokens: Tokens, *, published: bool = False) -> Vectors:
        """By the encoder as it is now. ``published``: not trained yet, so they may lie in the cache."""
        assert self.encoder is not None
        return self.encoder.vectors(
            tokens,
            batch_size=4 * self.config.batch_size,
            device=self.config.device,
            precision=self.config.training.precision,
            threads=self.threads,
            cache=self.config.transformer.cache if published else None,
        )

    def _joined(self, X: sparse.csr_matrix, vectors: Vectors) -> sparse.csr_matrix:
        """Φ_cat, or the part of it that is wanted."""
        if self.config.use == "tfidf":
            return X
        return side_by_side(X if self.config.use == "both" else None, vectors)

    def _features(self, dataset: Dataset) -> Rows:
        assert self.tfidf is not None and dataset.texts is not None
        X = self.tfidf.transform(dataset.texts, threads=self.threads)
        if self.config.use == "tfidf":
            return X
        return self._joined(X, self._vectors_of(dataset.texts))

    def _vectors_of(self, texts: Strings) -> Vectors:
        """For predictions."""
        assert self.encoder is not None
        self.encoder.encoder.narrow = self.config.transformer.int8
        return self.text_vectors(self.encoder.tokens(texts))

    def _facts(self) -> dict[str, Any]:
        return {"training": self.course}

    def _feature_state(self) -> dict[str, npt.NDArray]:
        assert self.encoder is not None
        return super()._feature_state() | with_prefix("encoder", self.encoder.state())

    def _restore_features(self, arrays: Mapping[str, npt.NDArray]) -> None:
        super()._restore_features(arrays)
        config = self.config
        state = under_prefix("encoder", arrays)
        self.encoder = TextEncoder.from_state(config.transformer, config.max_length, state)
        self.course = self.statistics.get("training", {})
