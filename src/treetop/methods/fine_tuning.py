"""`TrainingTask`: one training of a network, by which all methods train, and its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..data import Dataset
from ..data.held_out import held_out_rows
from ..errors import ConfigError, DataError
from ..features.joined import Vectors
from ..neural.batches import Examples
from ..neural.device import chosen_device, chosen_precision
from ..neural.inference import InferenceSettings
from ..neural.network import Network
from ..neural.resuming import TrainingStates
from ..neural.training import OnEpoch, Training, TrainingProgress, Validator
from ..strings import Strings
from .network_config import JoinedFeaturesConfig, NetworkConfig

if TYPE_CHECKING:
    from ..neural.text_encoder import TextEncoder


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """One training of a network, or of a part of it."""

    network: Network
    examples: Examples
    config: NetworkConfig
    device: torch.device
    title: str
    """Title of the progress bar."""
    checkpoint: str | None
    """The name of its checkpoints; None: none are kept."""
    seed: int
    steps: int | None = None
    """Number of optimizer steps, instead of the epochs in the settings."""
    validator: Validator | None = None
    on_epoch: OnEpoch | None = None
    part: Mapping[str, int] = field(default_factory=dict)
    """The level or stage, for the log of methods that train several times."""

    def run(self) -> TrainingProgress:
        """Trains; the network ends with the weights of its best epoch, or the last or averaged ones."""
        training = Training(
            self.network,
            self.examples,
            self.config.training,
            epochs=self.config.epochs,
            steps=self.steps,
            batch_size=self.config.batch_size,
            seed=self.seed,
            device=self.device,
            validator=self.validator,
            states=TrainingStates(self.checkpoint),
            on_epoch=self.on_epoch,
            part=self.part,
        )
        return training.run(self.title)


def training_log(
    progress: TrainingProgress, parameters: Mapping[str, int], device: torch.device, config: NetworkConfig
) -> dict[str, Any]:
    """The log that a model keeps of its training; ``parameters``: number of weights per part.

    ``clipped``: the share of steps whose gradients were clipped, if the settings clip them.
    """
    training = config.training
    precision = chosen_precision(training.precision, device)
    clips = (training.clip or training.adaptive_clip) and progress.step
    return {
        "parameters": dict(parameters),
        "device": str(device),
        "precision": str(precision).removeprefix("torch."),
        "seconds": progress.seconds,
        **({"clipped": progress.clipped / progress.step} if clips else {}),
        "best_epoch": progress.best_epoch or len(progress.entries),
        "epochs": progress.entries,
    }


def inference_settings(
    config: NetworkConfig, device: torch.device, *, int8: bool = False
) -> InferenceSettings:
    """Batches are larger than in training, because no gradients are kept."""
    precision = chosen_precision(config.training.precision, device)
    return InferenceSettings(4 * config.batch_size, device, precision, int8)


def training_texts(dataset: Dataset, method: str) -> Strings:
    """The training texts of a network."""
    if dataset.texts is None:
        raise DataError(
            f"{dataset.source}: {method} needs texts, but there are only features: choose a linear method"
        )
    return dataset.texts


def with_validation(
    dataset: Dataset, validation: Dataset | None, config: NetworkConfig, method: str
) -> tuple[Dataset, Dataset | None]:
    """The training examples, and the validation set: given, or held out as the settings say."""
    training_texts(dataset, method)
    if validation is None and config.training.validation:
        kept, held_out = held_out_rows(dataset, config.training.validation, config.seed, "validation")
        dataset, validation = dataset[kept], dataset[held_out]
    if config.training.patience and validation is None:
        raise ConfigError("patience needs held-out examples: set validation=0.1, or pass a validation set")
    return dataset, validation


def prediction_vectors(
    encoder: TextEncoder, texts: Strings, config: JoinedFeaturesConfig, *, threads: int
) -> Vectors:
    """Vectors of new texts by a fine-tuned encoder."""
    inference = inference_settings(config, chosen_device(config.device), int8=config.transformer.int8)
    return encoder.vectors(encoder.tokens(texts), inference, threads=threads)
