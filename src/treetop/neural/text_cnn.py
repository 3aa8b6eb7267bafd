"""`TextCNN`: convolutions over word vectors, with every variant in the study of XML-CNN.

    words → vectors → dropout → convolution → pooling → ReLU → [hidden layer → ReLU] → dropout → labels

Sweep along words (Eq. 1 of the study): a filter spans m words and all k dimensions of their vectors, and
slides over the text. Sweep along embeddings: a filter spans all words of a text of fixed length and m
dimensions, and slides over the dimensions, as in the first public code of XML-CNN.

Pooling of a feature map c of length n:

    max        max(c)                                                         Kim-CNN
    dynamic    max(c[⌊j·n/d⌋ : ⌈(j+1)·n/d⌉]),  j = 0 … d-1                    Eq. 6
    adjacent   max(c[0:2]), max(c[1:3]), …                                    Eq. 7
    none       c

With max and dynamic pooling along words, n is a text's own length, so padding has no effect. Adjacent and no
pooling along words, and every sweep along embeddings, need texts of equal length, padded or cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..config import Config, setting
from ..errors import ConfigError
from .batches import Batch
from .heads import Bottleneck, LabelHead
from .losses import LOSSES
from .network import Network


@dataclass(frozen=True)
class TextCNNConfig(Config):
    """Layers between words and labels."""

    sweep: str = setting(
        "words",
        "axis that filters slide along: the words of a text, or the dimensions of their embeddings",
        choices=("words", "embeddings"),
    )
    pooling: str = setting(
        "max",
        "pooling of each filter: one maximum (max), one for each of several parts of the text (dynamic), "
        "maxima of neighbours (adjacent), or none",
        choices=("max", "dynamic", "adjacent", "none"),
    )
    pools: int = setting(4, "number of parts in dynamic pooling", at_least=1)
    filter_sizes: tuple[int, ...] = setting(
        (8,), "filter sizes, in words (or embedding dimensions)", at_least=1
    )
    filters: int = setting(384, "number of filters of each size", at_least=1)
    stride: int = setting(1, "stride of the filters", at_least=1)
    hidden: int = setting(0, "units of the hidden layer; 0: no hidden layer", at_least=0)
    embedding_dropout: float = setting(0.2, "dropout on word vectors", at_least=0, at_most=1)
    dropout: float = setting(0.4, "dropout before the label layer", at_least=0, at_most=1)
    loss: str = setting("bce", "loss over all labels", choices=LOSSES)
    init: str = setting("kaiming", "initialisation of the weights (uniform)", choices=("kaiming", "xavier"))

    def check(self) -> None:
        if not self.filter_sizes:
            raise ConfigError("filter_sizes must name at least one size")

    @property
    def needs_fixed_length(self) -> bool:
        """Whether all texts must have the same length."""
        return self.sweep == "embeddings" or self.pooling in ("adjacent", "none")


class TextCNN(Network):
    """Parts: ``words`` (vectors), ``filters``, ``hidden``, ``head``."""

    def __init__(self, words: nn.Embedding, labels: int, length: int, config: TextCNNConfig) -> None:
        """``length`` of the texts, for networks that need a fixed one; at least the largest filter size."""
        super().__init__()
        self.config = config
        self.words = words
        self.length = max(length, *config.filter_sizes)
        channels, extent = words.embedding_dim, self.length
        if config.sweep == "embeddings":
            channels, extent = extent, channels
            if extent < max(config.filter_sizes):
                raise ConfigError(
                    f"filter_sizes: word vectors have only {extent} dimensions: set smaller sizes"
                )
        self.filters = nn.ModuleList(
            nn.Conv1d(channels, config.filters, size, stride=config.stride) for size in config.filter_sizes
        )
        width = config.filters * sum(self._pooled(extent, size) for size in config.filter_sizes)
        self.hidden: nn.Module = nn.Dropout(config.dropout)
        if config.hidden:
            self.hidden = Bottleneck(width, config.hidden, config.dropout)
        self.head = LabelHead(config.hidden or width, labels, config.loss)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1 and not name.startswith("words."):
                _initialise(parameter, config.init)

    def _pooled(self, extent: int, size: int) -> int:
        """Outputs of pooling per feature map."""
        length = (extent - size) // self.config.stride + 1
        outputs = {"max": 1, "dynamic": self.config.pools, "adjacent": max(length - 1, 1), "none": length}
        return outputs[self.config.pooling]

    @property
    def fixed_width(self) -> int | None:
        return self.length if self.config.needs_fixed_length else None

    @property
    def label_head(self) -> LabelHead:
        return self.head

    def forward(self, batch: Batch) -> Tensor:
        assert batch.positives is not None
        return self.head.loss(self.encode(batch), batch.positives)

    def top(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        return self.head.top(self.encode(batch), k)

    def encode(self, batch: Batch) -> Tensor:
        """The vectors of the texts that score the labels."""
        short = max(self.config.filter_sizes) - batch.tokens.shape[1]
        tokens = functional.pad(batch.tokens, (0, short)) if short > 0 else batch.tokens
        vectors = functional.dropout(self.words(tokens), self.config.embedding_dropout, self.training)
        if self.config.sweep == "words":
            vectors = vectors.transpose(1, 2)
        pooled = [
            self._pool(layer(vectors), batch.lengths, size)
            for layer, size in zip(self.filters, self.config.filter_sizes, strict=True)
        ]
        hidden: Tensor = self.hidden(torch.relu(torch.cat(pooled, 1)))
        return hidden

    def _pool(self, maps: Tensor, lengths: Tensor, size: int) -> Tensor:
        """Texts × (filters · pools) from texts × filters × places."""
        config = self.config
        if config.pooling == "none":
            return maps.flatten(1)
        if config.pooling == "adjacent":
            window = min(2, maps.shape[2])
            return functional.max_pool1d(maps, window, stride=1).flatten(1)
        places = torch.full_like(lengths, maps.shape[2])
        if config.sweep == "words":  # a text shorter than the filter has one place
            places = (torch.div(lengths - size, config.stride, rounding_mode="floor") + 1).clamp(min=1)
        if config.pooling == "max":
            outside = torch.arange(maps.shape[2], device=maps.device) >= places[:, None]
            return maps.masked_fill(outside[:, None], -torch.inf).amax(2)
        return _segment_maxima(maps, places, config.pools).flatten(1)


def _segment_maxima(maps: Tensor, places: Tensor, pools: int) -> Tensor:
    """max(c[⌊j·n/d⌋ : ⌈(j+1)·n/d⌉]) for j < d, n the number of ``places`` of each text.

    Every part is read as wide as the widest, padded with its last place.
    """
    part = torch.arange(pools, device=maps.device)
    first = places[:, None] * part // pools
    last = (places[:, None] * (part + 1) + pools - 1) // pools - 1
    widest = (maps.shape[2] + pools - 1) // pools + 1
    steps = torch.arange(widest, device=maps.device)
    at = torch.minimum(first[..., None] + steps, last[..., None])  # texts × pools × widest
    spread = at.flatten(1)[:, None].expand(-1, maps.shape[1], -1)
    return maps.gather(2, spread).view(*maps.shape[:2], pools, widest).amax(3)


def _initialise(parameter: nn.Parameter, init: str) -> None:
    if init == "xavier":
        nn.init.xavier_uniform_(parameter)
    else:
        nn.init.kaiming_uniform_(parameter, nonlinearity="relu")
