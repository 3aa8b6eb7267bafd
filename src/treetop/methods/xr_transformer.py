"""XR-Transformer: an encoder fine-tuned level by level on a label tree, then a joined ranker.

Zhang, Chang, Yu, Dhillon: "Fast Multi-Resolution Transformer Fine-tuning for Extreme Multi-label Text
Classification", NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..deprecation import renamed_attribute
from ..errors import ConfigError
from ..features.joined import Vectors
from ..features.text_features import TextFeatures
from ..linear.config import COST_SPACE
from ..linear.joined_ranker import USUAL_TREE, JoinedRanker
from ..neural.device import chosen_device
from ..neural.text_encoder import TextEncoder
from ..neural.training import OnEpoch
from ..ranked import Ranked
from ..search_space import SearchSpace
from ..strings import Strings
from ..tree import FROM_EXAMPLES, LabelTree, TreeConfig, trees_of
from .base import Method
from .fine_tuning import prediction_vectors, training_log, training_texts, with_validation
from .level_tuning import LevelTuning, LevelTuningConfig
from .node_validation import NodeValidation

XR_SPACE: SearchSpace = COST_SPACE | {
    "training.learning_rate": (5e-5, 1e-4, 2e-4),
    "epochs": (1, 2, 4),
    "shortlist": (5, 20, 50),
}


@dataclass(frozen=True)
class XRTransformerConfig(LevelTuningConfig):
    """Settings of XR-Transformer."""

    refine: bool = setting(
        True, "build a new tree from the rankers' features; false: keep the tree of the fine-tuning"
    )
    tree: TreeConfig = part(TreeConfig(leaf_size=16, top=128), "the tree to fine-tune on")
    refined: TreeConfig = part(USUAL_TREE, "the tree of the rankers")

    def check(self) -> None:
        super().check()
        if self.refined.vectors not in FROM_EXAMPLES:
            raise ConfigError(
                f"the rankers' tree is built from examples: set refined.vectors to one of"
                f" {', '.join(FROM_EXAMPLES)}, not {self.refined.vectors}"
            )


class XRTransformer(Method):
    """Parts: an ``encoder``, fine-tuned level by level, and the joined ``ranker``."""

    name = "xr-transformer"
    config_class = XRTransformerConfig
    search_space = XR_SPACE
    same_on_any_threads = False  # torch sums in another order
    takes_texts = True
    config: XRTransformerConfig
    encoder: TextEncoder | None = None
    ranker: JoinedRanker | None = None

    model = renamed_attribute("model", "ranker.model")
    tfidf = renamed_attribute("tfidf", "ranker.features.tfidf")
    n_features = renamed_attribute("n_features", "ranker.model.n_features")

    @property
    def needs_features(self) -> bool:
        return self.ranker is not None and not self.ranker.features.of_texts

    @property
    def tree(self) -> LabelTree:
        """The label tree of the ranker."""
        self.check_trained()
        assert self.ranker is not None
        return self.ranker.model.tree

    def _fit(
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        validation: Dataset | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        """``tree``: your own tree for the fine-tuning; with ``refine=false`` for the rankers too.

        ``validation``: labelled texts that decide which epoch of each level is best. ``on_epoch`` is called
        with the log entry of every epoch.
        """
        config, threads = self.config, self.threads
        dataset, validation = with_validation(dataset, validation, config, self.name)
        texts, Y = training_texts(dataset, self.name), dataset.Y
        assert Y is not None
        device = chosen_device(config.device)

        self.encoder = TextEncoder.pretrained(config.transformer, config.max_length)
        features, X = TextFeatures.fit(dataset, config.tfidf, unit_rows=True, threads=threads)
        tokens = self.encoder.tokens(texts)
        if tree is not None:
            tree = tree.of_training(dataset)
        else:
            of_labels = (
                features.of_labels(dataset, threads=threads) if config.tree.needs_label_texts else None
            )
            (tree,) = trees_of(
                X, Y, config.tree, seeds=[config.seed], text_vectors=of_labels, threads=threads
            )

        held_out = None
        if validation is not None:
            held_out = NodeValidation(
                validation, dataset.labels, tree, self.encoder, features, config, device, threads=threads
            )
        tuning = LevelTuning(
            config, self.encoder, tokens, X, Y, tree, device, held_out, on_epoch=on_epoch, threads=threads
        )
        vectors = tuning.run()
        self.training_log = training_log(tuning.progress, self.encoder.counts(), device, config)

        self.ranker = JoinedRanker.fit(
            features,
            X,
            vectors,
            Y,
            config.refined if config.refine else tree,
            config.linear,
            use=config.use,
            seed=config.seed,
            threads=threads,
        )

    def _rank(self, dataset: Dataset, k: int, *, beam: tuple[int, ...] | None = None) -> Ranked:
        assert self.ranker is not None and dataset.texts is not None
        vectors = None if self.config.use == "tfidf" else self.text_vectors(dataset.texts)
        return self.ranker.rank(dataset, vectors, k, beam=beam, threads=self.threads)

    def text_vectors(self, texts: Strings) -> Vectors:
        """Vectors of texts by the fine-tuned encoder."""
        assert self.encoder is not None
        return prediction_vectors(self.encoder, texts, self.config, threads=self.threads)

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.ranker is not None and self.encoder is not None
        return self.ranker.state() | with_prefix("encoder", self.encoder.whole_state())

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config, labels = self.config, len(self.known_labels)
        encoder = under_prefix("encoder", arrays)
        self.encoder = TextEncoder.from_whole_state(config.transformer, config.max_length, encoder)
        self.ranker = JoinedRanker.from_state(
            arrays,
            config.tfidf,
            config.linear,
            use=config.use,
            labels=labels,
            width=self.encoder.encoder.width,
        )
