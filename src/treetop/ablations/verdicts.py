"""Do the results here agree with the published claims?

better        agrees if the first row is significantly better, disagrees if it is significantly worse, and is
too close to tell otherwise not better    disagrees if the first row is significantly better, and agrees
otherwise alike         agrees if the means are within the claim's number of points; otherwise disagrees if
the difference is significant, and is too close to tell if not
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..comparison import Comparison, Contrast
from . import Ablation, Claim

AGREES, DISAGREES, INCONCLUSIVE = "agrees", "disagrees", "too close to tell"


class Verdict(NamedTuple):
    """The outcome of one claim on one metric."""

    claim: Claim
    metric: str
    published: float | None
    """First − second as published."""
    contrast: Contrast
    """First − second here."""
    outcome: str

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, ready for JSON."""
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


def verdicts(ablation: Ablation, comparison: Comparison) -> list[Verdict]:
    """A verdict on each claim and each of its metrics that the comparison has."""
    found = []
    for claim in ablation.claims:
        contrasts = comparison.contrast(claim.first, claim.second)
        for metric in claim.metrics:
            if metric in contrasts:
                contrast = contrasts[metric]
                published = _published(ablation, claim, metric)
                found.append(Verdict(claim, metric, published, contrast, outcome(claim, contrast)))
    return found


def outcome(claim: Claim, contrast: Contrast) -> str:
    """The verdict on one pair of rows."""
    difference = contrast.difference
    if claim.expects == "not better":
        return DISAGREES if contrast.significant and difference > 0 else AGREES
    if claim.expects == "alike" and abs(difference) <= claim.within:
        return AGREES
    if not contrast.significant:
        return INCONCLUSIVE
    return AGREES if claim.expects == "better" and difference > 0 else DISAGREES


def summary(found: Sequence[Verdict]) -> str:
    """``3 of 5 claims agree with the results here, 1 disagrees, 1 is too close to tell.``"""
    counts = Counter(verdict.outcome for verdict in found)
    claims, agree = "claim" if len(found) == 1 else "claims", "agrees" if counts[AGREES] == 1 else "agree"
    parts = [f"{counts[AGREES]} of {len(found)} {claims} {agree} with the results here"]
    if counts[DISAGREES]:
        parts.append(f"{counts[DISAGREES]} {'disagrees' if counts[DISAGREES] == 1 else 'disagree'}")
    if counts[INCONCLUSIVE]:
        parts.append(f"{counts[INCONCLUSIVE]} {'is' if counts[INCONCLUSIVE] == 1 else 'are'} {INCONCLUSIVE}")
    return ", ".join(parts) + "."


def _published(ablation: Ablation, claim: Claim, metric: str) -> float | None:
    first, second = (ablation.published[name].get(metric) for name in (claim.first, claim.second))
    return None if first is None or second is None else first - second
