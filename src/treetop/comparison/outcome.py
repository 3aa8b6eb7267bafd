"""`Comparison`: the runs of every variant, and what they say together.

Two things move a figure by chance: the seed, and which texts happen to be in the test set. So a mean has a
deviation over the seeds. A difference of two means has one too, √(s₁²/n₁ + s₂²/n₂), with Welch's t-test; and
an interval over the texts, from a paired bootstrap of the scores of every text averaged over the seeds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from .. import __version__
from ..data import Dataset
from ..errors import ConfigError
from ..metrics import DocumentScores, compare_scores, document_scores
from .runs import Conditions, Run
from .variants import Variant

LEVEL = 0.05
"""A difference that chance gives more often than this is not counted."""
RESOURCES = ("train_seconds", "predict_milliseconds", "bytes", "gpu_bytes")


class Spread(NamedTuple):
    """Mean and sample standard deviation over the seeds; None where there is only one."""

    mean: float
    deviation: float | None


class Contrast(NamedTuple):
    """First − second on one metric, in percentage points."""

    difference: float
    deviation: float | None
    """Over the seeds; None where a variant has only one."""
    p_of_seeds: float | None
    """How often seeds alone would give such a difference between equals."""
    low: float
    high: float
    """The 95 % confidence interval, over the choice of test texts."""
    p_of_texts: float
    """How often the choice of texts alone would give such a difference between equals."""

    @property
    def decided(self) -> bool:
        """Whether neither other seeds nor other texts would be likely to turn the sign."""
        over_seeds = self.p_of_seeds is None or self.p_of_seeds < LEVEL
        return over_seeds and not self.low <= 0 <= self.high


@dataclass(frozen=True, eq=False)
class Comparison:
    """Made by `compare`."""

    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    runs: Mapping[str, tuple[Run, ...]]
    """By the variant's name, in the order of the seeds."""
    train: Dataset
    test: Dataset
    conditions: Conditions

    @property
    def names(self) -> list[str]:
        return [variant.name for variant in self.variants]

    @property
    def metrics(self) -> list[str]:
        """The metrics of the tables: P@k, nDCG@k, and PSP@k."""
        ks = self.conditions.ks
        return [f"P@{k}" for k in ks] + [f"nDCG@{k}" for k in ks if k > 1] + [f"PSP@{k}" for k in ks]

    @property
    def leading_metric(self) -> str:
        """What variants are ranked by."""
        return self.metrics[0]

    @property
    def best(self) -> str:
        """The variant with the highest mean of the leading metric."""
        return max(self.names, key=lambda name: self.spread(name, self.leading_metric).mean)

    def spread(self, variant: str, figure: str) -> Spread:
        """Of a metric, or of a number that a `Run` has."""
        values = [run.figure(figure) for run in self._runs_of(variant)]
        return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def parameters(self, variant: str) -> dict[str, int] | None:
        """Of a network, by part, with the first seed: what is held out may change a vocabulary a little."""
        return self._runs_of(variant)[0].parameters

    def contrast(self, first: str, second: str) -> dict[str, Contrast]:
        """How the first variant differs from the second, on every metric of the tables."""
        over_texts = compare_scores(self._scores_of(first), self._scores_of(second))
        contrasts = {}
        for metric, found in over_texts.items():
            a, b = self.spread(first, metric), self.spread(second, metric)
            over_seeds = welch(a, b, len(self.seeds))
            contrasts[metric] = Contrast(a.mean - b.mean, *over_seeds, found.low, found.high, found.p_value)
        return contrasts

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: every variant's means and deviations, and its runs."""
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
        figures = {name: self.spread(variant.name, name)._asdict() for name in [*self.metrics, *RESOURCES]}
        runs = [run.to_dict() for run in self.runs[variant.name]]
        for run in runs:
            del run["method"], run["config"]
        return {
            "name": variant.name,
            "method": variant.method,
            "settings": dict(variant.settings),
            "figures": figures,
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
        """Of every text, averaged over the seeds; denominators do not depend on the answers."""
        if variant not in self._scores:
            of_runs = [
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
            self._scores[variant] = {
                metric: DocumentScores(
                    np.mean([scores[metric].numerator for scores in of_runs], axis=0),
                    of_runs[0][metric].denominator,
                )
                for metric in self.metrics
            }
        return self._scores[variant]


def welch(a: Spread, b: Spread, seeds: int) -> tuple[float | None, float | None]:
    """The deviation of a.mean − b.mean, and the two-sided p-value of Welch's t-test.

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
