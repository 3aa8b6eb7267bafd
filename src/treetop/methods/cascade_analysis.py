"""Analysis of a trained CascadeXML model: recall of its levels, attention of its first token, and how similar
its layers are; the last also of other models with a text encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..data import Dataset
from ..data.frames import labelled
from ..errors import ConfigError, DataError
from ..neural import attention_views as views
from ..neural import layer_similarity as similarity
from ..neural import level_recall as recall
from ..neural.attention_views import AttentionViews, checked_layers
from ..neural.batches import Examples
from ..neural.cascade_network import CascadeNetwork
from ..neural.device import chosen_device, clear_memory_errors, using_threads
from ..neural.inference import InferenceSettings
from ..neural.layer_similarity import LayerSimilarity
from ..neural.pretrained import pretrained
from ..neural.text_encoder import TextEncoder
from .base import Method
from .cascadexml import CascadeXML
from .fine_tuning import inference_settings
from .inputs import Inputs
from .network_config import NetworkConfig

STAGES = ("trained", "published")


def level_recall(model: CascadeXML, data: Dataset | Any) -> list[dict[str, float]]:
    """The recall of each level on labelled texts, from the top.

    ``level``, its number of ``nodes``, the mean number ``chosen`` (in the beam) per text, and the ``recall``:
    the percentage of true nodes that are chosen. On the last level, all labels below a chosen cluster count.
    Labels that the network does not know are ignored.
    """
    known = model.known_labels
    data = labelled(data, "level_recall needs")
    if data.Y is None:
        raise DataError("level_recall needs labelled texts: give a Dataset with labels")
    dataset = model.input_set(data).aligned_to(known)
    network, config = model.network, model.config
    assert dataset.texts is not None and dataset.Y is not None and isinstance(network, CascadeNetwork)
    assert model.reader is not None
    Y = sparse.csr_matrix(dataset.Y[:, model.used], dtype=np.float32)
    if not Y.nnz:
        raise DataError(f"{data.source}: no text has a label that the model knows: give other texts")
    inference = inference_settings(config, chosen_device(config.device), int8=config.transformer.int8)
    with using_threads(model.threads), clear_memory_errors():
        examples = Examples(model.reader.tokens(dataset.texts, threads=model.threads), Y)
        return recall.level_recall(network, examples, inference)


def attention_views(
    model: CascadeXML, inputs: Inputs, layers: Iterable[int] | None = None, *, published: bool = False
) -> AttentionViews:
    """The attention of the first token of texts in ``layers``, by default those that the levels use.

    ``published``: by the encoder before fine-tuning, for comparison. Always in 32 bits.
    """
    model.check_trained()
    dataset = model.input_set(inputs)
    network, reader, config = model.network, model.reader, model.config
    assert dataset.texts is not None and isinstance(network, CascadeNetwork) and reader is not None
    encoder = network.encoder
    if published:
        encoder, _ = pretrained(config.transformer, config.max_length)
    inference = InferenceSettings(config.batch_size, chosen_device(config.device), torch.float32)
    with using_threads(model.threads), clear_memory_errors():
        examples = Examples(reader.tokens(dataset.texts, threads=model.threads))
        return views.attention_views(encoder, examples, network.taps if layers is None else layers, inference)


def layer_similarity(
    model: Method,
    inputs: Inputs,
    layers: Iterable[int] | None = None,
    *,
    first: str = "trained",
    second: str = "trained",
) -> LayerSimilarity:
    """PWCCA between the vectors of texts after each layer, by default those that the levels use, or all.

    ``first`` and ``second``: the ``trained`` encoder, or the ``published`` one before fine-tuning; with one
    of each, the similarity of a layer with itself shows how much training has changed it. The vectors are
    those that the model reads: with ``pooling=cls``, the states of the first token. Works for any model with
    a text encoder. Always in 32 bits.
    """
    model.check_trained()
    # Networks read texts with their encoder; methods that fine-tune one level by level keep it as a part.
    text_encoder = getattr(model, "reader", None) or getattr(model, "encoder", None)
    if not isinstance(text_encoder, TextEncoder):
        raise ConfigError(f"layer_similarity needs a model with a text encoder: {model.name} has none")
    for stage in (first, second):
        if stage not in STAGES:
            raise ConfigError(f"first and second must be one of {', '.join(STAGES)}, not {stage!r}")
    dataset, config, encoder = model.input_set(inputs), model.config, text_encoder.encoder
    assert dataset.texts is not None and isinstance(config, NetworkConfig)
    network = getattr(model, "network", None)
    if layers is None:
        layers = network.taps if isinstance(network, CascadeNetwork) else range(1, encoder.depth + 1)
    numbers = checked_layers(layers, encoder.depth)
    inference = InferenceSettings(config.batch_size, chosen_device(config.device), torch.float32)
    with using_threads(model.threads), clear_memory_errors():
        examples = Examples(text_encoder.tokens(dataset.texts))
        encoders = {"trained": encoder}
        if "published" in (first, second):
            encoders["published"], _ = pretrained(encoder.config, text_encoder.longest)
        vectors = {
            stage: similarity.layer_vectors(encoders[stage], examples, numbers, inference)
            for stage in dict.fromkeys((first, second))
        }
        return similarity.layer_similarity(vectors[first], vectors[second], numbers)
