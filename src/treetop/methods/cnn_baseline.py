"""The baseline that the study of XML-CNN recommends: Kim-CNN with a hidden layer before the labels."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part
from ..neural.config import TrainingConfig
from ..neural.text_cnn import TextCNN, TextCNNConfig
from .cnn_config import CNN_SPACE, HIDDEN_SPACE, CNNConfig, text_cnn
from .neural import NeuralMethod


@dataclass(frozen=True)
class CNNBaselineConfig(CNNConfig):
    """The sizes for EUR-Lex in the study."""

    training: TrainingConfig = part(TrainingConfig(learning_rate=1e-3), "the training loop")
    cnn: TextCNNConfig = part(
        TextCNNConfig(filters=768, hidden=512, embedding_dropout=0.4), "the layers of the network"
    )


class CNNBaseline(NeuralMethod):
    """One maximum per filter, a hidden layer, a loss for each label."""

    name = "cnn-baseline"
    config_class = CNNBaselineConfig
    search_space = CNN_SPACE | HIDDEN_SPACE
    config: CNNBaselineConfig

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        return text_cnn(self.reader, labels, self.config, trained=trained)
