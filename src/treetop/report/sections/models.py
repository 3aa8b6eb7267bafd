"""Method, settings and training data of every model."""

from __future__ import annotations

from ..blocks import Section, Table
from ..evidence import Evidence


def models(evidence: Evidence) -> Section | None:
    """A table of the models; None if nothing is known about them."""
    facts = list(dict.fromkeys(name for reported in evidence.models for name in reported.facts))
    if not facts:
        return None
    rows = [[fact, *(reported.facts.get(fact, "") for reported in evidence.models)] for fact in facts]
    everything = tuple(range(len(evidence.models) + 1))
    table = Table("Evaluated models", ["", *evidence.names], rows, words=everything)
    return Section("models", "Models", [table])
