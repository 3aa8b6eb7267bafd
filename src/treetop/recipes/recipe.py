"""`Recipe`: the published settings and scores of a method on a benchmark."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..registry import METHODS
from .papers import Paper

if TYPE_CHECKING:
    from ..methods import Method

ENSEMBLE = "ensemble"
"""What a row of scores is of, if not of a member."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark data set, in the split that the papers share."""

    name: str
    title: str
    train: int
    """Number of training texts."""
    test: int
    """Number of test texts."""
    labels: int
    features: int
    """Number of columns of the TF-IDF features distributed with the texts."""


@dataclass(frozen=True)
class PublishedEncoder:
    """The size of a pretrained encoder, by which a local copy is recognised."""

    name: str
    """Its name on the hub."""
    hidden: int
    """Width of its vectors."""
    layers: int
    vocabulary: int
    """Number of word pieces."""


@dataclass(frozen=True)
class Inputs:
    """What a faithful run needs besides texts and labels."""

    features: bool = False
    """The TF-IDF features distributed with the texts."""
    label_texts: bool = False
    vectors: str | None = None
    """The file of pretrained word vectors, without its ending: for ``words.vectors``."""
    vocabulary: str | None = None
    """The list of words that the texts are reduced to: for ``words.vocabulary``."""

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, ready for JSON."""
        return {
            "features": self.features,
            "label_texts": self.label_texts,
            "vectors": self.vectors,
            "vocabulary": self.vocabulary,
        }


@dataclass(frozen=True)
class PublishedScores:
    """One row of a paper's table."""

    model: str
    """The variant: tuned, an ensemble, a run by other authors, …"""
    source: Paper
    where: str
    """The tables of the paper, those that quote it, and the hardware of times."""
    scores: Mapping[str, float]
    """Metrics in percent, by their names in `treetop.evaluate`."""
    of: str | None = None
    """The member that the row is of, or ``ensemble``; None if the recipe trains neither."""
    costs: Mapping[str, float] = field(default_factory=dict)
    """Other numbers of the row by name, such as training hours, ms per text and model GB."""

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, ready for JSON."""
        return {
            "model": self.model,
            "of": self.of,
            "source": f"{self.source}, {self.where}",
            "scores": dict(self.scores),
            "costs": dict(self.costs),
        }


@dataclass(frozen=True)
class Member:
    """One model of a recipe."""

    name: str
    settings: Mapping[str, Any]
    """All published settings, by full names."""

    def differs_by_seed(self, other: Member) -> bool:
        """Whether no setting but the seed differs."""
        return _without_seed(self.settings) == _without_seed(other.settings)


@dataclass(frozen=True)
class Recipe:
    """Published settings and scores of a method on a benchmark."""

    name: str
    """``family/data-set``; the family is the method, or has settings of its own for it."""
    method: str
    data_set: Benchmark
    members: tuple[Member, ...]
    """The models that the paper trains; none if only scores are published."""
    rule: str | None
    """How the paper combines the members: a rule of `treetop.Ensemble`. None for a single member."""
    depth: int | None
    """Labels that each member ranks for the ensemble, where published."""
    inputs: Inputs
    settings_from: str | None
    notes: tuple[str, ...]
    """Remarks beyond the settings."""
    published: tuple[PublishedScores, ...]
    """Rows of the members and of their ensemble first, then the others."""

    @property
    def family(self) -> str:
        """The first part of the name."""
        return self.name.partition("/")[0]

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """The settings of the first member; None if only scores are published."""
        return self.members[0].settings if self.members else None

    def member(self, name: str) -> Member:
        """The member of that name."""
        for member in self.members:
            if member.name == name:
                return member
        if not self.members:
            raise ConfigError(f"{self.name} has no members: only scores are published, no settings")
        raise ConfigError(
            f"{self.name} has no member {name!r}; {_hint(name, [m.name for m in self.members])}"
        )

    def published_of(self, name: str) -> tuple[PublishedScores, ...]:
        """The rows of a member, or of a member that differs by its seed only; or those of the ensemble."""
        names = {name}
        if name != ENSEMBLE:
            wanted = self.member(name)
            names |= {member.name for member in self.members if member.differs_by_seed(wanted)}
        return tuple(row for row in self.published if row.of in names)

    def make(self, member: str | None = None, **settings: Any) -> Method:
        """An unfitted model with the published settings of a member, by default the first.

        ``settings`` override the published ones.
        """
        from ..methods import make

        if self.method not in METHODS:
            raise ConfigError(
                f"treetop does not have the method of {self.name}: only its scores are published"
            )
        published = (self.settings or {}) if member is None else self.member(member).settings
        model = make(self.method, **published)
        model.config = model.config.replace_settings(settings)
        return model

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, ready for JSON."""
        return {
            "name": self.name,
            "method": self.method,
            "data_set": self.data_set.name,
            "settings": None if self.settings is None else dict(self.settings),
            "members": {member.name: dict(member.settings) for member in self.members},
            "rule": self.rule,
            "depth": self.depth,
            "inputs": self.inputs.to_dict(),
            "settings_from": self.settings_from,
            "notes": list(self.notes),
            "published": [row.to_dict() for row in self.published],
        }


def _hint(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"


def _without_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "seed"}
