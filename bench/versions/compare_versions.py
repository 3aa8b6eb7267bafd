"""Whether a version of treetop is slower than another: the same tasks in both, taking turns.

    python bench/versions/compare_versions.py DATA OLD_PYTHON NEW_PYTHON [--rounds N] [--only WORDS]

DATA has train.jsonl.xz and test.jsonl.xz. Each Python has one of the versions installed; both processes stay
alive, and take turns with every task, the first one changing from round to round. The table has the processor
time of the new version divided by that of the old: of the fastest rounds, and the median over the rounds.
Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import machine, provenance
from common.options import parser_for
from common.tables import markdown

TASKS = Path(__file__).with_name("runners") / "version_tasks.py"


class Version:
    """A process that runs tasks with one version."""

    def __init__(self, python: str, folder: Path) -> None:
        # Not in the checkout, whose sources would hide the installed version.
        self.process = subprocess.Popen(
            [python, str(TASKS), str(folder)],
            cwd=folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.asked, self.answers = self.process.stdin, self.process.stdout

    def tasks(self) -> list[str]:
        """Their names, which the process prints once it is ready."""
        line = self.answers.readline()
        return list(json.loads(line)) if line else []

    def seconds(self, task: str) -> float:
        print(task, file=self.asked, flush=True)
        return float(self.answers.readline())

    def close(self) -> None:
        self.asked.close()
        self.process.wait()


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("data", type=Path, help="folder with train.jsonl.xz and test.jsonl.xz")
    parser.add_argument("old", help="Python with the old version")
    parser.add_argument("new", help="Python with the new version")
    parser.add_argument("--rounds", type=int, default=15, help="times that each version runs each task")
    parser.add_argument("--only", default="", help="tasks whose names contain these words")
    options = parser.parse_args()
    stamp = provenance.this_run()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for split in ("train", "test"):
            with (
                lzma.open(options.data / f"{split}.jsonl.xz") as packed,
                (folder / f"{split}.jsonl").open("wb") as plain,
            ):
                shutil.copyfileobj(packed, plain)
        subprocess.run([options.old, str(TASKS), str(folder), "prepare"], cwd=folder, check=True)
        versions = [Version(python, folder) for python in (options.old, options.new)]
        tasks = [task for task in versions[0].tasks() if options.only in task]
        if not set(tasks) <= set(versions[1].tasks()):
            sys.exit("a version did not start: its message is above")
        rows = [row(task, versions, options.rounds) for task in tasks]
        for version in versions:
            version.close()
    print(markdown(["task", "old, ms", "new, ms", "new / old, fastest", "new / old, median"], rows))
    print(f"\n{provenance.measured([stamp])} {machine.describe_hardware()}.")


def row(task: str, versions: list[Version], rounds: int) -> list[str]:
    times: list[list[float]] = [[], []]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(versions[which].seconds(task))
    old, new = times
    ratio = median(b / a for a, b in zip(old, new, strict=True))
    fastest = min(new) / min(old)
    return [task, f"{1000 * min(old):.1f}", f"{1000 * min(new):.1f}", f"{fastest:.3f}", f"{ratio:.3f}"]


if __name__ == "__main__":
    main()
