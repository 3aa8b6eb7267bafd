"""The training log: one JSON object per line, and TensorBoard on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import checkpoints
from ..errors import ConfigError
from ..machine import is_main_process

FILE = "log.jsonl"


class Log:
    """Appends every entry to ``log.jsonl`` next to the checkpoints of the training."""

    def __init__(self, tensorboard: str | None) -> None:
        self._board = _board(tensorboard) if tensorboard and is_main_process() else None

    def add(self, **entry: Any) -> None:
        """TensorBoard plots the numbers of the entry over its ``step``."""
        folder = checkpoints.folder()
        if folder is not None and is_main_process():
            folder.mkdir(parents=True, exist_ok=True)
            with Path(folder / FILE).open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        if self._board is not None:
            for name, value in entry.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, entry["step"])
            self._board.flush()


def _board(folder: str) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("TensorBoard logs need a package: pip install tensorboard") from None
    return SummaryWriter(folder)
