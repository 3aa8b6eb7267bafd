"""Training in two processes that torchrun starts: see two_processes.py for what these run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import treetop
from commands import call
from test_contract import topic_texts
from test_neural_training import QUICK, train_arguments, weights, write_jsonl
from treetop import Dataset
from two_processes import STOPPED_AT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="gloo on Windows has no file rendezvous here"),
]
SCRIPT = Path(__file__).with_name("two_processes.py")
BY_COMMAND = {"epochs": 3, "embedding_dropout": 0, "dropout": 0, "optimizer": "sgd", "learning_rate": 0.1}


def launch(folder: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    settings = QUICK | {"epochs": 3, "batch_size": 15}
    arguments = json.dumps(settings), json.dumps(train_arguments(folder, **BY_COMMAND))
    done = subprocess.run(
        [*command, SCRIPT, folder, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """After the first launch, which ends in the middle of a training."""
    found = tmp_path_factory.mktemp("two")
    write_jsonl(found / "train.jsonl", Dataset.from_texts(*topic_texts(120, seed=0)))
    launch(found)
    return found


def test_two_processes_train_the_same_network(folder, capsys):
    together = treetop.load(folder / "model")
    assert call(capsys, *train_arguments(folder, **BY_COMMAND)).code == 0
    for name, value in weights(treetop.load(folder / "model")).items():
        torch.testing.assert_close(weights(together)[name], value, rtol=1e-4, atol=1e-6)


def test_a_process_without_texts_adds_nothing_to_a_table(folder):
    for rank in (0, 1):
        table, bias, _ = torch.load(folder / f"rank{rank}", weights_only=True)
        _, _, weight = torch.load(folder / "rank0", weights_only=True)
        assert torch.equal(table[1], weight[0]) and not table[[0, 2]].any()
        assert bias.item() == 1


def test_two_processes_that_are_stopped_end_the_same_when_they_are_resumed(folder):
    assert not (folder / "stopped.pt").exists()
    states = [int(path.suffix[1:]) for path in (folder / "stopped").glob("network-*.*")]
    assert states and max(states) <= STOPPED_AT
    launch(folder)
    whole, resumed = (torch.load(folder / f"{name}.pt", weights_only=True) for name in ("whole", "stopped"))
    assert all(torch.equal(resumed[name], value) for name, value in whole.items())
