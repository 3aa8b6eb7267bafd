"""`Comparison`: the runs of all variants, their means and their differences.

A metric varies at random with the seed and with the choice of test texts. Each mean therefore has a standard
deviation over the seeds. A difference of two means has a standard error over the seeds, √(s₁²/n₁ + s₂²/n₂),
with Welch's t-test, and a confidence interval over the texts: a paired bootstrap of each text's scores,
averaged over the seeds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from scipy.special import stdtr

from .. import __version__
from ..data import Dataset
from ..deprecation import warn_renamed
from ..errors import ConfigError
from ..metrics import DocumentScores, compare_scores, document_scores
from ..metrics.documents import mean_scores
from .runs import Conditions, Run
from .variants import Variant

SIGNIFICANCE_LEVEL = 0.05
"""Significance level: p-values below it count as significant."""
RESOURCES = ("train_seconds", "predict_milliseconds", "bytes", "gpu_bytes")


class Spread(NamedTuple):
    """Mean and sample standard deviation over the seeds; the deviation is None with one seed."""

    mean: float
    deviation: float | None


class Contrast(NamedTuple):
    """First − second on one metric, in percentage points."""

    difference: float
    deviation: float | None
    """Standard error over the seeds; None with one seed."""
    p_of_seeds: float | None
    """p-value of Welch's t-test over the seeds; None with one seed."""
    low: float
    high: float
    """Bounds of the 95 % confidence interval over the test texts."""
    p_of_texts: float
    """p-value of the paired permutation test over the test texts."""

    @property
    def significant(self) -> bool:
        """Whether the difference is significant over the seeds and over the test texts."""
        over_seeds = self.p_of_seeds is None or self.p_of_seeds < SIGNIFICANCE_LEVEL
        return over_seeds and not self.low <= 0 <= self.high

    @property
    def decided(self) -> bool:
        """The old name of `significant`."""
        warn_renamed("Contrast.decided", "use significant")
        return self.significant


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of `compare`."""

    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    runs: Mapping[str, tuple[Run, ...]]
    """Runs by the variant's name, in the order of the seeds."""
    train: Dataset
    test: Dataset
    conditions: Conditions

    @property
    def names(self) -> list[str]:
        return [variant.name for variant in self.variants]

    @property
    def metrics(self) -> list[str]:
        """The metrics of the tables: P@k, nDCG@k and PSP@k."""
        ks = self.conditions.ks
        return [f"P@{k}" for k in ks] + [f"nDCG@{k}" for k in ks if k > 1] + [f"PSP@{k}" for k in ks]

    @property
    def leading_metric(self) -> str:
        """The metric that ranks the variants."""
        return self.metrics[0]

    @property
    def best(self) -> str:
        """The variant with the highest mean of the leading metric."""
        return max(self.names, key=lambda name: self.spread(name, self.leading_metric).mean)

    def spread(self, variant: str, metric: str) -> Spread:
        """Mean and deviation of a metric, or of another number of a `Run` such as ``train_seconds``."""
        values = [run.value(metric) for run in self._runs_of(variant)]
        return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def parameters(self, variant: str) -> dict[str, int] | None:
        """A network's parameters by part, with the first seed; None for other methods.

        Vocabularies, and so these numbers, may differ a little between seeds where texts are held out.
        """
        return self._runs_of(variant)[0].parameters

    def contrast(self, first: str, second: str) -> dict[str, Contrast]:
        """The differences first − second, on every metric of the tables."""
        over_texts = compare_scores(self._scores_of(first), self._scores_of(second))
        contrasts = {}
        for metric, found in over_texts.items():
            a, b = self.spread(first, metric), self.spread(second, metric)
            over_seeds = welch(a, b, len(self.seeds))
            contrasts[metric] = Contrast(a.mean - b.mean, *over_seeds, found.low, found.high, found.p_value)
        return contrasts

    def relative_to(self, anchor: str) -> dict[str, dict[str, float]]:
        """How much better each other variant is than ``anchor``, in percent of the anchor's mean.

        100 · (m − m_anchor) / m_anchor for every metric of the tables: papers that differ in their data are
        compared by it, as in Table 6 of X-Transformer. Metrics of which the anchor has 0 are left out.
        """
        means = {metric: self.spread(anchor, metric).mean for metric in self.metrics}
        return {
            name: {
                metric: 100 * (self.spread(name, metric).mean - mean) / mean
                for metric, mean in means.items()
                if mean
            }
            for name in self.names
            if name != anchor
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, ready for JSON: the means, deviations and runs of each variant."""
        return {
            "treetop": __version__,
            "data": {
                "train": {"source": self.train.source, "examples": len(self.train)},
                "test": {"source": self.test.source, "examples": len(self.test)},
                "labels": len(self.train.labels),
            },
            "seeds": list(self.seeds),
            "propensity": list(self.conditions.propensity),
            "variants": [self._variant_dict(variant) for variant in self.variants],
        }

    def _variant_dict(self, variant: Variant) -> dict[str, Any]:
        means = {name: self.spread(variant.name, name)._asdict() for name in [*self.metrics, *RESOURCES]}
        runs = [run.to_dict() for run in self.runs[variant.name]]
        for run in runs:
            del run["method"], run["config"]
        return {
            "name": variant.name,
            "method": variant.method,
            "settings": dict(variant.settings),
            "figures": means,
            "parameters": self.parameters(variant.name),
            "runs": runs,
        }

    def _runs_of(self, variant: str) -> tuple[Run, ...]:
        if variant not in self.runs:
            raise ConfigError(f"the comparison has no variant {variant!r}; it has {', '.join(self.runs)}")
        return self.runs[variant]

    @cached_property
    def _scores(self) -> dict[str, dict[str, DocumentScores]]:
        return {}

    def _scores_of(self, variant: str) -> dict[str, DocumentScores]:
        """The scores of each test text, averaged over the seeds."""
        if variant not in self._scores:
            scores = mean_scores(
                [
                    document_scores(
                        run.predictions(self.train.labels),
                        self.test,
                        train=self.train,
                        ks=self.conditions.ks,
                        propensity=self.conditions.propensity,
                        metrics=("P", "nDCG", "PSP"),
                    )
                    for run in self._runs_of(variant)
                ]
            )
            self._scores[variant] = {metric: scores[metric] for metric in self.metrics}
        return self._scores[variant]


def welch(a: Spread, b: Spread, seeds: int) -> tuple[float | None, float | None]:
    """The standard error of a.mean − b.mean, and the two-sided p-value of Welch's t-test.

    With v = s²/n of each, t = (a − b) / √(v₁ + v₂) has (v₁ + v₂)² (n − 1) / (v₁² + v₂²) degrees of freedom.
    """
    if a.deviation is None or b.deviation is None:
        return None, None
    first, second = a.deviation**2 / seeds, b.deviation**2 / seeds
    deviation = math.sqrt(first + second)
    if deviation == 0:
        return 0.0, float(a.mean == b.mean)
    freedom = (first + second) ** 2 * (seeds - 1) / (first**2 + second**2)
    return deviation, 2 * float(stdtr(freedom, -abs(a.mean - b.mean) / deviation))
