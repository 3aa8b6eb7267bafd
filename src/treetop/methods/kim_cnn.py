"""Kim-CNN: filters over words, the maximum of each filter, and a score for every label.

``kim-cnn`` has a binary loss per label (Eq. 4 of the study of XML-CNN); ``kim-cnn-softmax`` has the original
one, for a single right label (Eq. 3).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part, setting
from ..neural.config import TrainingConfig
from ..neural.text_cnn import TextCNN, TextCNNConfig
from .cnn_config import CNN_SPACE, CNNConfig, text_cnn
from .neural import NeuralMethod


@dataclass(frozen=True)
class KimCNNConfig(CNNConfig):
    """One filter size, as the study recommends; the sizes for EUR-Lex."""

    epochs: int = setting(20, "passes over the training examples", at_least=1)
    training: TrainingConfig = part(TrainingConfig(learning_rate=1e-3), "the training loop")
    cnn: TextCNNConfig = part(TextCNNConfig(filters=768), "the layers of the network")


class KimCNN(NeuralMethod):
    """The network that the study recommends where memory allows."""

    name = "kim-cnn"
    config_class = KimCNNConfig
    search_space = CNN_SPACE
    config: KimCNNConfig

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        return text_cnn(self.reader, labels, self.config, trained=trained)


@dataclass(frozen=True)
class KimCNNSoftmaxConfig(KimCNNConfig):
    """Like `KimCNNConfig`, with the original loss, which needs a lower learning rate."""

    training: TrainingConfig = part(TrainingConfig(learning_rate=3e-4), "the training loop")
    cnn: TextCNNConfig = part(
        TextCNNConfig(filters=768, loss="softmax", dropout=0.8), "the layers of the network"
    )


class KimCNNSoftmax(NeuralMethod):
    """Kim-CNN with softmax cross-entropy, for comparison."""

    name = "kim-cnn-softmax"
    config_class = KimCNNSoftmaxConfig
    search_space = CNN_SPACE
    config: KimCNNSoftmaxConfig

    def _build(self, labels: int, *, trained: bool) -> TextCNN:
        return text_cnn(self.reader, labels, self.config, trained=trained)
