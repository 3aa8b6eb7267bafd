"""`Network`: the interface between a network and the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from .batches import Batch
from .heads import Head


class Network(nn.Module, ABC):
    """A module with a loss. Parameters are named after its parts, which may have their own learning rates."""

    records = True
    """Whether steps can be recorded as CUDA graphs."""
    records_compiled = False
    """Whether steps can be recorded as CUDA graphs after `compile_parts`, without being compiled again."""

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of the texts."""

    @abstractmethod
    def top(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        """``scores, labels`` of the ``k`` best labels of every text, best first."""

    @property
    def label_head(self) -> Head | None:
        """The layer whose biases and label weights can be set before training, if there is one."""
        return None

    @property
    def fixed_width(self) -> int | None:
        """Number of tokens that every text is padded or cut to, if the network needs a fixed one."""
        return None

    def compile_parts(self) -> None:
        """Marks the modules worth it for `torch.compile`, which runs at their first use."""
        self.compile(dynamic=True)

    def counts(self) -> dict[str, int]:
        """Number of parameters of each part."""
        counts: dict[str, int] = {}
        for name, parameter in self.named_parameters():
            part = name.split(".")[0]
            counts[part] = counts.get(part, 0) + parameter.numel()
        return counts
