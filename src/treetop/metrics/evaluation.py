"""`evaluate`: all metrics of predictions in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..data import Dataset
from ..predictions import Predictions
from .documents import DEFAULT_KS, DEFAULT_METRICS, Options, match_and_score
from .labels import coverage, macro_scores
from .reliability import calibration_errors

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Metrics(Mapping[str, float]):
    """Name → value in percent: ``metrics["P@1"]``."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Metrics({', '.join(f'{name} {value:.2f}' for name, value in self.items())})"

    def __str__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, float]:
        """A plain dictionary, ready for JSON."""
        return dict(self._values)

    def table(self) -> str:
        """A row per metric and a column per k; metrics without k come last."""
        names = list(dict.fromkeys(name.partition("@")[0] for name in self))
        ks = list(dict.fromkeys(name.partition("@")[2] for name in self if "@" in name))
        width = max(map(len, names), default=0)
        lines = [" " * width + "".join(f"{'@' + k:>8}" for k in ks)] if ks else []
        for name in names:
            if name in self:
                cells = [f"{self[name]:8.2f}"]
            else:
                cells = [f"{self[f'{name}@{k}']:8.2f}" if f"{name}@{k}" in self else " " * 8 for k in ks]
            lines.append(f"{name:<{width}}{''.join(cells)}".rstrip())
        return "\n".join(lines)


def evaluate(predictions: Predictions, truth: Dataset, **options: Unpack[Options]) -> Metrics:
    """Metrics of the predictions, in percent. Formulas: `treetop.metrics.documents`.

    Labels are matched by name; true labels that the model never saw are misses. The
    options:

    - ``ks``: the ranks to report, by default (1, 3, 5).
    - ``metrics``: a selection; PSPraw, PSP without its normalisation, has to be named.
    - ``train``, the training set, or ``train_counts`` (one number per label of ``predictions.labels``) with
      ``n_train``: required for the propensity-scored metrics (PSP, PSnDCG, PSR). With ``train_counts``,
      labels outside ``predictions.labels`` count as never seen.
    - ``propensity``: the constants A and B (`PROPENSITY` lists those of published data sets).
    - ``threshold`` adds micro-P, micro-R, micro-F1, sample-F1, macro-F1 and macro-F1-of-means of the decision
      "score above the threshold"; ``evaluate(predictions.top(5), …, threshold=-inf)`` decides by rank.

    ECE@k (see `treetop.metrics.reliability`) is included if all scores lie in [0, 1].
    """
    matched, scores = match_and_score(predictions, truth, **options)
    ks, metrics = options.get("ks", DEFAULT_KS), options.get("metrics", DEFAULT_METRICS)
    threshold = options.get("threshold")
    values = {name: score.value for name, score in scores.items()}
    if "coverage" in metrics:
        values |= {f"coverage@{k}": coverage(matched, k) for k in ks}
    if "ECE" in metrics:
        values |= calibration_errors(matched, ks)
    if threshold is not None:
        values |= macro_scores(matched, threshold)
    return Metrics(values)
