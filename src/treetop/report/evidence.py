"""`Evidence`: the predictions of one or more models, the truth, and every metric that a report shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..data import Dataset
from ..errors import ConfigError, DataError
from ..metrics import DEFAULT_PROPENSITY, DocumentScores, Interval, document_scores, evaluate, score_intervals
from ..metrics.documents import check_ks, mean_scores
from ..predictions import Predictions
from ..strings import Strings
from ..units import counted
from .defaults import SAMPLES

if TYPE_CHECKING:
    from ..methods import Method


@dataclass(frozen=True)
class Cost:
    """Time and memory; None if unknown."""

    train_seconds: float | None = None
    train_peak_bytes: int | None = None
    """Peak memory of the training process."""
    load_seconds: float | None = None
    batch_milliseconds: float | None = None
    """Milliseconds per text, all texts in one call."""
    single_milliseconds: float | None = None
    """Milliseconds for a text on its own: the median."""
    single_milliseconds_p95: float | None = None
    """Milliseconds for a text on its own: the 95th percentile."""
    memory_bytes: int | None = None
    """Peak memory added by loading and predicting."""
    stored_bytes: int | None = None
    """Size of the stored model."""
    parameters: int | None = None
    """Number of a network's parameters."""


@dataclass(frozen=True, eq=False)
class ReportedModel:
    """A model of a report: a trained model, a file of predictions, or a variant of a comparison."""

    name: str
    runs: tuple[Predictions, ...]
    """Predictions for the test texts, one per seed; one for a single model."""
    cost: Cost = Cost()
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Method, settings and training data, for display."""
    model: Method | None = None
    """The trained model, for explanations and the label tree."""
    scored: bool = True
    """Whether the predictions have scores, or only an order."""


@dataclass(frozen=True)
class TrainingCounts:
    """Number of training texts of each label."""

    source: str
    """The model or data set the counts come from."""
    labels: Strings
    counts: npt.NDArray[np.int64]
    texts: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """Models and truth over one label vocabulary, with the metrics that several sections need."""

    models: tuple[ReportedModel, ...]
    truth: Dataset
    ks: tuple[int, ...]
    propensity: tuple[float, float]
    train_counts: npt.NDArray[np.int64] | None
    """Number of training texts of each label of the vocabulary."""
    n_train: int | None
    label_texts: Mapping[str, str]
    """Readable names of labels, if any."""
    samples: int = SAMPLES
    notes: tuple[str, ...] = ()
    """Sentences that a reader of the metrics has to know."""

    @classmethod
    def of(
        cls,
        models: Sequence[ReportedModel],
        truth: Dataset,
        *,
        ks: Sequence[int] = (1, 3, 5),
        propensity: tuple[float, float] = DEFAULT_PROPENSITY,
        training: TrainingCounts | None = None,
        label_texts: Mapping[str, str] | None = None,
        samples: int = SAMPLES,
        notes: Sequence[str] = (),
    ) -> Evidence:
        """Puts all models onto one vocabulary: labels with training counts first, those of the truth last."""
        if not models:
            raise ConfigError("a report needs at least one model")
        check_truth(truth)
        check_ks(ks)
        labels = models[0].runs[0].labels if training is None else training.labels
        aligned = []
        for reported in models:
            runs = []
            for run in reported.runs:
                runs.append(run.aligned_to(labels))
                labels = runs[-1].labels
            aligned.append(runs)
        truth = truth.aligned_to(labels)
        counts = None
        if training is not None:
            counts = np.zeros(len(truth.labels), np.int64)
            counts[: len(training.labels)] = training.counts
        whole = tuple(
            dataclasses.replace(
                reported, runs=tuple(dataclasses.replace(run, labels=truth.labels) for run in runs)
            )
            for reported, runs in zip(models, aligned, strict=True)
        )
        names = dict(label_texts or {})
        if truth.label_texts is not None:
            names = dict(zip(truth.labels, truth.label_texts, strict=True)) | names
        n_train = None if training is None else training.texts
        wanted = tuple(sorted(set(ks)))
        if truth.excluded_pairs:
            pairs = counted(truth.excluded_pairs, "pair")
            notes = [*notes, f"{pairs} of a text and a label left out of the evaluation."]
        return cls(whole, truth, wanted, propensity, counts, n_train, names, samples, tuple(notes))

    @property
    def names(self) -> list[str]:
        """The names of the models."""
        return [reported.name for reported in self.models]

    @property
    def depth(self) -> int:
        """The largest k."""
        return self.ks[-1]

    @property
    def main_metric(self) -> str:
        """The metric that ranks the models."""
        return f"P@{self.ks[0]}"

    @property
    def key_metrics(self) -> list[str]:
        """The few metrics to compare models by: the first P@k, and nDCG@k and PSP@k at the largest k."""
        names = [self.main_metric, f"nDCG@{self.depth}"]
        return names if self.train_counts is None else [*names, f"PSP@{self.depth}"]

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options of `treetop.evaluate` and its relatives."""
        counts = {"train_counts": self.train_counts, "n_train": self.n_train}
        return {"ks": self.ks, "propensity": self.propensity} | ({} if self.train_counts is None else counts)

    @cached_property
    def scores(self) -> list[dict[str, DocumentScores]]:
        """For each model, the scores of each text, averaged over its runs."""
        return [
            mean_scores([document_scores(run, self.truth, **self.options) for run in reported.runs])
            for reported in self.models
        ]

    @cached_property
    def metrics(self) -> list[dict[str, list[float]]]:
        """For each model, each metric of each run, in percent."""
        found: list[dict[str, list[float]]] = []
        for reported in self.models:
            runs = [evaluate(run, self.truth, **self.options) for run in reported.runs]
            shown = [name for name in runs[0] if reported.scored or not name.startswith("ECE")]
            found.append({name: [run[name] for run in runs] for name in shown})
        return found

    @cached_property
    def intervals(self) -> list[dict[str, Interval]]:
        """For each model, 95 % bootstrap intervals of all metrics that are sums over texts."""
        return [score_intervals(scores, samples=self.samples) for scores in self.scores]

    @property
    def first_seed_note(self) -> str:
        """A sentence for sections that show single predictions."""
        several = any(len(reported.runs) > 1 for reported in self.models)
        return " Predictions are those of the first seed." if several else ""

    @property
    def best(self) -> int:
        """Index of the model with the highest main metric."""
        values = [scores[self.main_metric].value for scores in self.scores]
        return int(np.argmax(values))

    def label_name(self, label: int) -> str:
        """The label with this id, as shown to readers."""
        return self.readable(self.truth.labels[label])

    def readable(self, name: str) -> str:
        """A label with its readable name, if any: ``readable name (label)``."""
        text = self.label_texts.get(name, name)
        return name if text == name else f"{text} ({name})"


def check_truth(truth: Dataset) -> None:
    """Rejects test data that cannot be evaluated on."""
    if not len(truth):
        raise DataError(f"{truth.source}: no texts to evaluate on; give a labelled test set")
    if truth.Y is None or not truth.Y.nnz:
        raise DataError(f"{truth.source}: no labels to evaluate against; give a labelled test set")
