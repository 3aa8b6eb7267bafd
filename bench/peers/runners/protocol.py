"""What the runners share: two commands, each its own process, so that memory is measured separately.

    python run_NAME.py train   FOLDER WORK THREADS SETTINGS
    python run_NAME.py predict FOLDER WORK THREADS SETTINGS

FOLDER holds X.trn.npz, Y.trn.npz and X.tst.npz (unit rows, 0/1 labels) and their texts, texts.trn.json and
texts.tst.json. SETTINGS is a JSON object. ``train`` writes WORK/model and WORK/train.json; ``predict`` reads
the model and writes WORK/predict.json and WORK/predictions.npz (the best label of a text has the score K, the
next K - 1, …). This module imports only numpy and scipy: it runs in every environment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

K = 5
SINGLE = 1000  # texts that are predicted one at a time, at most
WARM_UP = 50  # of these, not measured
PATIENCE = 10.0  # seconds after which repeated measuring stops
ROUNDS = 3  # of loading and of batch prediction; the best counts


class Runner(ABC):
    """One library. Only `train`, `load`, `batch`, `one` and `one_text` are timed."""

    def __init__(self, settings: dict[str, Any], threads: int) -> None:
        self.settings = settings
        self.threads = threads

    def training_input(self, folder: Path, work: Path) -> Any:
        """The training data as the library takes it."""
        return load_matrix(folder, "X.trn"), load_matrix(folder, "Y.trn")

    @abstractmethod
    def train(self, data: Any, model: Path) -> Any:
        """From `training_input` to the trained model: clusters the labels, solves the classifiers."""

    @abstractmethod
    def save(self, trained: Any, model: Path) -> None: ...

    def modes(self) -> Sequence[str]:
        """Ways to load a model, such as several layouts of its weights; the fastest counts."""
        return ("",)

    @abstractmethod
    def load(self, model: Path, mode: str) -> Any: ...

    def batch_input(self, folder: Path) -> Any:
        return load_matrix(folder, "X.tst")

    @abstractmethod
    def batch(self, loaded: Any, queries: Any) -> Any:
        """The K best labels of all queries, in the library's own format."""

    @abstractmethod
    def ranking(self, answer: Any) -> np.ndarray:
        """What `batch` returned as texts × K label ids, best first, padded with -1."""

    def row_input(self, row: sparse.csr_matrix) -> Any:
        """One row of the matrix as the library takes it."""
        return row

    @abstractmethod
    def one(self, loaded: Any, row: Any) -> Any:
        """The K best labels of one row."""

    takes_rows = True
    one_text: Callable[[Any, str], Any] | None = None
    """The K best labels of one text, where the library has its own TF-IDF."""


def main(runner: type[Runner]) -> None:
    commands = {"train": measure_training, "predict": measure_prediction}
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("command", choices=commands)
    parser.add_argument("folder", type=Path, help="matrices and texts")
    parser.add_argument("work", type=Path, help="folder for the model, measurements and predictions")
    parser.add_argument("threads", type=int, help="number of threads")
    parser.add_argument("settings", type=json.loads, help="JSON object")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    report = commands[options.command](
        runner(options.settings, options.threads), options.folder, options.work
    )
    (options.work / f"{options.command}.json").write_text(json.dumps(report))


def measure_training(runner: Runner, folder: Path, work: Path) -> dict[str, Any]:
    data = runner.training_input(folder, work)
    start = time.perf_counter()
    trained = runner.train(data, work / "model")
    seconds = time.perf_counter() - start
    peak = peak_memory()
    runner.save(trained, work / "model")
    return {"train_s": seconds, "peak_bytes": peak, "model_bytes": folder_size(work / "model")}


def measure_prediction(runner: Runner, folder: Path, work: Path) -> dict[str, Any]:
    """The best of each measurement over the modes, and the ranking of the first (all modes agree)."""
    queries = runner.batch_input(folder)
    matrix = load_matrix(folder, "X.tst")
    chosen = np.unique(np.linspace(0, matrix.shape[0] - 1, SINGLE).astype(int))
    rows = [runner.row_input(matrix[row]) for row in chosen] if runner.takes_rows else []
    all_texts = json.loads((folder / "texts.tst.json").read_text("utf-8"))
    texts = [all_texts[row] for row in chosen] if runner.one_text is not None else []
    found = []
    for mode in runner.modes():
        report, answer = measure_mode(runner, work / "model", mode, queries, rows, texts)
        found.append(report)
        if len(found) == 1:
            save_ranking(runner.ranking(answer), sparse.load_npz(folder / "Y.trn.npz").shape[1], work)
        del answer
    best: dict[str, Any] = {name: min(report[name] for report in found) for name in ("load_s", "batch_s")}
    for name in ("row", "text"):
        measured = [report[name] for report in found if report[name] is not None]
        best[name] = min(measured, key=lambda one: one["median_ms"], default=None)
    return best | {"texts": matrix.shape[0], "predict_peak_bytes": peak_memory()}


def measure_mode(
    runner: Runner, model: Path, mode: str, queries: Any, rows: list[Any], texts: list[str]
) -> tuple[dict[str, Any], Any]:
    load_s, loaded = best_time(lambda: runner.load(model, mode))
    batch_s, answer = best_time(lambda: runner.batch(loaded, queries))
    report = {
        "load_s": load_s,
        "batch_s": batch_s,
        "row": latency(lambda row: runner.one(loaded, row), rows) if rows else None,
        "text": latency(lambda text: runner.one_text(loaded, text), texts) if texts else None,
    }
    return report, answer


def load_matrix(folder: Path, name: str) -> sparse.csr_matrix:
    matrix = sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz"), dtype=np.float32)
    matrix.sort_indices()
    return matrix


def best_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest time of up to `ROUNDS` runs, and the last result."""
    begin = time.perf_counter()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > PATIENCE:
            break
    return best, result


def latency(ask: Callable[[Any], Any], inputs: Sequence[Any]) -> dict[str, float]:
    """Median and 99th percentile of the time of one call, in milliseconds."""
    for each in inputs[:WARM_UP]:
        ask(each)
    begin = time.perf_counter()
    taken = []
    for each in inputs:
        start = time.perf_counter()
        ask(each)
        now = time.perf_counter()
        taken.append(now - start)
        if now - begin > PATIENCE:
            break
    median, p99 = np.percentile(taken, [50, 99]) * 1000
    return {"median_ms": float(median), "p99_ms": float(p99), "calls": len(taken)}


def ranking_of(scored: Iterable[Iterable[tuple[int, float]]]) -> np.ndarray:
    """Lists of (label, score), each best first, as an array."""
    rows = [[label for label, _ in row][:K] for row in scored]
    return np.array([row + [-1] * (K - len(row)) for row in rows], np.int64)


def save_ranking(ranking: np.ndarray, labels: int, work: Path) -> None:
    rows, ranks = np.nonzero(ranking >= 0)
    scores = (K - ranks).astype(np.float32)
    cells = (scores, (rows, ranking[rows, ranks]))
    sparse.save_npz(work / "predictions.npz", sparse.csr_matrix(cells, shape=(len(ranking), labels)))


def peak_memory() -> int:
    """Peak physical memory of this process in bytes, including interpreter, imports and data.

    Linux resets it on exec (VmHWM), while ru_maxrss would include the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(os.path.getsize(file) for file in folder.rglob("*") if file.is_file())  # noqa: PTH202
