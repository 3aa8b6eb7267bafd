"""Settings of the methods on TF-IDF features or feature matrices."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part, setting
from ..errors import ConfigError
from ..features import USUAL_TFIDF, TfidfConfig
from ..search_space import SearchSpace
from .base import MethodConfig

TFIDF_SPACE: SearchSpace = {
    "tfidf.ngram_max": (1, 2),
    "tfidf.min_df": (1, 2, 3),
    "tfidf.saturation": (None, 5, 15, 50),
}
"""TF-IDF settings for tuning."""


@dataclass(frozen=True)
class FeatureConfig(MethodConfig):
    """Settings of all methods on TF-IDF features."""

    tfidf: TfidfConfig = part(USUAL_TFIDF, "TF-IDF features of the texts")
    keep_data: bool = setting(
        False,
        "keep features and labels of the training examples in the model, so that updates need only new data",
    )

    def check(self) -> None:
        if self.keep_data and self.label_examples:
            raise ConfigError(
                "keep_data is for updates, which label_examples rules out: set only one of them"
            )
