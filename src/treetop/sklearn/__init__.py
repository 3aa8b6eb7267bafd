"""treetop in the conventions of scikit-learn (``pip install 'treetop-xmc[sklearn]'``)."""

from __future__ import annotations

from ..errors import MissingExtraError

try:
    from .classifier import TreetopClassifier
    from .scoring import ranking_scorer
except ImportError as error:  # missing, or too old to have all names
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise MissingExtraError("treetop.sklearn", "sklearn") from None

__all__ = ["TreetopClassifier", "ranking_scorer"]
