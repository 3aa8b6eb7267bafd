"""Metrics of predictions: P@k, nDCG@k, propensity-scored and F1 metrics, intervals, paired tests."""

from .confusions import Confusion, confusions
from .documents import DEFAULT_METRICS, DocumentScores, Options, document_scores, parse_metric
from .evaluation import Metrics, evaluate
from .intervals import (
    Difference,
    Interval,
    compare,
    compare_scores,
    confidence_intervals,
    holm,
    score_intervals,
)
from .labels import BUCKETS, FrequencyBucket, LabelReport, LabelRow, by_frequency, label_report
from .propensity import DEFAULT_PROPENSITY, PROPENSITY, inverse_propensity
from .reliability import ReliabilityBin, reliability

__all__ = [
    "BUCKETS",
    "DEFAULT_METRICS",
    "DEFAULT_PROPENSITY",
    "PROPENSITY",
    "Confusion",
    "Difference",
    "DocumentScores",
    "FrequencyBucket",
    "Interval",
    "LabelReport",
    "LabelRow",
    "Metrics",
    "Options",
    "ReliabilityBin",
    "by_frequency",
    "compare",
    "compare_scores",
    "confidence_intervals",
    "confusions",
    "document_scores",
    "evaluate",
    "holm",
    "inverse_propensity",
    "label_report",
    "parse_metric",
    "reliability",
    "score_intervals",
]
