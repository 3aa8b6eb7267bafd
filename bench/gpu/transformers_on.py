"""Accuracy and time of the transformer methods on one data set.

    python bench/gpu/transformers_on.py FOLDER --encoder DIR [--part singles|ablations|ensemble] [--limit N]

FOLDER holds train.jsonl.xz and test.jsonl.xz, and labels.tsv where labels have texts; DIR a pretrained
encoder. *singles*: every method once. *ablations*: XR-Transformer with one part changed. *ensemble*: its
members and the ensemble; the rule is learned on a tenth of the training texts (whole families of Debian
packages), then the members are trained on all of them.

*Train* is the time from texts in memory to the model, in a process that has loaded its libraries and used the
GPU; *predict* is the second of two calls with all test texts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

import treetop
from common import provenance
from common.options import add_settings, named, parser_for
from common.tables import markdown
from package_families import with_families
from treetop import Dataset, Ensemble, Strings
from treetop.methods import Method, method_class
from treetop.neural.device import chosen_device
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.inference import InferenceSettings
from treetop.neural.text_encoder import TextEncoder
from treetop.progress import listen

METRICS = ("P@1", "P@3", "P@5", "PSP@5", "F1@5")
Run = tuple[str, dict[str, object]]
NAMES = {"label_examples": True}
LETTERS = {"analyzer": "char_wb", "ngram_min": 3, "ngram_max": 5, "min_df": 3}
SINGLES: dict[str, Run] = {
    "xr-linear": ("xr-linear", {}),
    "xr-linear, label examples": ("xr-linear", NAMES),
    "flat-transformer": ("flat-transformer", {}),
    "flat-transformer, label examples": ("flat-transformer", NAMES),
    "flat-transformer, no rankers": ("flat-transformer", {"rankers": False}),
    "xr-transformer": ("xr-transformer", {}),
    "xr-transformer, label examples": ("xr-transformer", NAMES),
    "x-transformer": ("x-transformer", {}),
}
ABLATIONS: dict[str, Run] = {
    "xr-transformer": ("xr-transformer", {}),
    "not cost-sensitive": ("xr-transformer", {"cost_sensitive": False}),
    "cost-sensitive rankers": ("xr-transformer", {"linear.costs": "all"}),
    "TF-IDF alone": ("xr-transformer", {"use": "tfidf", "epochs": 0}),
    "pretrained encoder, TF-IDF": ("xr-transformer", {"epochs": 0}),
    "fine-tuned encoder alone": ("xr-transformer", {"use": "vectors"}),
    "single resolution": ("xr-transformer", {"lowest": 1, "epochs": 6}),
    "random first weights": ("xr-transformer", {"bootstrap": "none"}),
    "first tree kept": ("xr-transformer", {"refine": False}),
}
MEMBERS: dict[str, Run] = {
    "flat-transformer": ("flat-transformer", NAMES),
    "network alone": ("flat-transformer", NAMES | {"seed": 1, "layers": 2, "rankers": False}),
    "xr-transformer": ("xr-transformer", NAMES),
    "xr-linear": ("xr-linear", NAMES),
    "xr-linear, letters": ("xr-linear", NAMES | LETTERS),
    "neighbours": ("neighbours", {}),
}


class StepSeconds:
    """Seconds of each progress step, the last of each title; prints the outermost ones."""

    def __init__(self) -> None:
        self.of: dict[str, float] = {}
        self._open: list[tuple[str, float]] = []

    def start(self, title: str) -> None:
        self._open.append((title, time.monotonic()))

    def advance(self, done: int, total: int, note: str = "") -> None:
        pass

    def finish(self, complete: bool) -> None:
        title, began = self._open.pop()
        self.of[title] = time.monotonic() - began
        if not self._open:
            print(f"{title}: {self.of[title]:.0f} s", flush=True)


def warm_up(encoder: str) -> None:
    """Loads the libraries, and uses the GPU once."""
    reader = TextEncoder.pretrained(EncoderConfig(encoder=encoder), 16)
    inference = InferenceSettings(1, chosen_device("auto"), torch.float32)
    reader.vectors(reader.tokens(Strings.of(["warm"])), inference, threads=1)


def make(run: Run, encoder: str, extra: dict[str, str]) -> Method:
    method, settings = run
    config = method_class(method).config_class()
    shared = {"encoder": encoder} | extra
    return treetop.make(method, **({k: v for k, v in shared.items() if config.has_setting(k)} | settings))


def measured_row(model: Method, test: Dataset) -> list[str]:
    model.predict(test)
    began = time.monotonic()
    model.predict(test)
    predict = 1000 * (time.monotonic() - began) / len(test)
    metrics = model.evaluate(test, metrics=("P", "PSP", "F1"))
    return [*(f"{metrics[name]:.2f}" for name in METRICS), f"{predict:.2f} ms"]


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "folder", type=Path, help="holds train.jsonl.xz, test.jsonl.xz and perhaps labels.tsv"
    )
    parser.add_argument("--encoder", required=True, help="pretrained encoder: a name or a folder")
    parser.add_argument(
        "--part", choices=("singles", "ablations", "ensemble"), default="singles", help="table to measure"
    )
    parser.add_argument("--only", nargs="*", default=[], help="names of rows; default: all")
    parser.add_argument("--limit", type=int, help="maximum number of training texts, and of test texts")
    add_settings(parser, "all methods that have them")
    options = parser.parse_args()
    stamp = provenance.this_run()
    texts = options.folder / "labels.tsv"
    train = treetop.read(options.folder / "train.jsonl.xz", label_texts=texts if texts.is_file() else None)
    train = train[: options.limit]
    test = treetop.read(options.folder / "test.jsonl.xz")[: options.limit]
    extra = named(options.settings)
    rows: list[list[str]] = []
    warm_up(options.encoder)

    def add(name: str, seconds: str, model: Method) -> None:
        rows.append([name, *measured_row(model, test), seconds])
        print(" | ".join(rows[-1]), flush=True)

    def trained(model: Method, data: Dataset) -> str:
        began = time.monotonic()
        model.fit(data)
        return f"{time.monotonic() - began:.0f} s"

    if options.part == "ensemble":
        names = options.only or list(MEMBERS)
        together = Ensemble([make(MEMBERS[name], options.encoder, extra) for name in names], rule="stacked")
        steps = StepSeconds()
        with listen(steps):
            seconds = trained(together, with_families(train) if "deb" in options.folder.name else train)
        for number, (name, member) in enumerate(zip(names, together.members, strict=True), 1):
            add(name, f"{steps.of[f'Member {number} of {len(names)}, {member.name}']:.0f} s", member)
        add("together", seconds, together)
    else:
        runs = SINGLES if options.part == "singles" else ABLATIONS
        for name in options.only or runs:
            model = make(runs[name], options.encoder, extra)
            seconds = trained(model, train)
            add(name, seconds, model)
    print(markdown(("", *METRICS, "predict", "train"), rows))
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
