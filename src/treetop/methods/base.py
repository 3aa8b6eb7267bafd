"""`Method`: the base class of all methods, with fit, predict, evaluate, save and load.

These check their input here, once; a method's own ``_fit`` and ``_rank`` only compute.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np
import numpy.typing as npt

from .. import calibration, store
from ..arrays import under_prefix, with_prefix
from ..calibration import Calibration
from ..config import Config, setting
from ..data import Dataset
from ..data.columns import is_frame
from ..data.frame_columns import TextColumns
from ..data.frames import labelled
from ..data.held_out import held_out_rows
from ..deprecation import renamed_attribute
from ..errors import ConfigError, DataError, DataWarning, ModelError, TreetopError, brief
from ..machine import thread_count
from ..model_arrays import RETRAIN, Numbers, check_equal, checked
from ..predictions import Predictions, check_threshold
from ..progress import step
from ..ranked import Ranked
from ..search_space import SearchSpace
from ..strings import Strings
from ..tree.chains import as_tree
from .inputs import Inputs, as_dataset, labelled_set, training_set, weighted_rows
from .options import check_options, keywords, rows_of
from .statistics import checked_statistics

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..explanation import Explanation
    from ..metrics import Metrics
    from ..tree import LabelTree

LABELS_SHOWN = 5
LABELS_ABOVE_THRESHOLD = 100


@dataclass(frozen=True)
class MethodConfig(Config):
    """Settings of every method."""

    threads: int = setting(
        0,
        "number of threads; 0: all cores. Results of networks depend on it in the last bits",
        at_least=0,
        at_most=4096,
    )
    seed: int = setting(0, "random seed; the same seed trains the same model", at_least=0, at_most=2**63 - 1)
    calibration: str = setting(
        "none",
        "calibration of scores into probabilities, fitted on held-out examples before training on all",
        choices=("none", *calibration.KINDS),
    )
    calibration_share: float = setting(
        0.1, "share of the examples held out for calibration", above=0, at_most=0.5
    )
    label_examples: bool = setting(
        False,
        "use the labels' own texts (--label-texts, else their names), or their features where the examples "
        "have features, as training examples too",
    )


class Method(ABC):
    """A classifier that ranks labels for texts or feature vectors."""

    name: ClassVar[str]
    config_class: ClassVar[type[MethodConfig]]
    same_on_any_threads: ClassVar[bool] = True
    """Whether a model is the same for any number of threads, bit for bit."""
    trains_in_epochs: ClassVar[bool] = False
    """Whether training runs in epochs, after which a callback (``on_epoch``) is called."""
    scores_are_probabilities: ClassVar[bool] = False
    """Whether scores are probabilities without a calibration."""
    weighs_examples: ClassVar[bool] = False
    """Whether training can weigh examples."""
    how_to_use_relevance: ClassVar[str] = "choose a linear method, such as xr-linear"
    """What to change where `uses_relevance` is False."""
    search_space: ClassVar[SearchSpace] = {}
    """Settings and values that `treetop.tune` tries."""

    def __init__(self, config: MethodConfig | None = None, **settings: Any) -> None:
        self.config = (config or self.config_class()).replace_settings(settings)
        self.labels: Strings | None = None
        self.label_texts: Strings | None = None
        self.label_counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """Number of training examples of each label; 1 of those that it predicts, where that is unknown."""
        self.statistics: dict[str, Any] = {}
        """Statistics of the training data, kept in the model folder."""
        self.training_log: dict[str, Any] = {}
        """Losses and metrics of a network's training; empty for other methods."""
        self.calibration: Calibration | None = None
        """Turns scores into probabilities; None: scores only rank."""

    # -- the five verbs --------------------------------------------------------------------------------------

    def fit(
        self,
        data: Dataset | Inputs,
        labels: Iterable[Iterable[str]] | Any = None,
        *,
        text: TextColumns | None = None,
        relevance: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        **extra: Any,
    ) -> Self:
        """Trains on a `Dataset`, on texts and their labels, or on a feature matrix and a label matrix.

        ``text`` and ``labels`` name the columns of a pandas or polars frame, by default "text" and "labels".

        ``relevance``, a matrix with the entries of the label matrix, multiplies the cost of each label of
        each example (linear methods, see ``linear.costs``); ``sample_weight``, a number per example, the cost
        of everything in it. An example with the weight 0 is left out.
        """
        check_options(extra, self.fit_options(), f"the training of {self.name}")
        dataset = training_set(data, labels, text).with_weights(relevance=relevance, weights=sample_weight)
        self._check_weights(dataset, given=relevance is not None)
        if (rows := weighted_rows(dataset)) is not None:
            dataset, extra = dataset[rows], rows_of(extra, rows, len(dataset))
        if extra.get("tree") is not None:
            extra["tree"] = as_tree(extra["tree"], len(dataset.labels))
        fitted = None if self.config.calibration == "none" else self._calibrated_on_a_part(dataset, extra)
        self._train(dataset, extra)
        if fitted is not None:
            self.calibration, described = fitted
            self.statistics |= {"calibration": described}
        return self

    def predict(
        self,
        inputs: Inputs,
        k: int | None = None,
        *,
        threshold: float | None = None,
        text: TextColumns | None = None,
        **options: Any,
    ) -> Predictions:
        """The ``k`` best labels of every input, best first; with ``threshold``, only those strictly above it.

        ``text``: the text columns of a pandas or polars frame, by default "text".

        Without ``k``: five, or up to a hundred with a threshold; at most all labels. Scores of a calibrated
        model are probabilities: ``threshold=0.5`` keeps labels that are more likely right than wrong.
        Excluded pairs of a `Dataset` are not predicted.
        """
        known = self.known_labels
        if options:  # one text takes microseconds, so signatures are inspected only if needed
            check_options(options, keywords(self._rank), f"a prediction of {self.name}")
        if threshold is not None:
            check_threshold(threshold)
        if k is None:
            k = min(LABELS_SHOWN if threshold is None else LABELS_ABOVE_THRESHOLD, len(known))
        if not isinstance(k, (int, np.integer)):
            raise DataError(f"k must be a whole number, not {k!r}")
        if k < 1:
            raise DataError(f"k must be at least 1, not {k}")
        if k > len(known):
            raise DataError(f"k is {k} but the model knows only {len(known):,} labels: lower k")
        dataset = self.input_set(inputs, text)
        pairs = dataset.excluded_among(known)
        depth = int(k) if pairs is None else dataset.depth_for(int(k), known)
        predictions = self._score(dataset, depth, self.calibration, **options)
        if pairs is not None:
            predictions = predictions.without(pairs).top(int(k))
        return predictions if threshold is None else predictions.above(threshold)

    def evaluate(
        self,
        data: Dataset | Inputs,
        labels: Iterable[Iterable[str]] | Any = None,
        *,
        text: TextColumns | None = None,
        ks: Sequence[int] = (1, 3, 5),
        **options: Any,
    ) -> Metrics:
        """P@k, nDCG@k, PSP@k, … in percent, on labelled data; labels unknown to the model count as missed.

        Data, labels and ``text`` are as in `fit`.
        """
        from ..metrics import Options, evaluate

        known = self.known_labels
        given_here = {"train", "train_counts", "n_train", "ks"}
        check_options(
            options, [name for name in Options.__annotations__ if name not in given_here], "an evaluation"
        )
        if not ks:
            raise DataError("evaluate needs at least one k: pass ks=(1, 3, 5)")
        dataset = labelled_set(data, labels, text)
        predictions = self.predict(dataset, k=min(max(ks), len(known)))
        return evaluate(
            predictions,
            dataset,
            ks=tuple(ks),
            **self.training_counts,
            **options,
        )

    def calibrate(
        self,
        data: Dataset | Any,
        kind: str = "isotonic",
        *,
        text: TextColumns | None = None,
        labels: str | None = None,
    ) -> Self:
        """Calibrates the scores of a fitted model to probabilities, on labelled data it was not trained on.

        ``kind`` is ``"isotonic"`` or ``"platt"`` (see `treetop.calibration`). The ranking stays the same.
        ``text`` and ``labels`` name the columns of a frame.
        """
        from ..metrics.matching import match_truth

        known = self.known_labels
        map_class = calibration.kind_named(kind)
        data = labelled(data, "calibrate needs", text=text, labels=labels)
        dataset = self.input_set(data)
        with step("Calibrating"):
            raw = self._score(dataset, min(calibration.CALIBRATED_LABELS, len(known)), None)
            judged = match_truth(raw, dataset, calibration.CALIBRATED_LABELS)
            if not judged.best_hits.any():
                raise DataError(
                    f"{data.source}: no predicted label is correct, so the scores cannot be calibrated:"
                    " add examples"
                )
            self.calibration = map_class.fit(judged.best.scores, judged.best_hits)
        described = {"kind": kind, "examples": len(data), "source": data.source}
        self.statistics = self.statistics | {"calibration": described}  # copies of the model keep theirs
        return self

    def explain(self, text: Inputs, label: str, **options: Any) -> Explanation:
        """Why ``label`` gets its score for one text, or one row of features: see `treetop.explanation`."""
        known = self.known_labels
        check_options(options, keywords(self._explain), f"an explanation of {self.name}")
        dataset = self.input_set(text)
        if len(dataset) != 1:
            raise DataError(f"{dataset.source}: explain takes one text at a time, not {len(dataset):,}")
        position = known.position(label)
        if position < 0:
            raise DataError(f"the model has no label {label!r}")
        if self.label_counts[position] == 0:
            raise DataError(f"the label {label!r} had no training example, so the model never predicts it")
        explanation = self._explain(dataset, position, **options)
        if self.calibration is None:
            return explanation
        probability = float(self.calibration(np.array([explanation.score], np.float32))[0])
        return dataclasses.replace(explanation, probability=probability)

    def update(
        self,
        new: Dataset | Any,
        old: Dataset | Any = None,
        *,
        text: TextColumns | None = None,
        labels: str | None = None,
        **options: Any,
    ) -> Self:
        """Adds examples, with known or new labels, to a fitted model without retraining it from scratch.

        ``old``: the training examples, unless the model keeps them itself (``keep_data``). Words outside the
        vocabulary stay unknown, and the calibration does not change. ``text`` and ``labels`` name the columns
        of frames.
        """
        known = self.known_labels
        if not self.can_update:
            self._update(new, old)  # raises the error before any other check
        if not self.training_counts:
            raise ModelError(
                "the training examples of this model are unknown, so it cannot be updated: import it again"
                " with its training data (treetop import --train FILE)"
            )
        if self.config.label_examples:
            raise ModelError("a model with label_examples cannot be updated: retrain it on all examples")
        if self.statistics.get("weighted", False):
            raise ModelError(
                "a model trained with weights or relevances cannot be updated: retrain it on all examples"
            )
        check_options(options, keywords(self._update), f"an update of {self.name}")
        new = labelled(new, "an update takes", text=text, labels=labels)
        if old is not None:
            text, labels = (text, labels) if is_frame(old) else (None, None)
            old = labelled(old, "the old examples of an update are", text=text, labels=labels)
        added = dataclasses.replace(
            self.input_set(training_set(new, None)).aligned_to(known), label_texts=self._texts_with(new)
        )
        if added.weights is not None or (added.relevance is not None and self.uses_relevance):
            raise DataError(
                f"{new.source}: an update cannot weigh examples or labels: leave out the weights and"
                " relevances, or retrain the model on all examples"
            )
        if old is not None:
            old = self._checked_old(old)
        self._update(added, old, **options)
        self.labels, self.label_texts = added.labels, added.label_texts
        counts = added.label_counts
        counts[: len(known)] += self.label_counts
        self.label_counts = counts
        examples = self.statistics["examples"] + len(added)
        before = self.statistics.get("updates", {"times": 0, "examples": 0, "labels": 0})
        self.statistics = self.statistics | {
            "examples": examples,
            "labels": len(added.labels),
            "labels_used": int((counts > 0).sum()),
            "labels_per_example": round(int(counts.sum()) / examples, 3),
            "updates": {
                "times": before["times"] + 1,
                "examples": before["examples"] + len(added),
                "labels": before["labels"] + len(added.labels) - len(known),
            },
        }
        return self

    @classmethod
    def fit_options(cls) -> list[str]:
        """Names of the options that `fit` takes in addition to the data."""
        return keywords(cls._fit)

    @property
    def known_labels(self) -> Strings:
        """The labels of a trained model; raises an error for an untrained one."""
        self.check_trained()
        assert self.labels is not None
        return self.labels

    def check_trained(self) -> None:
        """Raises an error if the model is not trained yet."""
        if self.labels is None:
            raise ModelError(f"this {self.name} model is not trained yet: call fit first")

    @property
    def training_counts(self) -> dict[str, Any]:
        """What propensity-scored metrics need of the training data; nothing where that is unknown."""
        examples = self.statistics["examples"]
        return {} if examples is None else {"train_counts": self.label_counts, "n_train": examples}

    @property
    def tree(self) -> LabelTree | None:
        """The label tree of a trained model, if it has one."""
        return None

    @property
    def network_alone(self) -> bool:
        """Whether only a network ranks labels, so that the metrics of its best epoch are the model's."""
        return False

    @property
    def weighted_members(self) -> list[tuple[Method, float]]:
        """The models that this one combines, with their weights; none for most methods."""
        return []

    @property
    def uses_relevance(self) -> bool:
        """Whether training with these settings uses the relevances of labels."""
        return False

    @property
    def can_update(self) -> bool:
        """Whether `update` works for this method."""
        return type(self)._update is not Method._update

    @property
    def can_explain(self) -> bool:
        """Whether `explain` works for this method."""
        return type(self)._explain is not Method._explain

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the model folder atomically; replaces an older model there."""
        store.save(folder, self.to_stored())

    def to_stored(self) -> store.Stored:
        """The content of the model folder, as `save` writes it."""
        labels = self.known_labels
        arrays = with_prefix("labels", labels.state()) | {"label_counts": self.label_counts}
        if self.label_texts is not None:
            arrays |= with_prefix("label_texts", self.label_texts.state())
        if self.calibration is not None:
            arrays |= with_prefix("calibration", self.calibration.state())
        arrays |= with_prefix("model", self._state())
        return store.Stored(self.name, self.config.to_dict(), self.statistics, arrays)

    @classmethod
    def from_stored(cls, stored: store.Stored, where: str) -> Self:
        """The model in a folder; `treetop.load` finds the right class."""
        try:
            model = cls(config=cls.config_class().with_stored(stored.config))
            model.labels = Strings.from_state(under_prefix("labels", stored.arrays))
            labels = len(model.labels)
            if "label_texts.offsets" in stored.arrays:
                model.label_texts = Strings.from_state(under_prefix("label_texts", stored.arrays))
                check_equal("label texts", len(model.label_texts), "the labels are", labels)
            counts = Numbers(np.int64, labels, "labels", least=0)
            model.label_counts = checked(stored.arrays, {"label_counts": counts})["label_counts"]
            model.statistics = checked_statistics(stored.data, labels)
            model.training_log = model.statistics.get("training", {})
            if "calibration" in model.statistics:
                map_class = calibration.kind_named(model.statistics["calibration"]["kind"])
                model.calibration = map_class.from_state(under_prefix("calibration", stored.arrays))
            model._restore(under_prefix("model", stored.arrays))
        except TreetopError as error:
            raise ModelError(f"{where}: the model cannot be restored ({brief(error)})") from error
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise ModelError(f"{where}: the model cannot be restored ({brief(error)}): {RETRAIN}") from error
        return model

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickles a trained model as `save` writes it."""
        if self.labels is None:
            return super().__reduce_ex__(protocol)
        stored = self.to_stored()
        # Memory maps become plain arrays.
        arrays = {name: np.asarray(array) for name, array in stored.arrays.items()}
        return _unpickled, (type(self), dataclasses.replace(stored, arrays=arrays))

    def __copy__(self) -> Self:
        """Shares the arrays."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    # -- what a method fills in ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def takes_texts(self) -> bool:
        """Whether the fitted model takes texts; else it takes feature matrices."""

    @property
    def needs_features(self) -> bool:
        """Whether the fitted model takes feature matrices, perhaps next to texts."""
        return not self.takes_texts

    # A method names the options that it takes, as in ``_rank(self, dataset, k, *, beam=None)``: to type
    # checkers, ``*given: Any, **options: Any`` stands for whatever these are.

    @abstractmethod
    def _fit(self, dataset: Dataset, /, *given: Any, **options: Any) -> None: ...

    @abstractmethod
    def _rank(self, dataset: Dataset, k: int, /, *given: Any, **options: Any) -> Ranked: ...

    @abstractmethod
    def _state(self) -> dict[str, npt.NDArray]: ...

    @abstractmethod
    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None: ...

    def _update(self, new: Dataset, old: Dataset | None, /, *given: Any, **options: Any) -> None:
        """Adds ``new`` examples, whose first labels are the model's; updatable methods override this.

        ``old``: the training examples, with the model's labels, if given.
        """
        raise ModelError(f"{self.name} cannot be updated: retrain it on all examples")

    def _explain(self, dataset: Dataset, label: int, /, *given: Any, **options: Any) -> Explanation:
        """The explanation for the only row of ``dataset``; methods that can explain override this."""
        raise ModelError(f"{self.name} cannot explain its scores: choose a linear method, or neighbours")

    def blank(self) -> Self:
        """An unfitted model with the same settings."""
        return type(self)(self.config)

    # -- shared ----------------------------------------------------------------------------------------------

    def _train(self, dataset: Dataset, extra: Mapping[str, Any]) -> None:
        examples = self._training_examples(dataset, extra)
        self.calibration = None
        self._fit(examples, **extra)
        self.labels = dataset.labels
        self.label_texts = dataset.label_texts
        self.label_counts = dataset.label_counts
        assert dataset.Y is not None
        self.statistics = {
            "examples": len(dataset),
            "labels": len(dataset.labels),
            "labels_used": int((self.label_counts > 0).sum()),
            "labels_per_example": round(dataset.Y.nnz / len(dataset), 3),
            "input": " and ".join(
                kind
                for kind, needed in (("texts", self.takes_texts), ("features", self.needs_features))
                if needed
            ),
            "source": dataset.source,
        }
        if dataset.X is not None:
            self.statistics["features"] = int(dataset.X.shape[1])
        if dataset.weights is not None or (dataset.relevance is not None and self.uses_relevance):
            self.statistics["weighted"] = True
        if self.training_log:
            self.statistics["training"] = self.training_log

    def _check_weights(self, dataset: Dataset, *, given: bool) -> None:
        """Raises an error for weights that training would ignore, or warns; ``given``: relevances, to fit."""
        if dataset.weights is not None and not self.weighs_examples:
            raise ConfigError(
                f"{self.name} cannot weigh training examples: leave out the weights, or choose another method"
            )
        if dataset.relevance is None or self.uses_relevance:
            return
        message = f"{self.name} ignores the relevances of labels: {self.how_to_use_relevance}"
        if given:
            raise ConfigError(f"{message}, or leave them out")
        warnings.warn(f"{dataset.source}: {message}", DataWarning, stacklevel=3)

    def _training_examples(self, dataset: Dataset, extra: Mapping[str, Any]) -> Dataset:
        """The examples, and with ``label_examples`` the texts of the labels."""
        if not self.config.label_examples:
            return dataset
        if any(hasattr(value, "shape") for value in extra.values()):
            raise ConfigError(
                "label_examples adds training examples, which a matrix passed to fit lacks: leave out one of"
                " them"
            )
        return dataset.with_label_examples()

    def _score(
        self, dataset: Dataset, k: int, calibrated_by: Calibration | None, **options: Any
    ) -> Predictions:
        indptr, ids, scores = self._rank(dataset, k, **options)
        if calibrated_by is not None:
            scores = calibrated_by(scores)
        return Predictions(indptr, ids, scores, self.known_labels, dataset.ids)

    def _calibrated_on_a_part(
        self, dataset: Dataset, extra: Mapping[str, Any]
    ) -> tuple[Calibration, dict[str, Any]]:
        """The calibration of a model trained on most examples, fitted on the others."""
        config = self.config
        kept, held_out = held_out_rows(dataset, config.calibration_share, config.seed, "calibration")
        self._train(dataset[kept], rows_of(extra, kept, len(dataset)))
        self.calibrate(dataset[held_out], config.calibration)
        assert self.calibration is not None
        return self.calibration, self.statistics["calibration"]

    def node_title(self, tree: LabelTree, level: int, node: int) -> str:
        """The name of a label; for a cluster the texts of its labels, where they have some."""
        names = self.known_labels
        if level + 1 < tree.depth and self.label_texts is not None:
            names = self.label_texts
        return tree.title(level, node, names, self.label_counts)

    course = renamed_attribute("course", "training_log")

    @property
    def threads(self) -> int:
        """Number of threads to use."""
        return thread_count(self.config.threads)

    def __repr__(self) -> str:
        state = "not fitted" if self.labels is None else f"{len(self.labels):,} labels"
        return f"{type(self).__name__}({state})"

    def _checked_old(self, old: Dataset) -> Dataset:
        """The old examples with the model's labels; raises an error unless the model was trained on them."""
        dataset = self.input_set(old).aligned_to(self.known_labels)
        if len(dataset) != self.statistics["examples"]:
            raise DataError(
                f"{old.source}: has {len(dataset):,} examples, but the model was trained on"
                f" {self.statistics['examples']:,}: give exactly those, and new examples separately"
            )
        if not np.array_equal(dataset.label_counts, self.label_counts):
            raise DataError(
                f"{old.source}: has other labels than the examples that the model was trained on: give those"
            )
        return dataset

    def _texts_with(self, new: Dataset) -> Strings | None:
        """Label texts of the model's labels and of those that ``new`` adds."""
        if self.label_texts is None and new.label_texts is None:
            return None
        known = self.known_labels
        texts = dict(zip(known, self.label_texts or known, strict=True))
        for name, text in zip(new.labels, new.label_texts or new.labels, strict=True):
            texts.setdefault(name, text)
        return Strings.of(texts.values())

    def input_set(self, inputs: Inputs, text: TextColumns | None = None) -> Dataset:
        """Inputs as a `Dataset`, with texts or features as the model was trained on."""
        dataset = as_dataset(inputs, text)
        if self.takes_texts and dataset.texts is None:
            raise DataError(
                f"{dataset.source}: the model was trained on texts but the input has none: give texts"
            )
        if self.needs_features and dataset.X is None:
            trained_on = "texts with given features" if self.takes_texts else "features"
            raise DataError(
                f"{dataset.source}: the model was trained on {trained_on} but the input has none: give them"
            )
        features = self.statistics.get("features")
        return dataset.with_width(features) if dataset.open_width and features else dataset


def _unpickled(kind: type[Method], stored: store.Stored) -> Method:
    return kind.from_stored(stored, "the pickle")
