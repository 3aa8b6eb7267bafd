"""The matrices that all contestants share, and the two processes of a contestant."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import treetop
from contestants import Contestant
from treetop.data import Dataset
from treetop.features import Tfidf, TfidfConfig

METRICS = ("P@1", "P@3", "P@5", "PSP@5")
RUNNERS = Path(__file__).parent / "runners"
LIMIT_S = 1200
"""A process that takes longer is stopped, and the contestant has no row for that data set."""


class GaveUpError(Exception):
    """A contestant did not finish."""


@dataclass(frozen=True)
class Prepared:
    """A data set as the contestants' scripts read it, and as treetop's metrics need it."""

    name: str
    folder: Path
    train: Dataset
    test: Dataset


def prepare(name: str, train: Dataset, test: Dataset, folder: Path, threads: int) -> Prepared:
    """TF-IDF of words and word pairs, learned from the training texts, as runners/protocol.py reads it."""
    assert train.texts is not None and test.texts is not None
    folder.mkdir(parents=True)
    tfidf = Tfidf(TfidfConfig(ngram_max=2))
    sparse.save_npz(folder / "X.trn.npz", tfidf.fit_transform(train.texts, threads), compressed=False)
    sparse.save_npz(folder / "X.tst.npz", tfidf.transform(test.texts, threads), compressed=False)
    sparse.save_npz(folder / "Y.trn.npz", train.Y, compressed=False)
    np.savez(folder / "tfidf.npz", **tfidf.state())
    (folder / "tfidf.json").write_text(json.dumps(tfidf.config.to_dict()))
    for part, split in ((train, "trn"), (test, "tst")):
        (folder / f"texts.{split}.json").write_text(json.dumps(list(part.texts or ())), "utf-8")
    return Prepared(name, folder, train, test)


def measure(
    contestant: Contestant, data: Prepared, peers: Path, threads: int, *, train: bool = True
) -> dict[str, Any]:
    """Times, sizes and metrics by name. Without ``train`` the previous model predicts again."""
    work = data.folder / f"work-{re.sub('[^0-9A-Za-z]+', '-', contestant.name)}"
    if train:
        shutil.rmtree(work, ignore_errors=True)
        _run(contestant, "train", data.folder, work, peers, threads)
    _run(contestant, "predict", data.folder, work, peers, threads)
    report: dict[str, Any] = {}
    for command in ("train", "predict"):
        report |= json.loads((work / f"{command}.json").read_text())
    predictions = treetop.Predictions.from_csr(sparse.load_npz(work / "predictions.npz"), data.train.labels)
    metrics = treetop.evaluate(predictions, data.test, train=data.train)
    return report | {"metrics": {name: metrics[name] for name in METRICS}}


def _run(contestant: Contestant, command: str, folder: Path, work: Path, peers: Path, threads: int) -> None:
    python = sys.executable if contestant.runner == "treetop" else str(peers)
    script = RUNNERS / f"run_{contestant.runner}.py"
    arguments = [command, str(folder), str(work), str(threads), json.dumps(contestant.settings)]
    limits = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL", "RAYON")}
    try:
        done = subprocess.run(
            [python, str(script), *arguments],
            env=os.environ | limits,
            timeout=LIMIT_S,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GaveUpError(f"{command}: stopped after {LIMIT_S / 60:.0f} minutes") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise GaveUpError(f"{command}: {last}")


def better(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The best of two rounds: the shorter of each two times; memory and metrics of the first."""
    best = dict(first)
    for name in ("train_s", "load_s", "batch_s"):
        best[name] = min(first[name], second[name])
    for name in ("row", "text"):
        if first[name] is not None:
            best[name] = min(first[name], second[name], key=lambda found: found["median_ms"])
    return best
