"""Every method, stated once: commands, exports and documentation follow from it. Imports nothing heavy."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """Where a method is, and one line about it for the help."""

    module: str
    """Its file in `treetop.methods`, without ``.py``."""
    class_name: str
    summary: str
    combines_models: bool = False
    """Whether it combines models of other methods: it is neither tuned nor among all methods compared."""


METHODS: dict[str, Entry] = {
    "xr-linear": Entry("xr_linear", "XRLinear", "linear classifiers on a k-way label tree, beam search"),
    "parabel": Entry("parabel", "Parabel", "three balanced binary label trees, averaged"),
    "bonsai": Entry("bonsai", "Bonsai", "three shallow, wide label trees, averaged"),
    "plt": Entry("plt", "PLT", "probabilistic label tree: scores are probabilities"),
    "neighbours": Entry("neighbours", "NearestNeighbours", "the vote of the most similar training texts"),
    "hybrid": Entry("hybrid", "Hybrid", "xr-linear and neighbours, weighted on held-out texts"),
    "dismec": Entry("dismec", "DiSMEC", "a one-versus-all classifier per label; slow with many labels"),
    "kim-cnn": Entry("kim_cnn", "KimCNN", "convolutions over words, max pooling per filter"),
    "kim-cnn-softmax": Entry("kim_cnn", "KimCNNSoftmax", "kim-cnn with the original softmax loss"),
    "xml-cnn": Entry("xml_cnn", "XMLCNN", "convolutions with dynamic pooling and a hidden layer"),
    "xml-cnn-impl": Entry("xml_cnn", "XMLCNNImpl", "xml-cnn as in its first public code"),
    "cnn-baseline": Entry(
        "cnn_baseline", "CNNBaseline", "convolutions and a hidden layer; stays small with many labels"
    ),
    "flat-transformer": Entry(
        "flat_transformer", "FlatTransformer", "a fine-tuned transformer with a score for every label"
    ),
    "x-transformer": Entry(
        "x_transformer",
        "XTransformer",
        "a transformer fine-tuned on clusters of labels, linear rankers inside them",
    ),
    "xr-transformer": Entry(
        "xr_transformer",
        "XRTransformer",
        "a transformer fine-tuned from coarse clusters to labels, then linear rankers",
    ),
    "lightxml": Entry(
        "lightxml", "LightXML", "a transformer that finds clusters and ranks their labels at once"
    ),
    "cascadexml": Entry(
        "cascadexml", "CascadeXML", "label clusters from coarse to fine at successive layers of a transformer"
    ),
    "attention-xml": Entry(
        "attention_xml", "AttentionXML", "every label attends to the words of a text in its own way"
    ),
    "ensemble": Entry(
        "ensemble",
        "Ensemble",
        "several models of any methods, their ranked lists combined",
        combines_models=True,
    ),
}

SINGLE_METHODS = tuple(name for name, entry in METHODS.items() if not entry.combines_models)
"""Names of the methods that train one model."""
