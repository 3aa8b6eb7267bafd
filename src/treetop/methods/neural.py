"""`NeuralMethod`: the base class of networks that score labels: read, cluster, build, train, rank, save.

A method's own file defines its settings and its network.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .. import checkpoints
from ..arrays import under_prefix, with_prefix
from ..data import Dataset
from ..data.digest import data_digest, string_arrays
from ..deprecation import renamed_attribute
from ..digests import digest_of
from ..errors import ConfigError
from ..features.text_features import TextFeatures
from ..metrics import Metrics, evaluate, inverse_propensity, parse_metric
from ..model_arrays import Numbers, checked, restoring
from ..neural.arrays import load_weights, to_array
from ..neural.batches import Examples
from ..neural.config import training_settings
from ..neural.device import chosen_device, clear_memory_errors, seeded, using_threads
from ..neural.inference import rank
from ..neural.network import Network
from ..neural.reader import Reader, Tokens
from ..neural.rebuilding import Rebuilding
from ..neural.training import OnEpoch, TrainingProgress, Validator
from ..predictions import Predictions
from ..ranked import Ranked
from ..strings import Strings
from ..tree import LabelTree
from ..tree.label_clusters import LabelClusters
from .base import Method
from .fine_tuning import TrainingTask, inference_settings, training_log, training_texts, with_validation
from .network_config import ClusterConfig, LabelNetworkConfig

if TYPE_CHECKING:
    from ..neural.encoder_ranker import EncoderRanker

Terms = tuple[TextFeatures, sparse.csr_matrix]
"""The features of texts, and those of the training texts."""


class NeuralMethod(Method):
    """A network that ranks the labels with training examples.

    Parts: a ``reader`` of texts, the ``network``, and depending on the class of its settings ``clusters`` of
    the labels and a ``ranker`` that ranks labels together with the network.
    """

    same_on_any_threads = False  # torch sums in another order
    trains_in_epochs = True
    weighs_examples = True
    config: LabelNetworkConfig
    reader: Reader | None = None
    clusters: LabelClusters | None = None
    network: Network | None = None
    ranker: EncoderRanker | None = None
    used: npt.NDArray[np.int64]
    """Ids of the labels that the network scores."""

    words = renamed_attribute("words", "reader.words")
    tokenizer = renamed_attribute("tokenizer", "reader.tokenizer")
    rankers = renamed_attribute("rankers", "ranker")
    parents = renamed_attribute("parents", "clusters.parents")

    # -- what a method's file fills in -----------------------------------------------------------------------

    @abstractmethod
    def _build(self, labels: int, *, trained: bool) -> Network:
        """A network with initial weights; ``trained``: they are about to be replaced."""

    def _cluster_sizes(self, labels: int) -> tuple[int, ...]:
        """Clusters per level above the labels, from the top; empty: no clusters."""
        return ()

    def _initialise(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        """Initialises weights before training: by default biases with the label frequencies."""
        assert self.network is not None
        if self.config.head_from_frequencies and self.network.label_head is not None:
            clusters = self.clusters or LabelClusters.flat(Y.shape[1])
            self.network.label_head.start(clusters.counts(Y), Y.shape[0])

    def _run_training(self, task: TrainingTask, tokens: Tokens, Y: sparse.csr_matrix) -> TrainingProgress:
        """Trains the network on ``tokens`` and labels ``Y``; some methods train it in several steps."""
        return task.run()

    # -- training --------------------------------------------------------------------------------------------

    def _fit(
        self,
        dataset: Dataset,
        *,
        tree: LabelTree | None = None,
        validation: Dataset | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        """``tree``: your own label clusters; ``validation``: labelled texts that decide which epoch is best.

        ``on_epoch`` is called with the log entry of every epoch; it may raise to end the training.
        """
        config, threads = self.config, self.threads
        dataset, validation = with_validation(dataset, validation, config, self.name)
        device = chosen_device(config.device)
        texts = training_texts(dataset, self.name)
        assert dataset.Y is not None
        self.labels = dataset.labels
        self.used = np.flatnonzero(dataset.label_counts)
        Y = sparse.csr_matrix(dataset.Y[:, self.used], dtype=np.float32)

        self.reader = config.new_reader(texts, threads=threads)
        tokens = self.reader.tokens(texts, threads=threads)
        terms = self._ranker_terms(dataset)
        if tree is None:
            self.clusters = self._cluster(dataset, Y, terms)
        else:
            self.clusters = LabelClusters.of_tree(tree.of_training(dataset))

        with using_threads(threads), clear_memory_errors(), seeded(config.seed, device):
            self.network = self._build(len(self.used), trained=False)
            checkpoint = self._checkpoint_name(dataset, validation, tokens, Y)
            real = dataset[dataset.example_rows()]
            if config.label_weights == "propensity":
                self._weigh_labels(real)
            examples = Examples(tokens, Y, width=self.network.fixed_width, weights=dataset.weights)
            self._initialise(dataset, examples, Y, device)
            task = TrainingTask(
                self.network,
                examples,
                config,
                device,
                title=f"Training {self.name}{_about_width(self.network.fixed_width)}",
                checkpoint=checkpoint,
                seed=config.seed,
                validator=None if validation is None else self._validator(validation, real),
                on_epoch=on_epoch,
            )
            progress = self._run_training(task, tokens, Y)
            self.ranker = self._fit_ranker(examples, Y, terms, device)
        self.training_log = training_log(progress, self.network.counts(), device, config)

    def _ranker_terms(self, dataset: Dataset) -> Terms | None:
        """Features for the joined ranker, if there is one: those of the data, or TF-IDF.

        Computed before the network is trained, so that errors in the texts show up first.
        """
        options = self.config.ranker
        if options is None:
            return None
        return TextFeatures.fit(dataset, options.config.tfidf, unit_rows=True, threads=self.threads)

    def _cluster(self, dataset: Dataset, Y: sparse.csr_matrix, terms: Terms | None) -> LabelClusters | None:
        """The label clusters; reuses the ranker's features where its settings are the same."""
        config = self.config
        if not isinstance(config, ClusterConfig):
            return None
        sizes = self._cluster_sizes(Y.shape[1])
        if not sizes:
            return LabelClusters.flat(Y.shape[1])
        if terms is None or config.ranker is None or config.ranker.config.tfidf != config.tfidf:
            terms = TextFeatures.fit(dataset, config.tfidf, unit_rows=True, threads=self.threads)
        features, X = terms
        of_labels: sparse.csr_matrix | None = None
        if config.tree.needs_label_texts:
            of_labels = features.of_labels(dataset, self.used, threads=self.threads)
        return LabelClusters.fit(
            X,
            Y,
            sizes,
            config.tree,
            text_vectors=of_labels,
            weights=dataset.weights,
            seed=config.seed,
            threads=self.threads,
        )

    def _checkpoint_name(
        self, dataset: Dataset, validation: Dataset | None, tokens: Tokens, Y: sparse.csr_matrix
    ) -> str | None:
        """The name of this training's checkpoints, a hash of all they depend on; None: none are kept."""
        if checkpoints.folder() is None:
            return None
        assert self.network is not None
        # Initial weights may come from files, whose contents the settings do not show.
        first = digest_of(*map(to_array, self.network.state_dict().values()))
        return checkpoints.name_of(
            "network",
            *tokens,
            Y.indptr,
            Y.indices,
            Y.data,
            dataset.weights,
            *({} if self.clusters is None else self.clusters.state()).values(),
            first,
            *string_arrays(dataset.label_texts),
            training_settings(self.config),
            None if validation is None else data_digest(validation),
        )

    def _weigh_labels(self, dataset: Dataset) -> None:
        assert self.network is not None
        weights = inverse_propensity(dataset.label_counts[self.used], len(dataset))
        head = self.network.label_head
        if head is None:
            raise ConfigError(f"{self.name} weights all labels equally: leave out label_weights")
        head.of_labels.label_weights = torch.from_numpy((weights / weights.mean()).astype(np.float32))

    def _validator(self, validation: Dataset, train: Dataset) -> Validator:
        name, k = parse_metric(self.config.training.metric)
        ks = tuple(sorted({1, 3, 5, k}))
        metrics = tuple(dict.fromkeys(("P", "nDCG", name)))
        assert validation.texts is not None
        examples = self._examples(validation.texts)
        depth = validation.depth_for(max(ks), self.known_labels)

        def validate() -> Metrics:
            ranked = self._rank_by_network(examples, depth)
            predictions = Predictions(*ranked, self.known_labels, validation.ids)
            return evaluate(predictions, validation, train=train, ks=ks, metrics=metrics)

        return validate

    def _fit_ranker(
        self, examples: Examples, Y: sparse.csr_matrix, terms: Terms | None, device: torch.device
    ) -> EncoderRanker | None:
        """The joined ranker on the vectors of the trained network."""
        config, network = self.config, self.network
        if config.ranker is None or terms is None:
            return None
        from ..neural.encoder_network import HeadedEncoder
        from ..neural.encoder_ranker import EncoderRanker

        assert isinstance(network, HeadedEncoder)
        return EncoderRanker.fit(
            network,
            examples,
            terms,
            Y,
            config.ranker,
            inference_settings(config, device),
            seed=config.seed,
            threads=self.threads,
        )

    # -- prediction ------------------------------------------------------------------------------------------

    @property
    def takes_texts(self) -> bool:
        return True

    @property
    def needs_features(self) -> bool:
        return self.ranker is not None and not self.ranker.ranker.features.of_texts

    @classmethod
    def fit_options(cls) -> list[str]:
        clustered = issubclass(cls.config_class, ClusterConfig)
        return [name for name in super().fit_options() if clustered or name != "tree"]

    @property
    def network_alone(self) -> bool:
        """Whether only the network ranks labels, so that the metrics of its best epoch are the model's."""
        return self.ranker is None

    @property
    def tree(self) -> LabelTree | None:
        """The label tree of a network with clusters."""
        self.check_trained()
        return None if self.clusters is None else self.clusters.tree(self.used)

    def _examples(self, texts: Strings) -> Examples:
        assert self.network is not None and self.reader is not None
        return Examples(self.reader.tokens(texts, threads=self.threads), width=self.network.fixed_width)

    def _rank(self, dataset: Dataset, k: int) -> Ranked:
        assert dataset.texts is not None and self.network is not None
        with using_threads(self.threads), clear_memory_errors():
            examples = self._examples(dataset.texts)
            if self.ranker is None:
                return self._rank_by_network(examples, k, int8=self.config.int8)
            device = chosen_device(self.config.device)
            ranked = self.ranker.rank(
                self.network,  # type: ignore[arg-type]  # one with a ranker is a HeadedEncoder
                dataset,
                examples,
                k,
                inference_settings(self.config, device, int8=self.config.int8),
                labels=len(self.used),
                threads=self.threads,
            )
        return self._with_label_ids(ranked)

    def _rank_by_network(self, examples: Examples, k: int, *, int8: bool = False) -> Ranked:
        assert self.network is not None
        inference = inference_settings(self.config, chosen_device(self.config.device), int8=int8)
        with using_threads(self.threads), clear_memory_errors():
            ranked = rank(self.network, examples, min(k, len(self.used)), inference)
        return self._with_label_ids(ranked)

    def _with_label_ids(self, ranked: Ranked) -> Ranked:
        """The network's label numbers as label ids: it knows only labels with examples."""
        return ranked._replace(labels=self.used[ranked.labels].astype(np.int32))

    # -- the model folder ------------------------------------------------------------------------------------

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.network is not None and self.reader is not None
        arrays = {"used": self.used} | self.reader.state()
        if self.clusters is not None:
            arrays |= self.clusters.state()
        weights = {name: to_array(value) for name, value in self.network.state_dict().items()}
        arrays |= with_prefix("network", weights)
        return arrays if self.ranker is None else arrays | with_prefix("rankers", self.ranker.state())

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config = self.config
        used = Numbers(np.int64, filled=True, rising=True, least=0, most=len(self.known_labels) - 1)
        self.used = checked(arrays, {"used": used})["used"]
        self.reader = config.stored_reader(arrays)
        if isinstance(config, ClusterConfig):
            self.clusters = LabelClusters.from_state(arrays, len(self.used))
        with restoring(arrays, "the network cannot be built"), Rebuilding(arrays):
            self.network = self._build(len(self.used), trained=True)
        load_weights(self.network, under_prefix("network", arrays))
        if config.ranker is not None:
            from ..neural.encoder_ranker import EncoderRanker

            self.ranker = EncoderRanker.from_state(
                under_prefix("rankers", arrays),
                config.ranker,
                self.network,  # type: ignore[arg-type]  # an encoder's network is a HeadedEncoder
                labels=len(self.used),
            )


def _about_width(width: int | None) -> str:
    return "" if width is None else f", every text padded or truncated to {width} words"
