"""`Network`: what the training loop needs to know of a network."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from .batches import Batch


class Network(nn.Module, ABC):
    """A module with a loss. Its parameters are named after its parts, for learning rates of their own."""

    records = True
    """Whether steps can be recorded as CUDA graphs."""
    records_compiled = False
    """Whether steps can be recorded as CUDA graphs after `compile_parts`: nothing is compiled anew in one."""

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """The loss, mean over the texts."""

    @abstractmethod
    def top(self, batch: Batch, k: int) -> tuple[Tensor, Tensor]:
        """``scores, labels`` of the ``k`` best labels of every text, best first."""

    @property
    def fixed_width(self) -> int | None:
        """The tokens that every text is padded or cut to, if the network needs one width."""
        return None

    def compile_parts(self) -> None:
        """Prepares the modules that are worth it for `torch.compile`, which happens on their first use."""
        self.compile(dynamic=True)

    def counts(self) -> dict[str, int]:
        """Parameters of each part."""
        found: dict[str, int] = {}
        for name, parameter in self.named_parameters():
            part = name.split(".")[0]
            found[part] = found.get(part, 0) + parameter.numel()
        return found
