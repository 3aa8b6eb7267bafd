"""What the contestants' scripts share: two commands, each a process of its own so that its memory is its own.

    python run_NAME.py train   FOLDER WORK THREADS SETTINGS
    python run_NAME.py predict FOLDER WORK THREADS SETTINGS

FOLDER holds X.trn.npz, Y.trn.npz and X.tst.npz (unit rows, 0/1 labels), and the texts they came from as
texts.trn.json and texts.tst.json. SETTINGS is a JSON object. ``train`` leaves WORK/model and
WORK/train.json; ``predict`` reads the model and leaves WORK/predict.json and WORK/predictions.npz (the best
label of a text has the score K, the next K - 1, …). Only numpy and scipy are imported here: the file runs in
every environment.
"""

from __future__ import annotations

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
SINGLE = 1000  # texts asked one at a time, at most
WARM_UP = 50  # of them, unmeasured
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
        """Labels clustered and classifiers solved, starting from `training_input`."""

    @abstractmethod
    def save(self, trained: Any, model: Path) -> None: ...

    def modes(self) -> Sequence[str]:
        """Ways to load a model that trade speed for something else; the fastest counts."""
        return ("",)

    @abstractmethod
    def load(self, model: Path, mode: str) -> Any: ...

    def batch_input(self, folder: Path) -> Any:
        return load_matrix(folder, "X.tst")

    @abstractmethod
    def batch(self, loaded: Any, queries: Any) -> Any:
        """The K best labels of all queries, in the library's own form."""

    @abstractmethod
    def ranking(self, answer: Any) -> np.ndarray:
        """An answer of `batch` as texts × K label ids, best first, -1 where there are fewer."""

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
    command, folder, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    made = runner(json.loads(sys.argv[5]), int(sys.argv[4]))
    report = {"train": measure_training, "predict": measure_prediction}[command](made, folder, work)
    (work / f"{command}.json").write_text(json.dumps(report))


def measure_training(runner: Runner, folder: Path, work: Path) -> dict[str, Any]:
    data = runner.training_input(folder, work)
    start = time.perf_counter()
    trained = runner.train(data, work / "model")
    seconds = time.perf_counter() - start
    peak = peak_memory()
    runner.save(trained, work / "model")
    return {"train_s": seconds, "peak_bytes": peak, "model_bytes": folder_size(work / "model")}


def measure_prediction(runner: Runner, folder: Path, work: Path) -> dict[str, Any]:
    """The best of each measurement over the modes; the ranking of the first mode (they agree)."""
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
    """The shortest of up to `ROUNDS` runs, and what it gave."""
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
    """The most physical memory this process has held, in bytes: interpreter, imports and data included.

    Linux counts it anew after exec (VmHWM); ru_maxrss would also count the process that started this one.
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
