"""Room 6: one file per method. A new method is its file and one row here."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import os
from collections.abc import Mapping
from typing import Any

from .. import store
from ..errors import ConfigError, ModelError, explain_missing
from .base import Method, MethodConfig

__all__ = ["METHODS", "Method", "MethodConfig", "load", "make", "method_class"]

METHODS = {
    # name: (module, class, one line for the help)
    "xr-linear": ("xr_linear", "XRLinear", "linear classifiers on a k-way label tree, beam search"),
    "parabel": ("parabel", "Parabel", "three balanced binary label trees, averaged"),
    "bonsai": ("bonsai", "Bonsai", "three shallow, wide label trees, averaged"),
    "plt": ("plt", "PLT", "probabilistic label tree: scores are probabilities"),
    "neighbours": ("neighbours", "NearestNeighbours", "the vote of the most similar training texts"),
    "hybrid": ("hybrid", "Hybrid", "xr-linear and neighbours together, weighed on held-out texts"),
    "dismec": ("dismec", "DiSMEC", "one classifier per label against all texts; slow with many labels"),
    "kim-cnn": ("kim_cnn", "KimCNN", "convolutions over words, the maximum of each filter"),
    "kim-cnn-softmax": ("kim_cnn", "KimCNNSoftmax", "the same with the loss of the original"),
    "xml-cnn": ("xml_cnn", "XMLCNN", "convolutions with dynamic pooling and a hidden layer"),
    "xml-cnn-impl": ("xml_cnn", "XMLCNNImpl", "what the first public code of XML-CNN computed"),
    "cnn-baseline": ("cnn_baseline", "CNNBaseline", "convolutions and a hidden layer: small for many labels"),
    "flat-transformer": (
        "flat_transformer",
        "FlatTransformer",
        "a fine-tuned transformer and a score for every label",
    ),
    "x-transformer": (
        "x_transformer",
        "XTransformer",
        "a transformer fine-tuned on clusters of labels, linear rankers inside them",
    ),
    "xr-transformer": (
        "xr_transformer",
        "XRTransformer",
        "a transformer fine-tuned from coarse clusters to labels, then linear rankers",
    ),
    "lightxml": ("lightxml", "LightXML", "a transformer that finds clusters and ranks their labels at once"),
    "cascadexml": ("cascadexml", "CascadeXML", "ever finer clusters at ever later layers of a transformer"),
    "attention-xml": (
        "attention_xml",
        "AttentionXML",
        "every label reads the words of a text in its own way",
    ),
    "ensemble": ("ensemble", "Ensemble", "several models of any methods, their ranked lists combined"),
}


def method_class(name: str) -> type[Method]:
    """The class of a registry name, imported now."""
    if not isinstance(name, str):
        raise ConfigError(f"a method is given by its name, not as {name!r}")
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(METHODS)}"
        raise ConfigError(f"there is no method {name!r}; {hint}")
    module, class_name, _ = METHODS[name]
    try:
        found: type[Method] = getattr(importlib.import_module(f".{module}", __name__), class_name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, name) from None
    return found


def make(name: str, **settings: Any) -> Method:
    """Any method by its registry name: ``make("xr-linear", beam=20, leaf_size=50)``."""
    return method_class(name)(**settings)


AT_PREDICTION = ("threads", "device", "precision", "int8")
"""Settings that a trained model may be given."""


def load(folder: str | os.PathLike[str], *, verify: bool = True, **settings: Any) -> Method:
    """A saved model, of whatever method. ``verify`` compares every file with its checksum.

    ``settings`` are those of predictions, `AT_PREDICTION`, for all parts of the model that have them:
    ``load("model/", device="cpu", int8=True)``.
    """
    for name in settings:
        if name not in AT_PREDICTION:
            raise ConfigError(f"a trained model can be given {', '.join(AT_PREDICTION)}, but not {name!r}")
    stored = store.load(folder, verify=verify)
    if stored.method not in METHODS:
        raise ModelError(f"{folder} holds a {stored.method!r} model, which this treetop does not know")
    if settings:
        try:
            config, data = _adjusted(stored.method, stored.config, stored.data, settings)
        except ConfigError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{folder}: the model cannot be put together ({error})") from error
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
