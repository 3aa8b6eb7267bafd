"""Room 6: one file per method. A new method is its file and one row here."""

from __future__ import annotations

import difflib
import importlib
import os
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
    "ensemble": ("ensemble", "Ensemble", "several models of any methods, their ranked lists combined"),
}


def method_class(name: str) -> type[Method]:
    """The class of a registry name, imported now."""
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


def load(folder: str | os.PathLike[str], *, verify: bool = True) -> Method:
    """A saved model, of whatever method. ``verify`` compares every file with its checksum."""
    stored = store.load(folder, verify=verify)
    if stored.method not in METHODS:
        raise ModelError(f"{folder} holds a {stored.method!r} model, which this treetop does not know")
    return method_class(stored.method).from_stored(stored, str(folder))
