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
from common import machine, provenance, record_files
from common.options import parser_for
from common.record_files import Record
from common.tables import markdown
from load import Outcome

TIMES = {"median ms": 50, "p99 ms": 99, "p99.9 ms": 99.9, "max ms": 100}
HEAD = ("phase", "requested/s", "answered/s", "rejected (429)", "errors", *TIMES)
SETTINGS = ("workers", "k", "rate", "seconds")
STEADY = "steady"
SUBJECT = "serving"
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
    parser.add_argument(
        "--output", type=Path, nargs="*", default=[], help="record it, and replace the section of these pages"
    )
    options = parser.parse_args()
    stamp = {"machine": machine.describe_hardware()} | provenance.this_run()
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
                STEADY: (options.rate, options.seconds),
                "overload": (OVERLOAD * options.rate, SHORT_S),
                "right after": (options.rate, SHORT_S),
            }
            rows = {}
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
                rows[name] = measured_row(rate, outcome)
                if name == STEADY:
                    memory = resident(process)
    settings = {name: getattr(options, name) for name in SETTINGS}
    record = settings | {"memory_bytes": memory, "phases": rows} | stamp
    text = section({"data": options.data.name} | record)
    print(text)
    if options.output:
        record_files.put(record_files.file_of(SUBJECT, options.data.name), [record], *SETTINGS)
    for output in options.output:
        put(output, text)
    sys.exit(0 if met(record) else 1)


def met(record: Record) -> bool:
    steady = record["phases"][STEADY]
    return not steady["errors"] and not steady["rejected (429)"] and bool(steady["p99 ms"] < GOAL_MS)


def section(record: Record) -> str:
    data, rate, seconds, workers = (record[name] for name in ("data", "rate", "seconds", "workers"))
    command = (
        f"python bench/serving/serving.py ../shared/data/{data} --rate {rate:g} --seconds {seconds:g} "
        f"--workers {workers} --output docs/benchmarks.md docs/serving.md"
    )
    return (
        f"Single texts of {data} to `treetop serve` with xr-linear ({workers} worker"
        f"{'s' * (workers > 1)}, k = {record['k']}), with the load generator on the same machine: "
        f"{record['machine']}. Requests are sent at random times at the given rate, and latency "
        "counts from the moment a request was due. "
        f"The goal of {rate:,.0f} requests per second for {seconds:.0f} s with a 99th "
        f"percentile under {GOAL_MS} ms and no errors is {'met' if met(record) else 'NOT met'}. "
        f"Memory of the server after the steady phase: {record['memory_bytes'] / 1e6:.0f} MB.\n\n"
        f"{COMMENT}\n```sh\n{command}\n```\n\n"
        f"{markdown(HEAD, rows(record))}\n\n{provenance.measured([record])}"
    )


def rows(record: Record) -> Iterator[list[str]]:
    for phase, found in record["phases"].items():
        yield [phase, *(f"{found[name]:,.{1 if name in TIMES else 0}f}" for name in HEAD[1:])]


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


def measured_row(rate: float, outcome: Outcome) -> dict[str, float]:
    return {
        "requested/s": rate,
        "answered/s": outcome.statuses[200] / outcome.seconds,
        "rejected (429)": outcome.statuses[429],
        "errors": outcome.errors,
    } | {name: outcome.percentile(share) for name, share in TIMES.items()}


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
