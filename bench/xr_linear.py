"""XR-Linear side by side with PECOS: the same texts, the same machine, the same number of threads.

    python bench/xr_linear.py FOLDER… [--pecos PYTHON] [--threads N]

Each FOLDER holds train.jsonl.xz and test.jsonl.xz. PECOS gets word uni- and bigram TF-IDF and its default
settings (teacher-forcing negatives, beam 10); treetop runs once on the very same matrices with the same beam,
and once as `treetop train` runs it, texts and defaults. PYTHON is an interpreter that has libpecos.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from scipy import sparse

import treetop
from treetop.data import Dataset
from treetop.features import Tfidf, TfidfConfig
from treetop.metrics import Metrics
from treetop.threads import count as thread_count

FIGURES = ("P@1", "P@3", "P@5", "PSP@5")
BEAM = 10


@dataclass(frozen=True)
class Run:
    data: str
    who: str
    train_seconds: float
    predict_seconds: float
    metrics: Metrics

    def row(self) -> str:
        figures = " | ".join(f"{self.metrics[name]:.1f}" for name in FIGURES)
        seconds = f"{self.train_seconds:.1f} | {self.predict_seconds:.2f}"
        return f"| {self.data} | {self.who} | {figures} | {seconds} |"


def run_treetop(who: str, train: Dataset, test: Dataset, threads: int, settings: dict[str, object]) -> Run:
    start = time.perf_counter()
    model = treetop.XRLinear(threads=threads, **settings).fit(train)
    trained = time.perf_counter()
    model.predict(test, k=5)
    done = time.perf_counter()
    return Run("", who, trained - start, done - trained, model.evaluate(test))


def run_pecos(python: Path, train: Dataset, test: Dataset, threads: int) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        for part, name in ((train, "trn"), (test.aligned_to(train.labels), "tst")):
            sparse.save_npz(f"{folder}/X.{name}.npz", part.X)
            sparse.save_npz(f"{folder}/Y.{name}.npz", part.Y)
        script = Path(__file__).parent / "peers" / "pecos_xr_linear.py"
        output = f"{folder}/predictions.npz"
        command = [str(python), str(script), folder, str(threads), str(BEAM), "5", output]
        seconds = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        predictions = treetop.Predictions.from_csr(sparse.load_npz(output), train.labels)
    metrics = treetop.evaluate(predictions, test, train=train)
    return Run("", "PECOS, given matrices", seconds["train"], seconds["predict"], metrics)


def compare(folder: Path, pecos: Path | None, threads: int) -> list[Run]:
    train, test = (treetop.read(folder / f"{name}.jsonl.xz") for name in ("train", "test"))
    tfidf = Tfidf(TfidfConfig(ngram_max=2))
    X = tfidf.fit_transform(train.texts, threads)
    train_matrix = Dataset.from_matrices(X, train.Y, labels=train.labels)
    queries = tfidf.transform(test.texts, threads)
    test_matrix = Dataset.from_matrices(queries, test.Y, labels=test.labels)
    runs = [run_treetop("treetop, defaults on the texts", train, test, threads, {})]
    same = {"leaf_size": 100, "beam": BEAM}
    runs.append(run_treetop("treetop, same matrices, tree of 100", train_matrix, test_matrix, threads, same))
    if pecos is not None:
        runs.append(run_pecos(pecos, train_matrix, test_matrix, threads))
    return [Run(folder.name, run.who, run.train_seconds, run.predict_seconds, run.metrics) for run in runs]


def table(runs: list[Run]) -> str:
    figures = " | ".join(FIGURES)
    head = f"| data | who | {figures} | train s | predict s |\n|---|---|{'---|' * (len(FIGURES) + 2)}"
    return "\n".join([head, *(run.row() for run in runs)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--pecos", type=Path, help="a Python interpreter that has libpecos")
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    for folder in options.folders:
        print(table(compare(folder, options.pecos, thread_count(options.threads))), flush=True)


if __name__ == "__main__":
    main()
