"""`TreetopClassifier`: any method of treetop as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..data import Dataset
from ..errors import ConfigError, DataError
from ..machine import thread_count
from ..methods import Method, MethodConfig, method_class
from ..methods.base import LABELS_ABOVE_THRESHOLD
from ..predictions import Predictions
from .examples import read_examples
from .targets import Labels, read_targets, read_truth

if TYPE_CHECKING:
    from typing_extensions import Self


def _gives_probabilities(estimator: TreetopClassifier) -> bool:
    if hasattr(estimator, "model_"):
        return estimator.model_.calibration is not None or estimator.model_.scores_are_probabilities
    kind = estimator._given().get("calibration", estimator._config().calibration)
    return kind != "none" or estimator._method().scores_are_probabilities


class TreetopClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A method of treetop with scikit-learn's ``fit``, ``predict`` and ``score``.

    Parameters
    ----------
    method : str or treetop.methods.Method, default="hybrid"
        A name (``treetop methods`` lists them) or an untrained model, whose settings are then the defaults.
    k : int or None, default=None
        Number of labels that `predict` returns. None: the mean number of labels of a training example,
        rounded, or up to 100 with a ``threshold``.
    threshold : float or None, default=None
        `predict` returns only labels with a score above it. With ``calibration="isotonic"`` scores are
        probabilities, and 0.5 keeps labels that are more likely right than wrong.
    n_scores : int, default=100
        Number of scored labels per row in a sparse `decision_function`.
    text : str or list of str, default="text"
        The text column of a frame; several are joined, each on its own line.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores. None: the setting ``threads``, which defaults to all cores. Only
        the last bits of networks depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the training. None: the setting ``seed``, which defaults to 0, so that two fits give the same
        model.
    settings : dict or None, default=None
        Settings of the method, by their dotted or short names. They can also be keywords, with ``__`` for a
        dot (``tree__leaf_size=50``), and are parameters like the others: ``set_params(beam=5)``.

    Attributes
    ----------
    model_ : treetop.methods.Method
        The trained model. Its labels are the classes as text.
    classes_ : array of shape (n_classes,)
        The labels, or column numbers if ``y`` was a matrix without names.
    k_ : int
        Maximum number of labels that `predict` returns.
    targets_ : Targets
        The kind of ``y`` in training.
    n_features_in_, feature_names_in_
        As in scikit-learn, if ``X`` was a matrix.
    """

    def __init__(
        self,
        method: str | Method = "hybrid",
        *,
        k: int | None = None,
        threshold: float | None = None,
        n_scores: int = 100,
        text: str | Sequence[str] = "text",
        n_jobs: int | None = None,
        random_state: Any = None,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.method = method
        self.k = k
        self.threshold = threshold
        self.n_scores = n_scores
        self.text = text
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.settings = {**(settings or {}), **more} if more and _has_names(settings) else settings

    # -- parameters ------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep``, also the settings that were given."""
        params: dict[str, Any] = super().get_params(deep=False)
        return dict(self._given()) | params if deep else params

    def set_params(self, **params: Any) -> Self:
        """Changes parameters, or settings of the method by any of their names."""
        own = {name: params.pop(name) for name in self._get_param_names() if name in params}
        super().set_params(**own)
        if params:
            self.settings = self._without(params) | params
        return self

    def _without(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The settings without those to be replaced, under whichever name they were given."""
        settings = dict(self._given())
        try:
            config = self._config()
        except ConfigError:  # `fit` will raise it
            return settings
        replaced = {config.full_name(_dotted(name)) for name in params}
        return {
            name: value for name, value in settings.items() if config.full_name(_dotted(name)) not in replaced
        }

    def _given(self) -> Mapping[str, Any]:
        return self.settings if isinstance(self.settings, Mapping) else {}

    def _config(self) -> MethodConfig:
        """The method's settings before those given here."""
        return self.method.config if isinstance(self.method, Method) else self._method().config_class()

    def _method(self) -> type[Method]:
        return type(self.method) if isinstance(self.method, Method) else method_class(self.method)

    def _new_model(self) -> Method:
        """An untrained model with all settings."""
        if not _has_names(self.settings):
            raise ConfigError(f"settings must be a dictionary of names and values, not {self.settings!r}")
        settings = {_dotted(name): value for name, value in self._given().items()}
        if self.random_state is not None:
            _refuse_both(settings, "seed", "random_state")
            settings["seed"] = _seed_of(self.random_state)
        if self.n_jobs is not None:
            _refuse_both(settings, "threads", "n_jobs")
            settings["threads"] = _threads_of(self.n_jobs)
        if isinstance(self.method, Method):
            model = self.method.blank()
            model.config = model.config.replace_settings(settings)
            return model
        return method_class(self.method)(**settings)

    # -- training --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Trains on texts, or rows of features, and their labels.

        ``X``: a list, array or column of texts; a frame with a text column; or a numeric matrix (dense,
        sparse or a frame). ``y``: see `treetop.sklearn.targets`. ``sample_weight``: a number for each row, or
        one for all; not every method can weigh examples. A row with the weight 0 is left out.
        """
        model = self._new_model()
        _check_count("k", self.k, may_be_none=True)
        _check_count("n_scores", self.n_scores)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        if y is None:
            raise DataError("TreetopClassifier requires y to be passed, but the target y is None")
        examples = read_examples(self, X, self.text, reset=True)
        targets, Y = read_targets(y)
        check_consistent_length(examples, Y)
        if np.isscalar(sample_weight):
            sample_weight = np.full(len(examples), sample_weight)
        self.model_ = model.fit(
            Dataset(
                labels=targets.names, texts=examples.texts, X=examples.X, Y=Y, source="the training data"
            ),
            sample_weight=sample_weight,
        )
        self.targets_ = targets
        self.classes_: Labels = targets.classes
        return self

    @property
    def k_(self) -> int:
        """Maximum number of labels that `predict` returns."""
        check_is_fitted(self)
        _check_count("k", self.k, may_be_none=True)
        if self.k is not None:
            wanted = int(self.k)
        elif self.threshold is not None:
            wanted = LABELS_ABOVE_THRESHOLD
        else:
            wanted = max(round(self.model_.statistics["labels_per_example"]), 1)
        return min(wanted, len(self.classes_))

    # -- prediction ------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The labels of each row, in the form of ``y``: the `k_` best, or those above the threshold.

        If ``y`` had one label for each row, it is the best one.
        """
        check_is_fitted(self)
        return self.targets_.back(self._chosen(X), getattr(X, "index", None) if hasattr(X, "iloc") else None)

    def decision_function(self, X: Any) -> Any:
        """The scores of labels, rows × classes; for two exclusive classes, the second's minus the first's.

        An array if ``y`` was an array or a frame or had one label for each row: labels that a search did not
        reach have the lowest score of their row, or 0 if that is less. Otherwise a sparse matrix with the
        `n_scores` best labels of each row.
        """
        check_is_fitted(self)
        if self.targets_.kind in ("sets", "sparse"):
            return self._ranked(X, min(self.n_scores, len(self.classes_))).to_csr()
        scores = self._dense(X)
        if self.targets_.kind != "single":
            return scores
        if _gives_probabilities(self):
            scores = _shares(scores)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of labels, in the form of `decision_function`, but always rows × classes.

        Only for ``"plt"``, and for any method with ``calibration="isotonic"`` or ``"platt"``. If ``y`` had
        one label for each row, each row sums to 1.
        """
        check_is_fitted(self)
        return _shares(self._dense(X)) if self.targets_.kind == "single" else self.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The mean F1 of the rows: 2 |predicted ∩ true| / (|predicted| + |true|), 0 for a row with neither.

        Labels that training did not have count as missed. With one label for each row this is the accuracy.
        For other metrics see `ranking_scorer`.
        """
        check_is_fitted(self)
        truth, chosen = read_truth(y, self.targets_), self._chosen(X)
        check_consistent_length(truth, chosen, sample_weight)
        right = np.asarray(truth[:, : chosen.shape[1]].multiply(chosen).sum(axis=1)).ravel()
        total = np.diff(truth.indptr) + np.diff(chosen.indptr)
        f1 = np.divide(2 * right, total, out=np.zeros(len(total)), where=total > 0)
        return float(np.average(f1, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def _ranked(self, X: Any, k: int) -> Predictions:
        return self.model_.predict(read_examples(self, X, self.text, reset=False), k=k)

    def _chosen(self, X: Any) -> sparse.csr_matrix:
        """Rows × classes, 1 where `predict` returns the label, the best of a row first."""
        if self.targets_.kind == "single":
            ranked = self._ranked(X, min(self.n_scores, len(self.classes_)))
            best = _first_of_best(ranked, int(np.argmax(self.model_.label_counts)))
            ones, indptr = np.ones(len(best), np.float32), np.arange(len(best) + 1)
            return sparse.csr_matrix((ones, best, indptr), shape=(len(best), len(self.classes_)))
        ranked = self._ranked(X, self.k_)
        if self.threshold is not None:
            ranked = ranked.above(self.threshold)
        ones = np.ones(len(ranked.indices), np.float32)
        return sparse.csr_matrix(
            (ones, ranked.indices, ranked.indptr), shape=(len(ranked), len(self.classes_))
        )

    def _dense(self, X: Any) -> npt.NDArray[np.float64]:
        ranked = self._ranked(X, len(self.classes_))
        scores = np.zeros((len(ranked), len(self.classes_)))
        reached = ranked.counts > 0
        scores[reached] = np.minimum(ranked.scores[ranked.indptr[1:][reached] - 1], 0)[:, None]
        scores[ranked.rows, ranked.indices] = ranked.scores
        return scores

    # -- scikit-learn's protocol -----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _has_names(settings: Any) -> bool:
    return settings is None or isinstance(settings, Mapping)


def _dotted(name: str) -> str:
    return name.replace("__", ".")


def _refuse_both(settings: Mapping[str, Any], setting: str, param: str) -> None:
    if setting in settings:
        raise ConfigError(f"{param} and the setting {setting} are the same: set only one of them")


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _threads_of(n_jobs: Any) -> int:
    """The number of threads as joblib counts: -1 is all cores, -2 all but one."""
    _check_count("n_jobs", abs(n_jobs) if isinstance(n_jobs, (int, np.integer)) else n_jobs)
    return int(n_jobs) if n_jobs > 0 else max(thread_count(0) + 1 + int(n_jobs), 1)


def _check_count(name: str, value: Any, *, may_be_none: bool = False) -> None:
    if value is None and may_be_none:
        return
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{name} must be a whole number of at least 1, not {value!r}")


def _first_of_best(ranked: Predictions, otherwise: int) -> npt.NDArray[np.int32]:
    """The smallest id among the labels with the best score of each row, as numpy's argmax chooses."""
    best = np.full(len(ranked), len(ranked.labels), np.int32)
    reached = ranked.counts > 0
    highest = np.repeat(ranked.scores[ranked.indptr[:-1][reached]], ranked.counts[reached])
    tied = ranked.scores == highest
    np.minimum.at(best, ranked.rows[tied], ranked.indices[tied])
    best[~reached] = otherwise
    return best


def _shares(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Rows scaled to a sum of 1; rows of zeros become uniform."""
    sums = scores.sum(axis=1, keepdims=True)
    shares = np.full_like(scores, 1 / scores.shape[1])
    np.divide(scores, sums, out=shares, where=sums > 0)
    return shares
