"""Do the figures measured here agree with what a study claims?

better        agrees if the first is above the second, disagrees if below, and neither seeds nor texts would
              turn it round; else it is too close to tell
not better    disagrees if the first is above the second in that way
alike         agrees if the means lie within so many points; else disagrees, or is too close to tell
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..comparison import Comparison, Contrast
from . import Claim, Study

AGREES, DISAGREES, OPEN = "agrees", "disagrees", "too close to tell"


class Verdict(NamedTuple):
    """One claim on one metric."""

    claim: Claim
    metric: str
    published: float | None
    """First − second in the study's own figures."""
    contrast: Contrast
    """First − second here."""
    outcome: str

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "claim": self.claim.says,
            "first": self.claim.first,
            "second": self.claim.second,
            "expects": self.claim.expects,
            "metric": self.metric,
            "published": self.published,
            "here": self.contrast._asdict(),
            "outcome": self.outcome,
        }


def verdicts(study: Study, comparison: Comparison) -> list[Verdict]:
    """Of every claim, on each of its metrics that the comparison has."""
    found = []
    for claim in study.claims:
        contrasts = comparison.contrast(claim.first, claim.second)
        for metric in claim.metrics:
            if metric in contrasts:
                contrast = contrasts[metric]
                published = _published(study, claim, metric)
                found.append(Verdict(claim, metric, published, contrast, outcome(claim, contrast)))
    return found


def outcome(claim: Claim, contrast: Contrast) -> str:
    """The verdict on one pair of rows."""
    difference = contrast.difference
    if claim.expects == "not better":
        return DISAGREES if contrast.decided and difference > 0 else AGREES
    if claim.expects == "alike" and abs(difference) <= claim.within:
        return AGREES
    if not contrast.decided:
        return OPEN
    return AGREES if claim.expects == "better" and difference > 0 else DISAGREES


def _published(study: Study, claim: Claim, metric: str) -> float | None:
    first, second = (study.published[name].get(metric) for name in (claim.first, claim.second))
    return None if first is None or second is None else first - second
