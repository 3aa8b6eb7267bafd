"""`Plan`: the members of a recipe as untrained models, in the order in which they are trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..config import value_text
from ..errors import ConfigError
from ..recipes import ENSEMBLE, Member, Recipe
from .differences import differences

if TYPE_CHECKING:
    from ..data import Dataset
    from ..methods import MethodConfig

ENCODERS = ("transformer.encoder", "index_encoder")
"""Settings that name a pretrained encoder."""
OF_A_MEMBER = "member:"
"""Begins the value of ``index_encoder`` that is a trained member."""


@dataclass(frozen=True)
class PlannedMember:
    """A member with the settings that it is trained with here."""

    name: str
    method: str
    config: MethodConfig
    published: Mapping[str, Any]
    """Its published settings, by full names."""
    moved: bool = False
    """Whether its seed differs from the recipe's, to tell it from a member with the same encoder."""

    @property
    def needs(self) -> str | None:
        """The member that is trained before it, whose encoder it uses."""
        value = getattr(self.config, "index_encoder", None) or ""
        return value.removeprefix(OF_A_MEMBER) if value.startswith(OF_A_MEMBER) else None

    def changes(self) -> dict[str, tuple[str, str]]:
        """Published and own values of the settings that differ, by name."""
        found = {}
        as_published = type(self.config)().with_stored(self.published)
        for name in self.published:
            own = self.config.value(name)
            wanted = as_published.value(name)
            if own != wanted:
                found[name] = value_text(wanted), value_text(own)
        return found


@dataclass(frozen=True)
class Plan:
    """What is trained, and how it differs from what the paper trained."""

    recipe: Recipe
    members: tuple[PlannedMember, ...]
    """In the order of training."""
    rule: str | None
    """How they are combined; None: they are not."""
    differences: tuple[str, ...]

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        train: Dataset,
        test: Dataset,
        *,
        single: str | None = None,
        encoders: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Plan:
        """``single``: the only member; ``encoders``: folders by member, encoder, or its first word.

        ``settings`` change those of every member. An encoder named "" is for all members.
        """
        if not recipe.members:
            raise ConfigError(
                f"{recipe.name}: only scores are published, no settings, so there is nothing to train"
            )
        used: set[str] = set()
        every = [_planned(recipe, member, encoders or {}, settings or {}, used) for member in recipe.members]
        for name in (encoders or {}).keys() - used:
            known = dict.fromkeys(
                str(m.settings["transformer.encoder"])
                for m in recipe.members
                if "transformer.encoder" in m.settings
            )
            raise ConfigError(
                f"--encoder {name}: no member of {recipe.name} has such an encoder; they have"
                f" {', '.join(known) or 'none'}"
            )
        every = _told_apart(every)
        chosen = every if single is None else [m for m in every if m.name == recipe.member(single).name]
        ordered = _ordered(chosen, {member.name: member for member in every})
        together = single is None and len(chosen) > 1
        return cls(
            recipe,
            tuple(ordered),
            recipe.rule if together else None,
            (*differences(recipe, ordered, train, test), *_seeds_apart(ordered)),
        )

    @property
    def names(self) -> list[str]:
        """The models that are measured: the members, and their ensemble."""
        return [*(member.name for member in self.members), *([ENSEMBLE] if self.rule else [])]

    def check_strict(self) -> None:
        """Raises an error if anything differs from the published setup."""
        if self.differences:
            more = len(self.differences) - 1
            others = f" (and {more} more: --dry-run lists them)" if more else ""
            raise ConfigError(
                f"{self.recipe.name} would not be reproduced strictly: {self.differences[0]}{others}; leave"
                " out --strict to list differences in the report"
            )


def _planned(
    recipe: Recipe,
    member: Member,
    encoders: Mapping[str, str],
    settings: Mapping[str, Any],
    used: set[str],
) -> PlannedMember:
    from ..methods import method_class

    published = dict(member.settings)
    config = method_class(recipe.method).config_class().with_stored(published)
    changed: dict[str, Any] = {}
    for setting in ENCODERS:
        value = published.get(setting)
        if value and not str(value).startswith(OF_A_MEMBER):
            key = _encoder_key(member.name, str(value), encoders)
            if key is not None:
                used.add(key)
                changed[setting] = encoders[key]
    own = {name: value for name, value in settings.items() if config.has_setting(name)}
    for name in settings.keys() - own.keys():
        config.full_name(name)  # raises the error for a name that does not exist
    return PlannedMember(
        member.name, recipe.method, config.replace_settings(changed).replace_settings(own), published
    )


def _encoder_key(member: str, encoder: str, encoders: Mapping[str, str]) -> str | None:
    """The key that a member's encoder is given by: its name, the encoder's, the first word of it, or ""."""
    plain = encoder.rpartition("/")[2]
    for key in (member, encoder, plain, plain.partition("-")[0], ""):
        if key in encoders:
            return key
    return None


def _told_apart(members: Sequence[PlannedMember]) -> list[PlannedMember]:
    """Members with other encoders in the paper, but the same one and the same seed here, get other seeds.

    Else an ensemble over three encoders would be three times the same model.
    """
    found = []
    encoders: dict[tuple[str, int], str] = {}
    """The published encoder by the one used here and the seed."""
    for member in members:
        config, published = member.config, str(member.published.get(ENCODERS[0]))
        seed = config.seed
        if config.has_setting(ENCODERS[0]):
            while encoders.setdefault((str(config.value(ENCODERS[0])), seed), published) != published:
                seed += 1
        found.append(
            dataclasses.replace(
                member, config=config.replace_settings({"seed": seed}), moved=seed != config.seed
            )
        )
    return found


def _seeds_apart(members: Sequence[PlannedMember]) -> Iterator[str]:
    moved = [member for member in members if member.moved]
    if moved:
        seeds = ", ".join(dict.fromkeys(str(member.config.seed) for member in moved))
        names = ", ".join(member.name for member in moved)
        yield f"{names}: the encoder is that of another member, so the seed differs instead ({seeds})"


def _ordered(chosen: Sequence[PlannedMember], every: Mapping[str, PlannedMember]) -> list[PlannedMember]:
    """Members after those that they need; needed ones are added."""
    ordered: list[PlannedMember] = []

    def add(member: PlannedMember) -> None:
        if member in ordered:
            return
        if member.needs is not None:
            add(every[member.needs])
        ordered.append(member)

    for member in chosen:
        add(member)
    return ordered
