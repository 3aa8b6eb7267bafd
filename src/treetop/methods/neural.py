"""What every network does the same way: hold out, train, rank, save.

A network's own file says how texts become tokens and what the network looks like.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from .. import checkpoints
from ..arrays import under_prefix, with_prefix
from ..config import part, setting
from ..data import Dataset
from ..data.digest import data_digest, string_arrays
from ..digests import digest_of
from ..errors import ConfigError, DataError, ModelError
from ..features import Tfidf, TfidfConfig
from ..metrics import Metrics, evaluate, inverse_propensity, parse_metric
from ..neural.arrays import load_weights, to_array
from ..neural.batches import Examples
from ..neural.config import TrainingConfig, training_settings
from ..neural.device import chosen_device, chosen_precision, memory_told, seeded, using_threads
from ..neural.heads import Head
from ..neural.network import Network
from ..neural.ranking import Pass, rank
from ..neural.resuming import TrainingStates
from ..neural.training import Course, Judge, OnEpoch, Training
from ..predictions import Predictions
from ..ranked import Ranked
from ..strings import Strings
from .base import Method, MethodConfig
from .held_out import held_out_rows

Tokens = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]


@dataclass(frozen=True)
class NeuralConfig(MethodConfig):
    """Settings of every network."""

    epochs: int = setting(20, "how often the network sees all examples", at_least=1)
    batch_size: int = setting(64, "texts in one step", at_least=1)
    max_length: int = setting(500, "words or tokens of a text that are read", at_least=1)
    device: str = setting("auto", "cuda, cuda:1, mps or cpu; auto takes the first there is")
    label_weights: str = setting(
        "equal",
        "weight of a label in the loss: all equal, or more for rare ones (propensity)",
        choices=("equal", "propensity"),
    )
    training: TrainingConfig = part(TrainingConfig(), "the training loop")


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a network is taught with."""

    tokens: Tokens
    Y: sparse.csr_matrix
    examples: Examples
    """Of these tokens and labels, perhaps with shortlists."""
    device: torch.device
    name: str | None
    """Under which states of the training are kept."""
    judge: Judge | None
    on_epoch: OnEpoch | None
    which: Mapping[str, int] = field(default_factory=dict)
    """Of several lessons: the level or the stage, for the log."""


