"""Load on the server: a steady rate, an overload, and the moments after it.

    python bench/serving/serving.py ../shared/data/deb-deps [--model FOLDER] [--rate 1000] [--seconds 60]
        [--workers 1] [--output docs/benchmarks.md docs/serving.md]

Trains xr-linear on the folder's training split (unless --model names a trained model), starts `treetop serve`
on a free port of the loopback interface, and requests labels for the test texts, one text per request, from a
load generator on the same machine (see load.py). Four phases: warm-up; --rate for --seconds; eight times the
rate for ten seconds; immediately after that the first rate again for ten seconds. Writes its table into each
page.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import load
import treetop
from common import benchmarks_page as page
from common import machine, provenance
from common.options import parser_for
from common.tables import markdown
from load import Outcome

HEAD = (
    "phase",
    "requested/s",
    "answered/s",
    "rejected (429)",
    "errors",
    "median ms",
    "p99 ms",
    "p99.9 ms",
    "max ms",
)
OVERLOAD = 8
SHORT_S = 10
GOAL_MS = 50
COMMENT = "<!-- not run: takes minutes and a quiet machine -->"


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("data", type=Path, help="folder with a training and a test split")
    parser.add_argument("--model", type=Path, help="model folder; default: xr-linear is trained")
    parser.add_argument("--rate", type=float, default=1000, help="requests per second")
    parser.add_argument("--seconds", type=float, default=60, help="duration of the steady phase")
    parser.add_argument("--workers", type=int, default=1, help="server processes")
    parser.add_argument("--k", type=int, default=10, help="labels per text")
    parser.add_argument("--output", type=Path, nargs="*", default=[], help="pages whose section is replaced")
    options = parser.parse_args()
    stamp = provenance.now()
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
                "overload": (OVERLOAD * options.rate, SHORT_S),
                "right after": (options.rate, SHORT_S),
            }
            rows = []
            for name, (rate, seconds) in phases.items():
                before = cpu_seconds(process)
                outcome = load.run("127.0.0.1", port, requests, rate, seconds)
                used = cpu_seconds(process) - before
                print(
                    name,
                    summary(outcome),
                    f"{1000 * used / outcome.requested:.3f} CPU ms per request",
                    flush=True,
                )
                rows.append(row(name, rate, outcome))
                if name == "steady":
                    steady = outcome
                    memory = resident(process)
    met = steady.errors == 0 and not steady.statuses[429] and steady.percentile(99) < GOAL_MS
    command = (
        f"python bench/serving/serving.py {options.data} --rate {options.rate:g} "
        f"--seconds {options.seconds:g} --workers {options.workers} "
        "--output docs/benchmarks.md docs/serving.md"
    )
    section = (
        f"Single texts of {options.data.name} to `treetop serve` with xr-linear ({options.workers} worker"
        f"{'s' * (options.workers > 1)}, k = {options.k}), with the load generator on the same machine: "
        f"{machine.describe_hardware()}. Requests are sent at random times at the given rate, and latency "
        "counts from the moment a request was due. "
        f"The goal of {options.rate:,.0f} requests per second for {options.seconds:.0f} s with a 99th "
        f"percentile under {GOAL_MS} ms and no errors is {'met' if met else 'NOT met'}. "
        f"Memory of the server after the steady phase: {memory / 1e6:.0f} MB.\n\n"
        f"{COMMENT}\n```sh\n{command}\n```\n\n"
        f"{markdown(HEAD, rows)}\n\n{provenance.measured('bench/serving/serving.py', [stamp])}"
    )
    print(section)
    for output in options.output:
        put(output, section)
    sys.exit(0 if met else 1)


def put(target: Path, section: str) -> None:
    """Into the page of benchmarks, or as the section "Under load" of another page."""
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
    """A server on a free port, stopped at the end of the block: its process and the port."""
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
            raise SystemExit(f"the server did not start; run this to see why: {' '.join(command)}")
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
