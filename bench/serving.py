"""Load on the server: a steady rate, more than it can do, and the moments after.

python bench/serving.py ../shared/data/deb-deps [--model FOLDER] [--rate 1000] [--seconds 60] [--workers 1]
                        [--output docs/benchmarks.md docs/serving.md]

Trains xr-linear on the folder's train split (unless --model names a trained one), starts `treetop serve` on a
free port of the loopback interface, and asks for the labels of the test texts, one text a request, from a
load generator that shares the machine (see load.py). Four phases: warm-up; the rate for the seconds; eight
times the rate for ten seconds; right after that the first rate again for ten seconds. Writes its table into
each page.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import load
import machine
import page
import treetop
from load import Outcome
from table import markdown

HEAD = (
    "phase",
    "asked/s",
    "answered/s",
    "turned away (429)",
    "errors",
    "median ms",
    "p99 ms",
    "p99.9 ms",
    "max ms",
)
TOO_MUCH = 8
SHORT_S = 10
GOAL_MS = 50
COMMENT = "<!-- not run: it takes minutes, and a quiet machine -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--output", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    texts = list(treetop.read(options.data, split="test", need_labels=False).texts)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.model
        if folder is None:
            folder = Path(scratch) / "model"
            treetop.XRLinear(threads=2).fit(treetop.read(options.data, split="train")).save(folder)
        with served(folder, options.workers) as (process, port):
            requests = [load.predict_request("127.0.0.1", port, text, options.k) for text in texts]
            phases = {
                "warm-up": (options.rate / 2, SHORT_S / 2),
                "steady": (options.rate, options.seconds),
                "too much": (TOO_MUCH * options.rate, SHORT_S),
                "right after": (options.rate, SHORT_S),
            }
            rows = []
            for name, (rate, seconds) in phases.items():
                before = cpu_seconds(process)
                outcome = load.run("127.0.0.1", port, requests, rate, seconds)
                used = cpu_seconds(process) - before
                print(
                    name, summary(outcome), f"{1000 * used / outcome.asked:.3f} CPU ms a request", flush=True
                )
                rows.append(row(name, rate, outcome))
                if name == "steady":
                    steady = outcome
                    memory = resident(process)
    met = steady.errors == 0 and not steady.statuses[429] and steady.percentile(99) < GOAL_MS
    section = (
        f"Single texts of {options.data.name} to `treetop serve` with xr-linear ({options.workers} worker"
        f"{'s' * (options.workers > 1)}, k = {options.k}), the load generator on the same machine: "
        f"{machine.describe(2).rpartition(';')[0]}. Requests come at random times at the given rate, "
        "and latency counts from the moment a request was due. "
        f"The goal, {options.rate:,.0f} requests a second for {options.seconds:.0f} s at a 99th percentile "
        f"under {GOAL_MS} ms without an error, is {'met' if met else 'NOT met'}. "
        f"Memory of the server after the steady phase: {memory / 1e6:.0f} MB.\n\n"
        f"{COMMENT}\n```sh\npython bench/serving.py {options.data} --rate {options.rate:g} --seconds "
        f"{options.seconds:g} --workers {options.workers} --output docs/benchmarks.md docs/serving.md\n```\n"
        f"\n{markdown(HEAD, rows)}"
    )
    print(section)
    for output in options.output:
        put(output, section)
    sys.exit(0 if met else 1)


def put(target: Path, section: str) -> None:
    """Into its place of the page of benchmarks, or over the section of that name of another page."""
    if target.name == "benchmarks.md":
        page.put(target, {page.SERVING: section})
        return
    text = target.read_text("utf-8")
    start = text.index("\n## Under load\n")
    end = text.find("\n## ", start + 1)
    fresh = f"{text[:start]}\n## Under load\n\n{section.strip()}\n{text[end:] if end >= 0 else ''}"
    target.write_text(fresh, "utf-8")


@contextmanager
def served(folder: Path, workers: int) -> Iterator[tuple[int, int]]:
    """A server on a free port: its process and the port. It ends with the block."""
    command = [sys.executable, "-m", "treetop", "serve", str(folder), "--feedback", "none", "--port", "0"]
    process = subprocess.Popen([*command, "--workers", str(workers)], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)$", line.strip())
            if found:
                yield process.pid, int(found[1])
                break
        else:
            raise SystemExit("the server did not start")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def row(name: str, rate: float, outcome: Outcome) -> list[str]:
    answered = outcome.statuses[200] / outcome.seconds
    times = [f"{outcome.percentile(share):,.1f}" for share in (50, 99, 99.9, 100)]
    return [
        name,
        f"{rate:,.0f}",
        f"{answered:,.0f}",
        f"{outcome.statuses[429]:,}",
        f"{outcome.errors:,}",
        *times,
    ]


def summary(outcome: Outcome) -> str:
    return f"{dict(outcome.statuses)}, {outcome.broken} broken, {outcome.connections} connections"


def family(process: int) -> list[int]:
    """The process and its workers."""
    found = [process]
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == process:
                found.append(int(entry.name))
    return found


def cpu_seconds(process: int) -> float:
    ticks = 0
    for number in family(process):
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> float:
    pages = sum(int(Path(f"/proc/{number}/statm").read_text().split()[1]) for number in family(process))
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


if __name__ == "__main__":
    main()
