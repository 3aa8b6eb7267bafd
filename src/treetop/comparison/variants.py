"""`Variant`: a named method with settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from ..methods import Method, MethodConfig, make, method_class
from ..registry import SINGLE_METHODS


@dataclass(frozen=True)
class Variant:
    """A method with settings: one row of a comparison."""

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the method's defaults. The seed is set by the comparison."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ConfigError(f"a variant of {self.method} has no name: give it one")
        if "seed" in self.settings:
            raise ConfigError(f"{self.name}: a variant cannot set its own seed; pass seeds to the comparison")

    @classmethod
    def of(cls, name: str, method: str, *layers: Mapping[str, Any]) -> Variant:
        """A variant from layers of settings, by short or full names; later layers override earlier ones.

        The variant keeps only settings that differ from the method's defaults, with full names and typed
        values.
        """
        defaults = method_class(method).config_class()
        config: MethodConfig = defaults
        for layer in layers:
            try:
                config = config.replace_settings(layer)
            except ConfigError as error:
                raise ConfigError(f"{name} ({method}): {error}") from None
        return cls(name, method, config.changed())

    def make(self, seed: int, threads: int | None = None, device: str | None = None) -> Method:
        """An untrained model; ``device`` applies only to methods that have one."""
        try:
            model = make(self.method, **{**self.settings, "seed": seed})
            wanted: dict[str, Any] = {} if threads is None else {"threads": threads}
            if device is not None and hasattr(model.config, "device"):
                wanted["device"] = device
            model.config = model.config.replace_settings(wanted)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None
        return model


def every_method(changes: Mapping[str, Any]) -> list[Variant]:
    """All methods except ensembles, each with those changes whose settings it has."""
    configs = {name: method_class(name).config_class() for name in SINGLE_METHODS}
    for setting in changes:
        if not any(config.has_setting(setting) for config in configs.values()):
            raise ConfigError(
                f"no method has a setting {setting!r}; treetop methods NAME lists the settings of a method"
            )
    return [
        Variant.of(name, name, {key: value for key, value in changes.items() if config.has_setting(key)})
        for name, config in configs.items()
    ]


def parse_variant(text: str) -> tuple[str, str, dict[str, str]]:
    """``wide=kim-cnn,filters=768,filter_sizes=2-4-8`` → name, method and settings."""
    name, equals, rest = text.partition("=")
    method, *pairs = rest.split(",")
    if not equals or not name.strip() or not method.strip() or "=" in method:
        raise ConfigError(f"a variant must be NAME=METHOD,SETTING=VALUE,…, not {text!r}")
    settings = {}
    for pair in pairs:
        setting, equals, value = pair.partition("=")
        if not equals or not setting.strip():
            raise ConfigError(
                f"the variant {name.strip()!r} has {pair!r} instead of SETTING=VALUE; a list of numbers is"
                " written 2-4-8"
            )
        settings[setting.strip()] = value
    return name.strip(), method.strip(), settings


def settings_text(settings: Mapping[str, Any]) -> str:
    """``filters=768,filter_sizes=2-4-8``"""
    return ",".join(f"{name}={_value_text(value)}" for name, value in settings.items())


def _value_text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "-".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
