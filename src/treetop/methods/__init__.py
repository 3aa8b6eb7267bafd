"""One file per method. A new method is its file and one row in `treetop.registry`."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import os
from collections.abc import Mapping
from typing import Any

from .. import store
from ..errors import ConfigError, ModelError, explain_missing
from ..registry import METHODS
from .base import Method, MethodConfig

__all__ = ["METHODS", "Method", "MethodConfig", "load", "make", "method_class"]


def method_class(name: str) -> type[Method]:
    """The class of a registry name, imported now."""
    if not isinstance(name, str):
        raise ConfigError(f"a method must be a name such as 'xr-linear', not {name!r}")
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(METHODS)}"
        raise ConfigError(f"there is no method {name!r}; {hint}")
    entry = METHODS[name]
    try:
        found: type[Method] = getattr(importlib.import_module(f".{entry.module}", __name__), entry.class_name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, name) from None
    return found


def make(name: str, **settings: Any) -> Method:
    """Creates an untrained model by the name of its method: ``make("xr-linear", beam=20, leaf_size=50)``."""
    return method_class(name)(**settings)


AT_PREDICTION = ("threads", "device", "precision", "int8")
"""Settings of a trained model that `load` can change."""


def load(folder: str | os.PathLike[str], *, verify: bool = True, **settings: Any) -> Method:
    """Loads a saved model of any method, or one of PECOS (see `load_pecos`).

    ``verify`` compares every file with its checksum; folders of PECOS have none.

    ``settings``: those that predictions use (`AT_PREDICTION`), for all parts of the model that have them:
    ``load("model/", device="cpu", int8=True)``.
    """
    for name in settings:
        if name not in AT_PREDICTION:
            raise ConfigError(f"load accepts only the settings {', '.join(AT_PREDICTION)}, not {name!r}")
    from .pecos import is_pecos, load_pecos

    if is_pecos(folder):
        return load_pecos(folder, threads=settings.get("threads", 0))
    stored = store.load(folder, verify=verify)
    if stored.method not in METHODS:
        raise ModelError(
            f"{folder} holds a {stored.method!r} model, which this version of treetop does not know;"
            " upgrade treetop"
        )
    if settings:
        try:
            config, data = _adjusted(stored.method, stored.config, stored.data, settings)
        except ConfigError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{folder}: the model cannot be restored ({error})") from error
        stored = dataclasses.replace(stored, config=config, data=data)
    return method_class(stored.method).from_stored(stored, str(folder))


def _adjusted(
    method: str, config: dict[str, Any], data: dict[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same with other settings, also of the members of an ensemble."""
    made = method_class(method).config_class().with_stored(config)
    made = made.replace_settings({name: value for name, value in settings.items() if made.has_setting(name)})
    if "members" in data:
        members = []
        for member in data["members"]:
            inner = _adjusted(member["method"], member["config"], member["data"], settings)
            members.append(member | {"config": inner[0], "data": inner[1]})
        data = data | {"members": members}
    return made.to_dict(), data
