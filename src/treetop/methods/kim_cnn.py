"""Kim-CNN: filters over words, the maximum of each, and a score for every label.

``kim-cnn`` has a loss for each label (Eq. 4 of the study of XML-CNN); ``kim-cnn-softmax`` the one of the
original, which asks for a single right label (Eq. 3).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..config import part, setting
from ..neural.config import TrainingConfig
from ..neural.text_cnn import TextCNNConfig
from .text_cnn import CNN, CNNConfig


@dataclass(frozen=True)
class KimCNNConfig(CNNConfig):
    """One filter size, as the study recommends; sizes of EUR-Lex."""

    epochs: int = setting(20, "how often the network sees all examples", at_least=1)
    training: TrainingConfig = part(TrainingConfig(learning_rate=1e-3), "the training loop")
    cnn: TextCNNConfig = part(TextCNNConfig(filters=768), "the layers")


class KimCNN(CNN):
    """The recommended network where memory allows."""

    name = "kim-cnn"
    config_class = KimCNNConfig


@dataclass(frozen=True)
class KimCNNSoftmaxConfig(KimCNNConfig):
    """As `KimCNNConfig`, with the loss of the original, which wants a smaller rate."""

    training: TrainingConfig = part(TrainingConfig(learning_rate=3e-4), "the training loop")
    cnn: TextCNNConfig = part(TextCNNConfig(filters=768, loss="softmax", dropout=0.8), "the layers")


class KimCNNSoftmax(CNN):
    """Kim-CNN with softmax cross-entropy, for comparison."""

    name = "kim-cnn-softmax"
    config_class = KimCNNSoftmaxConfig
