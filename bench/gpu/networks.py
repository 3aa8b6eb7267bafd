"""How fast a network trains on this device, and how much of the device it uses.

    python bench/gpu/networks.py FOLDER [--method xml-cnn] [--epochs 20] [--batches 64,256]
        [--set NAME=VALUE …]

FOLDER holds train.jsonl.xz and test.jsonl.xz. One row per batch size: the seconds of the whole training (from
texts) and of its epochs alone, the texts per second, and on a GPU the share of time in which it computes
("busy": the kernels of 100 steps against the clock), the ceiling (texts per second if it never waited), the
share of the ceiling reached over all epochs, and TFLOP/s. P@k on the test texts shows that the training
worked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

import treetop
from common import provenance
from common.options import add_settings, named, parser_for
from treetop.methods.neural import NeuralMethod
from treetop.neural.training import Training

FIRST, STEPS = 300, 100
"""The first profiled step, after the graphs of all shapes are recorded, and the number of steps."""


class Measured:
    """Profiles some steps of a training."""

    def __init__(self) -> None:
        self.wall = self.kernels = self.flops = 0.0
        self.count = 0

    def __enter__(self) -> Measured:
        self._steps, self._plain = Training._steps_of, Training.plain_step
        measured = self

        def steps(training: Training, *arguments: Any) -> Iterator[torch.Tensor]:
            for loss in measured._steps(training, *arguments):
                measured.after_step()
                yield loss

        def plain(training: Training, batch: Any) -> torch.Tensor:
            if measured.flops:
                return measured._plain(training, batch)
            with FlopCounterMode(display=False) as counter:
                loss = measured._plain(training, batch)
            measured.flops = counter.get_total_flops() / len(batch)
            return loss

        Training._steps_of, Training.plain_step = steps, plain  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Training._steps_of, Training.plain_step = self._steps, self._plain  # type: ignore[method-assign]

    def after_step(self) -> None:
        self.count += 1
        if not torch.cuda.is_available():
            return
        if self.count == FIRST:
            torch.cuda.synchronize()
            self._began = time.monotonic()
        elif self.count == FIRST + STEPS:
            torch.cuda.synchronize()
            self.wall = (time.monotonic() - self._began) / STEPS
            self._profile = profile(activities=[ProfilerActivity.CUDA])
            self._profile.__enter__()
        elif self.count == FIRST + 2 * STEPS:
            torch.cuda.synchronize()
            self._profile.__exit__(None, None, None)
            events = [event for event in self._profile.events() or [] if event.device_type.name == "CUDA"]
            self.kernels = sum(event.self_device_time_total for event in events) / 1e6 / STEPS


def measured_row(model: NeuralMethod, measured: Measured, seconds: float, texts: int) -> dict[str, str]:
    epochs = model.training_log["epochs"]
    trained = epochs[-1]["seconds"]
    speed = texts * len(epochs) / trained
    row = {"all s": f"{seconds:.1f}", "epochs s": f"{trained:.1f}", "texts/s": f"{speed:,.0f}"}
    if measured.kernels:
        ceiling = model.config.batch_size / measured.kernels
        row |= {
            "busy": f"{100 * measured.kernels / measured.wall:.0f} %",
            "ceiling texts/s": f"{ceiling:,.0f}",
            "reached": f"{100 * speed / ceiling:.0f} %",
            "TFLOP/s": f"{measured.flops * speed / 1e12:.1f}",
        }
    return row


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz and test.jsonl.xz")
    parser.add_argument("--method", default="xml-cnn", help="network to train")
    parser.add_argument("--epochs", type=int, default=20, help="number of epochs")
    parser.add_argument("--batches", default="64", help="batch sizes, separated by commas")
    add_settings(parser, "the method")
    options = parser.parse_args()
    stamp = provenance.this_run()
    train, test = (treetop.read(options.folder / f"{part}.jsonl.xz") for part in ("train", "test"))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "processor"
    what = f"{options.folder.name}, {options.method}, {options.epochs} epochs"
    print(f"{what}, {device}, torch {torch.__version__}\n")
    treetop.make(options.method, epochs=1).fit(train[: 50 * 64])  # loads the libraries
    for number, size in enumerate(map(int, options.batches.split(","))):
        settings = named(options.settings)
        model = treetop.make(options.method, epochs=options.epochs, batch_size=size, **settings)
        assert isinstance(model, NeuralMethod)
        began = time.monotonic()
        with Measured() as measured:
            model.fit(train)
        row = measured_row(model, measured, time.monotonic() - began, len(train))
        began = time.monotonic()
        metrics = model.evaluate(test)
        row |= {"predict texts/s": f"{len(test) / (time.monotonic() - began):,.0f}"}
        row |= {name: f"{metrics[name]:.2f}" for name in ("P@1", "P@3", "P@5", "PSP@5")}
        if number == 0:
            print(f"| batch | {' | '.join(row)} |\n|{'---|' * (len(row) + 1)}")
        print(f"| {size} | {' | '.join(row.values())} |", flush=True)
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
