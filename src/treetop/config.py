"""Settings: frozen dataclasses that validate themselves. Defaults and help are written once.

A method's config nests the configs of its parts. ``config.replace_settings({"tree.leaf_size": "50"})`` takes
dotted names, or their last part where it is unambiguous, and values as Python objects or as text. Python
keywords, ``--set`` on the command line and saved manifests all use it.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .deprecation import warn_renamed
from .errors import ConfigError

if typing.TYPE_CHECKING:
    from typing_extensions import Self

LARGEST = 2**31 - 1
"""Upper limit of integer settings without another: the native core has 32-bit integers."""


def setting(
    default: Any,
    help: str,
    *,
    choices: tuple[Any, ...] | None = None,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    names_file: bool = False,
) -> Any:
    """A dataclass field with its help text and its allowed values.

    ``names_file``: whether it names a file or folder that training reads.
    """
    metadata = {
        "help": help,
        "choices": choices,
        "at_least": at_least,
        "above": above,
        "at_most": at_most,
        "names_file": names_file,
    }
    return dataclasses.field(default=default, metadata=metadata)


def part(config: Config, help: str) -> Any:
    """A nested config; ``config`` holds its defaults."""
    return dataclasses.field(default_factory=lambda: config, metadata={"help": help})


@dataclass(frozen=True)
class Setting:
    """One leaf of a config: its dotted name, its type as text, its value, its help."""

    name: str
    type: str
    value: Any
    help: str
    choices: tuple[Any, ...] | None
    names_file: bool


@dataclass(frozen=True)
class Config:
    """Base of every settings class. Subclasses declare fields with `setting` and `part`."""

    renamed: ClassVar[Mapping[str, str | None]] = {}
    """Current names of settings by those of the previous version; None: a removed setting without effect."""

    def __post_init__(self) -> None:
        types_of = _types_of(type(self))
        for field in dataclasses.fields(self):
            value = _convert(getattr(self, field.name), types_of[field.name], field.name)
            object.__setattr__(self, field.name, value)
            _check_range(value, field)
        self.check()

    if not typing.TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The value of a setting by its old name."""
            if name.startswith("_") or not self.renamed.get(name):
                raise AttributeError(f"{type(self).__name__} has no setting {name!r}")
            return getattr(self, self.full_name(name))

    def check(self) -> None:
        """Checks rules between fields; subclasses raise `ConfigError`."""

    def settings(self, prefix: str = "") -> Iterator[Setting]:
        """Every leaf setting, parts included, in order of declaration."""
        types_of = _types_of(type(self))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Config):
                yield from value.settings(f"{prefix}{field.name}.")
            else:
                metadata = field.metadata
                yield Setting(
                    prefix + field.name,
                    _type_name(types_of[field.name]),
                    value,
                    metadata.get("help", ""),
                    metadata.get("choices"),
                    metadata.get("names_file", False),
                )

    def value(self, name: str) -> Any:
        """The value of one setting, by its full name."""
        for item in self.settings():
            if item.name == name:
                return item.value
        raise ConfigError(f"{name} is a group of settings: name one of them")

    def replace_settings(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some settings changed at once, by dotted or unambiguous short name."""
        replaced: dict[str, Any] = {}
        given: dict[str, str] = {}
        """The names given, by full names."""
        inside: dict[str, dict[str, Any]] = {}
        """Changes of each part."""
        for name, value in changes.items():
            full = self.full_name(name)
            if not full:
                continue
            if full in given:
                raise ConfigError(f"{given[full]} and {name} are the same setting: give one of them")
            given[full] = name
            head, _, rest = full.partition(".")
            inner = {rest: value} if rest else value
            if not isinstance(getattr(self, head), Config) or isinstance(inner, Config):
                replaced[head] = value
            elif isinstance(inner, Mapping):
                inside.setdefault(head, {}).update(inner)
            else:
                raise ConfigError(f"{name} is a group of settings: pass a mapping, or name one of them")
        for head, inner in inside.items():
            replaced[head] = replaced.get(head, getattr(self, head)).replace_settings(inner)
        return dataclasses.replace(self, **replaced)

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dictionaries, ready for JSON."""
        return dataclasses.asdict(self)

    def changed(self) -> dict[str, Any]:
        """Settings that differ from the defaults, by full name."""
        defaults = {item.name: item.value for item in type(self)().settings()}
        return {item.name: item.value for item in self.settings() if item.value != defaults[item.name]}

    def with_stored(self, stored: Mapping[str, Any]) -> Self:
        """A copy with the settings of a manifest, perhaps from an older version."""
        return self.replace_settings(self._current_names(stored))

    def _current_names(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        current_values: dict[str, Any] = {}
        for name, value in stored.items():
            current = self.renamed.get(name, name)
            inner = getattr(self, current, None) if current else None
            if current and isinstance(inner, Config) and isinstance(value, Mapping):
                current_values[current] = inner._current_names(value)
            elif current:
                current_values[current] = value
        return current_values

    def has_setting(self, name: str) -> bool:
        """Whether at least one setting has this dotted or short name, perhaps an old one."""
        names = (item.name for item in self.settings())
        return any(name in (full, full.rpartition(".")[2]) for full in (*names, *self._old_names()))

    def _old_names(self, prefix: str = "") -> dict[str, str | None]:
        """Current full names by old full names, parts included."""
        names = {prefix + old: new and prefix + new for old, new in self.renamed.items()}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Config):
                names |= value._old_names(f"{prefix}{field.name}.")
        return names

    def full_name(self, name: str) -> str:
        """The dotted name of a setting or part, from any of its names; empty for a removed setting."""
        if name in {field.name for field in dataclasses.fields(self)}:
            return name
        names = [item.name for item in self.settings()]
        if name in names:
            return name
        for old, new in self._old_names().items():
            if name in (old, old.rpartition(".")[2]):
                advice = f"use {new}" if new else "leave it out: it has no effect"
                warn_renamed(f"the setting {name}", advice)
                return new or ""
        short = [full for full in names if full.rpartition(".")[2] == name]
        if len(short) == 1:
            return short[0]
        if short:
            raise ConfigError(f"setting {name!r} is ambiguous: use {' or '.join(short)}")
        near = difflib.get_close_matches(name, names + [full.rpartition(".")[2] for full in names], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "list them with: treetop methods NAME"
        raise ConfigError(f"there is no setting {name!r}; {hint}")


def lengthened(values: tuple, length: int) -> list:
    """A list for the lowest levels, extended to all ``length`` levels by repeating its first entry."""
    if len(values) > length:
        return list(values[len(values) - length :])
    return [values[0]] * (length - len(values)) + list(values)


def value_text(value: Any) -> str:
    """A setting's value as text that the setting accepts."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value_text(item) for item in value)
    return str(value)


def _type_name(annotation: Any) -> str:
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        return " or ".join(
            "none" if a is types.NoneType else _type_name(a) for a in typing.get_args(annotation)
        )
    if typing.get_origin(annotation) is tuple:
        return f"list of {typing.get_args(annotation)[0].__name__}"
    return getattr(annotation, "__name__", str(annotation))


_TYPES: dict[type[Config], dict[str, Any]] = {}


def _types_of(config: type[Config]) -> dict[str, Any]:
    if config not in _TYPES:
        _TYPES[config] = typing.get_type_hints(config)
    return _TYPES[config]


def _convert(value: Any, annotation: Any, name: str) -> Any:
    """``value`` as the annotated type; text is parsed, other types raise an error."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        options = typing.get_args(annotation)
        is_none = value is None or (isinstance(value, str) and value.lower() in ("none", ""))
        if is_none and types.NoneType in options:
            return None
        for option in options:
            if option is types.NoneType:
                continue
            try:
                return _convert(value, option, name)
            except ConfigError:
                continue
        raise ConfigError(f"{name} must be {_type_name(annotation)}, not {value!r}")
    if typing.get_origin(annotation) is tuple:
        item = typing.get_args(annotation)[0]
        if isinstance(value, str):
            pieces = re.split(r",|(?<=\d)-" if item is int else ",", value)
            value = [piece.strip() for piece in pieces if piece.strip()]
        one = not isinstance(value, typing.Iterable)
        return tuple(_convert(piece, item, name) for piece in ([value] if one else value))
    if isinstance(annotation, type):
        converted = _convert_scalar(value, annotation)
        if converted is not None:
            return converted
    raise ConfigError(f"{name} must be {_type_name(annotation)}, not {value!r}")


def _convert_scalar(value: Any, kind: type) -> Any:
    if kind is bool:
        words = {"true": True, "yes": True, "on": True, "1": True}
        words |= {"false": False, "no": False, "off": False, "0": False}
        return value if isinstance(value, bool) else words.get(str(value).lower())
    if isinstance(value, bool):
        return None
    if kind in (int, float):
        try:
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            return None
        if kind is int:
            return number if isinstance(value, str) or number == value else None
        return number if math.isfinite(number) else None
    if kind is str and isinstance(value, os.PathLike):
        return os.fspath(value)
    if kind is str or issubclass(kind, Config):
        return value if isinstance(value, kind) else None
    return None


def _check_range(value: Any, field: dataclasses.Field[Any]) -> None:
    if value is None:
        return
    limits = field.metadata
    for item in value if isinstance(value, tuple) else (value,):
        if limits.get("choices") and item not in limits["choices"]:
            options = ", ".join(str(choice) for choice in limits["choices"])
            raise ConfigError(f"{field.name} must be one of {options}, not {item!r}")
        if limits.get("at_least") is not None and item < limits["at_least"]:
            raise ConfigError(f"{field.name} must be at least {limits['at_least']:g}, not {item!r}")
        if limits.get("above") is not None and item <= limits["above"]:
            raise ConfigError(f"{field.name} must be above {limits['above']:g}, not {item!r}")
        at_most = limits.get("at_most")
        if at_most is None and isinstance(item, int):
            at_most = LARGEST
        if at_most is not None and item > at_most:
            raise ConfigError(f"{field.name} must be at most {_plain(at_most)}, not {item!r}")


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"
