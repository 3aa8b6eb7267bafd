"""The configuration of a transformer as a model folder holds it: known fields, nothing that fetches or runs.

Where a configuration asks for it, transformers imports code (``auto_map``), downloads kernels
(``attn_implementation``) and backbones, or sets any attribute. So only the fields of the family's
architecture are written, and only these are read, with plain values: numbers, short names such as ``gelu``,
and lists.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import transformers

from ..errors import ModelError
from ..limits import LAYERS, check_count

_NEVER = {
    *(
        "architectures",
        "dtype",
        "torch_dtype",
        "id2label",
        "label2id",
        "problem_type",
        "transformers_version",
    ),
    *("kwargs", "return_dict", "output_hidden_states", "output_attentions", "reference_compile"),
    *("auto_map", "trust_remote_code", "custom_pipelines", "quantization_config", "name_or_path"),
    *("attn_implementation", "experts_implementation", "use_kernels", "kernel_config", "compression_config"),
}
"""Fields that are not the architecture, or that name code, files or the hub."""
_ROTARY = re.compile(r"((global|local)_)?rope_\w+|partial_rotary_factor|rotary_\w+")
"""Fields that transformers 5 takes over from configurations of transformers 4."""
_NAME = re.compile(r"[A-Za-z0-9_|+-]{1,64}")
"""Names inside transformers; those of files, modules and repositories have a dot, slash or colon."""
_COUNTS_LAYERS = re.compile(r"\w*(layer|block|group)s?\w*")
_LARGEST = 10**8
"""A number that no size of a transformer reaches."""
_OWN_KERNELS = (None, "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention")
"""Implementations of attention inside transformers or an installed package."""
_FETCHING = ("backbone", "timm")
"""In the names of families and fields that get another network from a library."""


def reduced(described: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a configuration's architecture, with its ``model_type``."""
    family = described["model_type"]
    if not isinstance(family, str) or family not in transformers.CONFIG_MAPPING:
        raise ValueError(f"no known transformer: {str(family)[:60]!r}")
    known = inspect.signature(transformers.CONFIG_MAPPING[family].__init__).parameters
    if any(word in name for word in _FETCHING for name in (family, *known)):
        raise ValueError(f"not an encoder of texts: {family!r}")
    fields = {
        name: value
        for name, value in described.items()
        if (name in known or _ROTARY.fullmatch(name)) and _is_safe(name) and _is_plain(value)
    }
    return {**fields, "model_type": family}


def check_sizes(fields: Mapping[str, Any]) -> None:
    """Rejects sizes that no transformer has, before anything of that size is made."""
    for name, value in fields.items():
        if isinstance(value, dict):
            check_sizes(value)
            continue
        counted = _COUNTS_LAYERS.fullmatch(name) is not None
        for number in [len(value), *value] if isinstance(value, list) else [value]:
            if isinstance(number, int) and counted:
                check_count(LAYERS, number, f"{name} of the encoder", ModelError)
            elif isinstance(number, int) and abs(number) > _LARGEST:
                raise ValueError(f"{name} is {number}")


def check_downloads_nothing(described: Mapping[str, Any]) -> None:
    """Rejects a configuration whose attention transformers would download as a kernel from the hub."""
    for name, value in described.items():
        chosen = value.values() if isinstance(value, dict) else [value]
        fetches = name.endswith("_implementation") and any(one not in _OWN_KERNELS for one in chosen)
        if fetches or (name in ("use_kernels", "kernel_config") and value):
            raise ValueError(f"its config.json has {name}, for which code would be downloaded; remove it")
        if isinstance(value, dict):
            check_downloads_nothing(value)


def _is_safe(name: str) -> bool:
    return name not in _NEVER and not name.startswith("_")


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _NAME.fullmatch(value) is not None
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_safe(str(name)) and _is_plain(inside) for name, inside in value.items())
    return value is None or isinstance(value, (bool, int, float))
