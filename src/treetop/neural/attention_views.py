"""Attention of the first token of a text, layer by layer: Figures 2 and 3 of CascadeXML.

a_lhj    attention, in head h of layer l, of the first token to token j;  Σ_j a_lhj = 1
itself   a_lh0: the weight of the first token itself
entropy  -Σ_j a_lhj log a_lhj: 0 where one token has all the weight, log n where all n have the same
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..errors import ConfigError, ModelError
from .batches import Batch, Examples
from .encoder import Encoder, rebuilt
from .inference import InferenceSettings, for_each_batch

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AttentionViews:
    """Attention of the first token in some texts, in some layers."""

    layers: tuple[int, ...]
    """Counted from 1."""
    lengths: npt.NDArray[np.int64]
    """Tokens of every text."""
    weights: Floats
    """a, texts × layers × heads × tokens; 0 after the end of a text."""

    @property
    def to_itself(self) -> Floats:
        """Texts × layers × heads."""
        return self.weights[..., 0]

    @property
    def entropy(self) -> Floats:
        """Texts × layers × heads, in nats."""
        logs = np.log(np.where(self.weights > 0, self.weights, 1))
        entropy: Floats = -(self.weights * logs).sum(-1)
        return entropy


def attention_views(
    encoder: Encoder, examples: Examples, numbers: Iterable[int] | Any, inference: InferenceSettings
) -> AttentionViews:
    """The attention in some layers, by a copy of the encoder that returns it; dropout is off."""
    layers = checked_layers(numbers, encoder.depth)
    plain = rebuilt(encoder.config.replace_settings({"attention": "eager"}), encoder.description())
    plain.load_state_dict(encoder.state_dict())
    plain.transformer.config.output_attentions = True
    heads, longest = (
        int(plain.transformer.config.num_attention_heads),
        int(examples.token_counts.max(initial=1)),
    )
    weights = torch.zeros((len(examples), len(layers), heads, longest))

    def use(batch: Batch) -> None:
        attentions = plain.attentions(batch)
        if attentions is None or len(attentions) != encoder.depth:
            raise ModelError(
                f"transformers of type {plain.transformer.config.model_type} do not return attention:"
                " train with another encoder"
            )
        width = min(batch.tokens.shape[1], longest)
        first = torch.stack([attentions[layer - 1][:, :, 0, :width] for layer in layers], 1)
        weights[batch.rows.cpu(), :, :, :width] = first.float().cpu()

    for_each_batch("Attention", plain, use, examples, inference)
    return AttentionViews(tuple(layers), examples.token_counts.astype(np.int64), weights.numpy())


def checked_layers(numbers: Iterable[int] | Any, depth: int) -> list[int]:
    """Layer numbers of an encoder with ``depth`` layers, in order."""
    layers = list(numbers) if isinstance(numbers, Iterable) else [numbers]
    if not layers:
        raise ConfigError("layers: name at least one")
    for layer in layers:
        if not isinstance(layer, int | np.integer):
            raise ConfigError(f"layers must be numbers from 1 to {depth}, not {layer!r}")
        if not 1 <= layer <= depth:
            raise ConfigError(f"there is no layer {layer}: the encoder has {depth}")
    return sorted({int(layer) for layer in layers})
