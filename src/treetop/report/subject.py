"""`Subject`: one model of a report, what it answered and what it cost; `Evidence`: several, and the truth."""

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
from ..predictions import Predictions
from ..strings import Strings
from .defaults import SAMPLES

if TYPE_CHECKING:
    from ..methods import Method


@dataclass(frozen=True)
class Cost:
    """Time and memory; None where it is not known."""

    train_seconds: float | None = None
    train_peak: int | None = None
    """Bytes of the whole process."""
    load_seconds: float | None = None
    many: float | None = None
    """Milliseconds a text, all asked at once."""
    one: float | None = None
    """Milliseconds of one text asked alone: the median."""
    slow: float | None = None
    """The same, 95th percentile."""
    added: int | None = None
    """Bytes that loading and answering added to the process at most."""
    size: int | None = None
    """Bytes of the model."""
    parameters: int | None = None
    """Of a network."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, a file of predictions, or a variant of a comparison."""

    name: str
    runs: tuple[Predictions, ...]
    """Of every seed; of a single model, one."""
    cost: Cost = Cost()
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What it is: method, settings, training data."""
    model: Method | None = None
    """For explanations and the label tree."""
    scored: bool = True
    """Whether scores are there; else only the order of labels counts."""


@dataclass(frozen=True)
class Known:
    """Training texts of each label."""

    source: str
    """Whose they are."""
    labels: Strings
    counts: npt.NDArray[np.int64]
    texts: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """Subjects and truth over one vocabulary, and every figure that several sections need."""

    subjects: tuple[Subject, ...]
    truth: Dataset
    ks: tuple[int, ...]
    propensity: tuple[float, float]
    counts: npt.NDArray[np.int64] | None
    """Training texts of each label of the vocabulary."""
    trained_on: int | None
    label_texts: Mapping[str, str]
    """Readable names of labels, where there are any."""
    samples: int = SAMPLES
    notes: tuple[str, ...] = ()
    """Sentences that a reader of the figures has to know."""

    @classmethod
    def of(
        cls,
        subjects: Sequence[Subject],
        truth: Dataset,
        *,
        ks: Sequence[int] = (1, 3, 5),
        propensity: tuple[float, float] = DEFAULT_PROPENSITY,
        known: Known | None = None,
        label_texts: Mapping[str, str] | None = None,
        samples: int = SAMPLES,
        notes: Sequence[str] = (),
    ) -> Evidence:
        """Brings all onto one vocabulary: the labels with training counts first, those of the truth last."""
        if not subjects:
            raise ConfigError("a report needs at least one model")
        check_truth(truth)
        if not ks or min(ks) < 1:
            raise ConfigError(f"ks must be one or more numbers of at least 1, not {tuple(ks)!r}")
        labels = subjects[0].runs[0].labels if known is None else known.labels
        aligned = []
        for subject in subjects:
            runs = []
            for run in subject.runs:
                runs.append(run.aligned_to(labels))
                labels = runs[-1].labels
            aligned.append(runs)
        truth = truth.aligned_to(labels)
        counts = None
        if known is not None:
            counts = np.zeros(len(truth.labels), np.int64)
            counts[: len(known.labels)] = known.counts
        whole = tuple(
            dataclasses.replace(
                subject, runs=tuple(dataclasses.replace(run, labels=truth.labels) for run in runs)
            )
            for subject, runs in zip(subjects, aligned, strict=True)
        )
        names = dict(label_texts or {})
        if truth.label_texts is not None:
            names = dict(zip(truth.labels, truth.label_texts, strict=True)) | names
        trained_on = None if known is None else known.texts
        wanted = tuple(sorted(set(ks)))
        return cls(whole, truth, wanted, propensity, counts, trained_on, names, samples, tuple(notes))

    @property
    def depth(self) -> int:
        """The largest k."""
        return self.ks[-1]

    @property
    def leading(self) -> str:
        """What models are ranked by."""
        return f"P@{self.ks[0]}"

    @property
    def known(self) -> dict[str, Any]:
        """The training counts, as the functions of `metrics` want them."""
        return {} if self.counts is None else {"train_counts": self.counts, "n_train": self.trained_on}

    @cached_property
    def options(self) -> dict[str, Any]:
        return {"ks": self.ks, "propensity": self.propensity, **self.known}

    @cached_property
    def scores(self) -> list[dict[str, DocumentScores]]:
        """Of every subject: the scores of each text, averaged over its runs.

        Denominators do not depend on the answers, so these give the mean of the runs' figures.
        """
        return [_mean_scores(subject, self.truth, self.options) for subject in self.subjects]

    @cached_property
    def metrics(self) -> list[dict[str, list[float]]]:
        """Of every subject: each metric of each run, in percent."""
        found: list[dict[str, list[float]]] = []
        for subject in self.subjects:
            of_runs = [evaluate(run, self.truth, **self.options) for run in subject.runs]
            shown = [name for name in of_runs[0] if subject.scored or not name.startswith("ECE")]
            found.append({name: [run[name] for run in of_runs] for name in shown})
        return found

    @cached_property
    def intervals(self) -> list[dict[str, Interval]]:
        """Of every subject: 95 % bootstrap intervals over the texts, of all metrics that have them."""
        return [score_intervals(scores, samples=self.samples) for scores in self.scores]

    @property
    def of_first_seed(self) -> str:
        """What a section says that shows single answers."""
        several = any(len(subject.runs) > 1 for subject in self.subjects)
        return " Answers are those of the first seed." if several else ""

    @property
    def best(self) -> int:
        """The subject with the highest leading metric."""
        values = [scores[self.leading].value for scores in self.scores]
        return int(np.argmax(values))

    def shown(self, label: int) -> str:
        """A label as people read it."""
        return self.named(self.truth.labels[label])

    def named(self, name: str) -> str:
        """Its readable name before it, where there is one."""
        text = self.label_texts.get(name, name)
        return name if text == name else f"{text} ({name})"


def check_truth(truth: Dataset) -> None:
    """Refuses what nothing can be measured on."""
    if not len(truth):
        raise DataError(f"{truth.source}: there are no texts to measure on")
    if truth.Y is None or not truth.Y.nnz:
        raise DataError(f"{truth.source}: there are no labels to evaluate against")


def _mean_scores(subject: Subject, truth: Dataset, options: Mapping[str, Any]) -> dict[str, DocumentScores]:
    of_runs = [document_scores(run, truth, **options) for run in subject.runs]
    return {
        name: DocumentScores(
            np.mean([scores[name].numerator for scores in of_runs], axis=0), first.denominator
        )
        for name, first in of_runs[0].items()
    }
