"""What test_two_processes.py starts in two processes: ``two_processes.py FOLDER SETTINGS ARGUMENTS``.

FOLDER has ``train.jsonl``, and receives the output. SETTINGS of kim-cnn and ARGUMENTS of treetop are JSON.
The first time it ends in the middle of a training, which a second time finishes.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

import treetop
from treetop import checkpoints
from treetop.cli.main import main
from treetop.machine import is_main_process, process_rank
from treetop.neural import distributed
from treetop.neural.training import Training

STOPPED_AT = 11


def train(folder: Path, name: str, settings: dict[str, Any]) -> None:
    """Writes the trained weights; checkpoints are next to them until then."""
    data = treetop.read(folder / "train.jsonl")
    save_every = 1e9 if process_rank() else 0  # clocks differ
    model = treetop.make("kim-cnn", **settings, save_every=save_every)
    with checkpoints.keeping(folder / name, resume=True):
        model.fit(data, validation=data)
        if is_main_process():
            torch.save(model.network.state_dict(), folder / f"{name}.pt")


def sum_gradients_of_one(folder: Path) -> None:
    """Only the first process has a text that uses the tables."""
    distributed.join(torch.device("cpu"))
    table, plain = nn.Embedding(3, 2, sparse=True), nn.Linear(2, 1)
    if is_main_process():
        plain(table(torch.tensor([1]))).sum().backward()
    distributed.sum_gradients(nn.ModuleList([table, plain]))
    found = table.weight.grad.to_dense(), plain.bias.grad, plain.weight.detach()
    torch.save(found, folder / f"rank{process_rank()}")


def stop_in_the_middle() -> None:
    move = Training._optimizer_step

    def stopping(self):
        if self.progress.step == STOPPED_AT:
            raise SystemExit
        move(self)

    Training._optimizer_step = stopping


def run(folder: Path, settings: dict[str, Any], arguments: list[str]) -> None:
    if not (folder / "whole.pt").exists():
        with contextlib.suppress(SystemExit):
            main(arguments)
        sum_gradients_of_one(folder)
        train(folder, "whole", settings)
        stop_in_the_middle()
    train(folder, "stopped", settings)


if __name__ == "__main__":
    run(Path(sys.argv[1]), *map(json.loads, sys.argv[2:]))
