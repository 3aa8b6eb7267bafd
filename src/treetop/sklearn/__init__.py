"""treetop with the interface of scikit-learn (``pip install 'treetop-xmc[sklearn]'``)."""

from __future__ import annotations

from ..errors import MissingExtraError

try:
    from .classifier import TreetopClassifier
    from .scoring import ranking_scorer
except ImportError as error:  # not installed, or too old
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise MissingExtraError("treetop.sklearn", "sklearn") from None

__all__ = ["TreetopClassifier", "ranking_scorer"]
