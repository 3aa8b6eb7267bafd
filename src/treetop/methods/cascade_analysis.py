"""Analysis of a trained CascadeXML model: recall of its levels, attention of its first token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..data import Dataset
from ..data.frames import labelled
from ..errors import DataError
from ..neural import attention_views as views
from ..neural import level_recall as recall
from ..neural.attention_views import AttentionViews
from ..neural.batches import Examples
from ..neural.cascade_network import CascadeNetwork
from ..neural.device import chosen_device, clear_memory_errors, using_threads
from ..neural.inference import InferenceSettings
from ..neural.pretrained import pretrained
from .cascadexml import CascadeXML
from .fine_tuning import inference_settings
from .inputs import Inputs


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
