"""kill -9 at random moments of commands that make or change models, and the same command again.

    python bench/attacks/killed_commands.py [--seconds 60] [--seed 0]

A trial fails if a kill leaves a model that is neither the one before nor the one after, if the command run
again fails or ends with anything else than without a kill, or if files stay behind.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import numpy as np

import treetop
from small_data import topic_texts
from treetop.errors import ModelError
from trials import Trials, attack, run

QUERIES = topic_texts(20, seed=9)[0]
TREE = ("--set", "leaf_size=2", "--set", "branching=2", "--threads", "1")


@dataclass
class Case:
    """A command in a folder with the data ``train.jsonl``, ``new.jsonl`` and the models in ``before``."""

    command: tuple[str, ...]
    before: Callable[[Path], object] = lambda root: None
    again: tuple[str, ...] = ()
    """Options of the second run."""
    model: str | None = "m"
    results: str | None = None


def trained(name: str, seed: int = 0, **settings: object) -> Callable[[Path], object]:
    def make(root: Path) -> None:
        texts, labels = topic_texts(300, seed)
        treetop.XRLinear(threads=1, leaf_size=2, branching=2, **settings).fit(texts, labels).save(root / name)

    return make


CASES = {
    "train": Case(
        ("train", "train.jsonl", "--method", "xr-linear", "--model", "m", *TREE), again=("--resume",)
    ),
    "train over a model": Case(
        ("train", "train.jsonl", "--method", "bonsai", "--model", "m", *TREE), trained("m", 3), ("--resume",)
    ),
    "train hybrid": Case(("train", "train.jsonl", "--model", "m", "--threads", "1"), again=("--resume",)),
    "update": Case(("update", "m", "new.jsonl", "--threads", "1"), trained("m", keep_data=True)),
    "calibrate": Case(("calibrate", "m", "new.jsonl", "--threads", "1"), trained("m")),
    "ensemble": Case(
        ("ensemble", "m", "a", "b", "--threads", "1"),
        lambda root: (trained("a")(root), trained("b", 1)(root)),
    ),
    "tune": Case(
        (
            *("tune", "train.jsonl", "--method", "xr-linear", "--trials", "3", "--study", "s.sqlite"),
            *("--model", "m", "--threads", "1"),
        )
    ),
    "compare": Case(
        (
            *(
                "compare",
                "train.jsonl",
                "--methods",
                "xr-linear,neighbours",
                "--seeds",
                "1",
                "--threads",
                "1",
            ),
            *("--report", "report", "--validation", "0.2"),
        ),
        model=None,
        results="report",
    ),
}


class Rehearsed:
    """A case with what it leads to when nothing is killed, and how long that takes."""

    def __init__(self, case: Case, place: Path) -> None:
        self.case, self.place = case, place
        (place / "before").mkdir(parents=True)
        for name, count, seed in (("train", 300, 0), ("new", 40, 5)):
            lines = zip(*topic_texts(count, seed), strict=True)
            rows = [json.dumps({"text": text, "labels": labels}) for text, labels in lines]
            (place / "before" / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
        case.before(place / "before")
        self.before = self.outcome(place / "before")
        root = self.fresh()
        began = time.monotonic()
        done = self.start(root).communicate()[1]
        self.seconds = time.monotonic() - began
        self.after = self.outcome(root)
        self.names = {path.name for path in root.iterdir()}
        assert self.after != self.before, done.decode()

    def fresh(self) -> Path:
        root = self.place / "root"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.place / "before", root)
        return root

    def start(self, root: Path, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "treetop", "--quiet", *self.case.command, *more]
        return subprocess.Popen(
            command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

    def outcome(self, root: Path) -> bytes | None:
        """What the model predicts; of a comparison, its metrics."""
        if self.case.results is not None:
            found = sorted((root / self.case.results).glob("*.json"))
            return b"".join(_metrics(path) for path in found) or None
        assert self.case.model is not None
        try:
            predictions = treetop.load(root / self.case.model, threads=1).predict(QUERIES, k=3)
        except ModelError as error:
            if (root / self.case.model / "manifest.json").exists():
                raise
            assert "is not a model folder" in str(error)
            return None
        return b"".join(
            np.ascontiguousarray(part).tobytes() for part in (predictions.indices, predictions.scores)
        )

    def killed(self, after: float) -> str | None:
        """What is wrong after a kill at that time."""
        root = self.fresh()
        with self.start(root) as process:
            time.sleep(after)
            os.killpg(process.pid, signal.SIGKILL)
        if self.case.results is None and self.outcome(root) not in (self.before, self.after):
            return "neither the model before nor the one after"
        if self.case.command[0] == "update" and self.outcome(root) == self.after:
            return None  # the same update again would count its examples twice
        with self.start(root, *self.case.again) as process:
            errors = process.communicate()[1].decode()
        if process.returncode:
            return f"the command run again: {errors}"
        if self.outcome(root) != self.after:
            return "the command run again ended differently"
        left = {path.name for path in root.iterdir()} - self.names
        hidden = [path.name for path in root.rglob(".*") if path.name != ".finished"]
        return f"left {left} {hidden}" if left or hidden else None


def _metrics(path: Path) -> bytes:
    """Without times, which differ."""
    text = json.loads(path.read_text())
    found = [run.get("metrics") for run in text.get("runs", [])] if isinstance(text, dict) else text
    return json.dumps(found, sort_keys=True).encode()


@attack(
    "kill/commands",
    "a model is neither the old nor the new one, or the same command again ends differently",
)
def commands(trials: Trials) -> None:
    with tempfile.TemporaryDirectory() as place:
        cases = {name: Rehearsed(case, Path(place) / name) for name, case in CASES.items()}
        while trials.go_on():
            for name, case in cases.items():
                moment = case.seconds * trials.random.uniform(0.3, 1.05)
                fault = case.killed(moment)
                trials.count(fault and f"{name} killed after {moment:.3f} s: {fault}")
                if not trials.go_on():
                    break


if __name__ == "__main__":
    sys.exit(run(__doc__))