class NeuralMethod(Method):
    """A network that ranks the labels which have training examples."""

    same_on_any_threads = False  # torch adds in another order
    config: NeuralConfig
    network: Network | None = None
    used: npt.NDArray[np.int64]
    """The labels the network scores, by their place among all labels."""
    course: dict[str, Any]
    """What happened in training."""

    @property
    def takes_texts(self) -> bool:
        return True

    @property
    def network_alone(self) -> bool:
        """Whether nothing but the network ranks labels: the figures of its best epoch are the model's."""
        return True

    # -- what a network's file fills in ----------------------------------------------------------------------

    @abstractmethod
    def _learn_tokens(self, texts: Strings) -> None:
        """Gets the vocabulary ready."""

    @abstractmethod
    def _tokens(self, texts: Strings) -> Tokens:
        """``indptr, ids`` of the tokens of every text, at most ``max_length`` of each."""

    @abstractmethod
    def _build(self, labels: int, *, trained: bool) -> Network:
        """A network with new weights; ``trained``: they are about to be replaced."""

    @abstractmethod
    def _token_state(self) -> dict[str, npt.NDArray]: ...

    @abstractmethod
    def _restore_tokens(self, arrays: Mapping[str, npt.NDArray]) -> None: ...

    def _prepare(self, dataset: Dataset, Y: sparse.csr_matrix) -> None:
        """What has to be known of the data before the network is built."""

    def _known_terms(self, config: TfidfConfig) -> tuple[Tfidf, sparse.csr_matrix] | None:
        """TF-IDF of the training texts by these settings, where another part of the method has made it."""
        return None

    def _prepared_state(self) -> dict[str, npt.NDArray]:
        """What `_prepare` found, for the store."""
        return {}

    def _restore_prepared(self, arrays: Mapping[str, npt.NDArray]) -> None: ...

    def _initialise(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        """Gives the new network a better start than random weights, where there is one."""

    def _after_training(
        self, dataset: Dataset, examples: Examples, Y: sparse.csr_matrix, device: torch.device
    ) -> None:
        """What else a method learns once its network is trained."""

    # -- the verbs -------------------------------------------------------------------------------------------

    def _fit(  # type: ignore[override]
        self,
        dataset: Dataset,
        *,
        validation: Dataset | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        """``validation``: labelled texts on which the best epoch is found.

        ``on_epoch`` is told after every epoch what the log says of it; it may raise to end the training.
        """
        config = self.config
        if dataset.texts is None:
            raise DataError(f"{dataset.source}: {self.name} learns from texts, and there are none")
        if validation is None and config.training.validation:
            kept, held_out = held_out_rows(dataset, config.training.validation, config.seed, "validation")
            dataset, validation = dataset[kept], dataset[held_out]
        if config.training.patience and validation is None:
            raise DataError("patience needs examples held out: set validation=0.1, or give some")
        device = chosen_device(config.device)
        assert dataset.texts is not None and dataset.Y is not None
        self._learn_tokens(dataset.texts)
        self.labels = dataset.labels
        self.used = np.flatnonzero(dataset.label_counts)
        Y = sparse.csr_matrix(dataset.Y[:, self.used], dtype=np.float32)
        tokens = self._tokens(dataset.texts)
        self._prepare(dataset, Y)
        with using_threads(self.threads), memory_told(), seeded(config.seed, device):
            self.network = self._build(len(self.used), trained=False)
            first = self._first_weights()
            real = dataset[dataset.example_rows()]
            if config.label_weights == "propensity":
                self._weigh_labels(real)
            examples = Examples(tokens, Y, width=self.network.fixed_width)
            self._initialise(dataset, examples, Y, device)
            name = self._state_name(tokens, Y, first, dataset.label_texts, validation)
            judge = None if validation is None else self._judge_of(validation, real)
            course = self._teach(Lesson(tokens, Y, examples, device, name, judge, on_epoch))
            self._after_training(dataset, examples, Y, device)
        self.course = {
            "parameters": self.network.counts(),
            "device": str(device),
            "precision": str(self._pass(device).precision).removeprefix("torch."),
            "seconds": course.seconds,
            "best_epoch": course.best_epoch or course.epoch,
            "epochs": course.entries,
        }

    def _teach(self, lesson: Lesson) -> Course:
        """Trains the network."""
        assert self.network is not None
        width = self.network.fixed_width
        about = "" if width is None else f", every text padded or cut to {width} words"
        return self._train_network(self.network, lesson, about)

    def _train_network(self, network: Network, lesson: Lesson, about: str) -> Course:
        """One training of a network, or of a part of one; ``about`` it for the progress bar."""
        config = self.config
        training = Training(
            network,
            lesson.examples,
            config.training,
            epochs=config.epochs,
            batch_size=config.batch_size,
            seed=config.seed,
            device=lesson.device,
            judge=lesson.judge,
            states=TrainingStates(lesson.name),
            on_epoch=lesson.on_epoch,
            which=lesson.which,
        )
        return training.run(f"Training {self.name}{about}")

    def _first_weights(self) -> str | None:
        """A hash of them, where states are kept: settings only name the files that some of them come from."""
        assert self.network is not None
        if checkpoints.folder() is None:
            return None
        return digest_of(*map(to_array, self.network.state_dict().values()))

    def _state_name(
        self,
        tokens: Tokens,
        Y: sparse.csr_matrix,
        first: str | None,
        label_texts: Strings | None,
        validation: Dataset | None,
    ) -> str | None:
        """Of the states of this training: made from all that they depend on."""
        judged_on = None if validation is None or checkpoints.folder() is None else data_digest(validation)
        return checkpoints.name_of(
            "network",
            *tokens,
            Y.indptr,
            Y.indices,
            Y.data,
            *self._prepared_state().values(),
            first,
            *string_arrays(label_texts),
            training_settings(self.config),
            judged_on,
        )

    def _weigh_labels(self, dataset: Dataset) -> None:
        assert self.network is not None
        weights = inverse_propensity(dataset.label_counts[self.used], len(dataset))
        head = getattr(self.network, "head", None)
        if not isinstance(head, Head):
            raise ConfigError(f"label_weights: {self.name} weighs all labels alike")
        head.of_labels.label_weights = torch.from_numpy((weights / weights.mean()).astype(np.float32))

    def _judge_of(self, validation: Dataset, train: Dataset) -> Judge:
        name, k = parse_metric(self.config.training.metric)
        ks = tuple(sorted({1, 3, 5, k}))
        metrics = tuple(dict.fromkeys(("P", "nDCG", name)))
        examples = self._examples(validation)

        def judge() -> Metrics:
            ranked = self._rank_examples(examples, min(max(ks), len(self.used)))
            predictions = Predictions(*ranked, self._fitted(), validation.ids)
            return evaluate(predictions, validation, train=train, ks=ks, metrics=metrics)

        return judge

    def _examples(self, dataset: Dataset) -> Examples:
        assert self.network is not None and dataset.texts is not None
        return Examples(self._tokens(dataset.texts), width=self.network.fixed_width)

    def _rank(self, dataset: Dataset, k: int) -> Ranked:  # type: ignore[override]
        with using_threads(self.threads), memory_told():
            return self._rank_examples(self._examples(dataset), k)

    def _rank_examples(self, examples: Examples, k: int) -> Ranked:
        assert self.network is not None
        way = self._pass(chosen_device(self.config.device))
        with using_threads(self.threads), memory_told():
            indptr, columns, scores = rank(self.network, examples, min(k, len(self.used)), way)
        return Ranked(indptr, self.used[columns].astype(np.int32), scores)

    def _pass(self, device: torch.device) -> Pass:
        """Larger batches than in training: no gradients are kept."""
        return Pass(
            4 * self.config.batch_size, device, chosen_precision(self.config.training.precision, device)
        )

    def _facts(self) -> dict[str, Any]:
        return {"training": self.course}

    def _state(self) -> dict[str, npt.NDArray]:
        assert self.network is not None
        weights = {name: to_array(value) for name, value in self.network.state_dict().items()}
        found = self._token_state() | self._prepared_state()
        return {"used": self.used} | found | with_prefix("network", weights)

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        self.used = np.array(arrays["used"], np.int64).reshape(-1)
        if not len(self.used) or self.used.min() < 0 or self.used.max() >= len(self._fitted()):
            raise ModelError("the labels that the network scores are not those of the model")
        self._restore_tokens(arrays)
        self._restore_prepared(arrays)
        self.network = self._build(len(self.used), trained=True)
        load_weights(self.network, under_prefix("network", arrays), "network")
        self.course = self.statistics.get("training", {})
