"""Checkpoints of a training: its whole state as plain arrays, kept until the model is saved."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .. import checkpoints
from ..arrays import UNREADABLE, under_prefix, with_prefix
from ..errors import TreetopError, brief
from ..machine import is_main_process
from .arrays import to_array, to_tensor

if TYPE_CHECKING:
    from .training import Training

Arrays = dict[str, npt.NDArray]


class TrainingStates:
    """The latest state of the training called ``name``; None: no states are kept."""

    def __init__(self, name: str | None) -> None:
        self.name = name

    def save(self, training: Training) -> None:
        """Replaces the kept state by the current one.

        Only the first process writes; the others, whose clocks may differ, wait for it at the next gradients.
        """
        if self.name is not None and is_main_process():
            checkpoints.keep_latest(self.name, training.progress.step, _arrays_of(training))

    def load(self, training: Training) -> None:
        """Restores the latest state, if there is one."""
        arrays = checkpoints.find_latest(self.name)
        if arrays is None:
            return
        try:
            _restore(training, arrays)
        except (TreetopError, *UNREADABLE) as error:
            raise TreetopError(
                f"{checkpoints.folder()}: the checkpoint of the network does not match its training"
                f" ({brief(error)}): train without --resume"
            ) from error


def _arrays_of(training: Training) -> Arrays:
    arrays = _plain("net", training.network.state_dict())
    arrays |= _plain("best", training.best)
    arrays |= _plain("average", training.average.state())
    arrays |= _plain("clipping", training.clipping.state())
    for number, optimizer in enumerate(training.optimizers):
        for place, state in optimizer.state_dict()["state"].items():
            arrays |= _plain(f"optimizer{number}.{place}", state)
    arrays["random.cpu"] = torch.get_rng_state().numpy()
    if training.device.type == "cuda":
        arrays["random.device"] = torch.cuda.get_rng_state(training.device).numpy()
    metadata = {
        "progress": dataclasses.asdict(training.progress),
        "scaler": training.scaler.state_dict(),
        "micro": training.micro,
    }
    arrays["metadata"] = np.frombuffer(json.dumps(metadata).encode(), np.uint8)
    return arrays


def _restore(training: Training, arrays: Arrays) -> None:
    best = _tensors("best", arrays)
    for part in (best, _tensors("net", arrays)) if best else (_tensors("net", arrays),):
        training.network.load_state_dict(part)
    training.best = {name: value.to(training.device) for name, value in best.items()}
    training.average.restore(_tensors("average", arrays))
    training.clipping.restore(_tensors("clipping", arrays))
    for number, optimizer in enumerate(training.optimizers):
        whole = optimizer.state_dict()
        states: dict[int, dict[str, Tensor]] = {}
        for key, value in _tensors(f"optimizer{number}", arrays).items():
            place, _, name = key.partition(".")
            states.setdefault(int(place), {})[name] = value
        optimizer.load_state_dict({"state": states, "param_groups": whole["param_groups"]})
    metadata: dict[str, Any] = json.loads(arrays["metadata"].tobytes())
    for name, value in metadata["progress"].items():
        setattr(training.progress, name, value)
    training.scaler.load_state_dict(metadata["scaler"])
    training.micro = metadata["micro"]
    torch.set_rng_state(torch.from_numpy(np.array(arrays["random.cpu"])))
    if "random.device" in arrays:
        torch.cuda.set_rng_state(torch.from_numpy(np.array(arrays["random.device"])), training.device)


def _plain(prefix: str, tensors: dict[str, Tensor]) -> Arrays:
    return with_prefix(prefix, {name: to_array(value) for name, value in tensors.items()})


def _tensors(prefix: str, arrays: Arrays) -> dict[str, Tensor]:
    found = under_prefix(prefix, arrays)
    return {name: to_tensor(array) for name, array in found.items()}
