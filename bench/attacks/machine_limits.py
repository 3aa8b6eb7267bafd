"""Commands on a machine that lacks something: space, permission, file descriptors, memory.

    python bench/attacks/machine_limits.py [--seconds 60] [--seed 0]

A trial is one command, in a process forked for it, in which a file operation fails at a random moment, or
whose files, descriptors or memory are limited. It fails unless the command succeeds, or ends with one
sentence that is no internal error and does not call a file damaged, and leaves the model as it was or should
become.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import numpy as np

import treetop
from small_data import topic_texts
from treetop.cli.main import main
from treetop.errors import ModelError
from trials import Trials, attack, run

COMMANDS = [
    ("train", "train.jsonl", "--method", "xr-linear", "--model", "m", "--set", "leaf_size=2"),
    ("train", "train.jsonl", "--method", "neighbours", "--model", "m"),
    ("update", "m", "new.jsonl"),
    ("calibrate", "m", "new.jsonl"),
    ("predict", "m", "new.jsonl", "--output", "out.jsonl"),
    ("evaluate", "m", "new.jsonl", "--json", "out.json"),
    ("data", "convert", "train.jsonl", "out.csv.gz"),
    ("data", "convert", "train.jsonl", "out.arrays"),
    ("explain", "m", "boat and wind"),
    ("info", "m"),
]
ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE, errno.EIO]
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}
QUERIES = topic_texts(10, 9)[0]


class Place:
    """Data and a model, and what each command makes of it."""

    def __init__(self, folder: Path) -> None:
        self.before, self.root = folder / "before", folder / "root"
        self.before.mkdir()
        for name, count, seed in (("train", 200, 0), ("new", 30, 5)):
            rows = zip(*topic_texts(count, seed), strict=True)
            lines = (json.dumps({"text": text, "labels": labels}) for text, labels in rows)
            (self.before / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        data = treetop.read(self.before / "train.jsonl")
        treetop.XRLinear(threads=1, leaf_size=3, keep_data=True).fit(data).save(self.before / "m")
        self.old = self.model(self.before)
        self.new: dict[tuple[str, ...], bytes | None] = {}
        for command in COMMANDS:
            self.start_afresh()
            os.chdir(self.root)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main(self.words(command))  # in this process, so that a fork need not import anything
            os.chdir(self.before)
            status, said = self.forked(command, lambda: None)
            assert status == 0, said
            self.new[command] = self.model(self.root)

    @staticmethod
    def words(command: tuple[str, ...]) -> list[str]:
        return ["-q", *command, *(["--threads", "1"] if command[0] not in ("data", "info") else [])]

    def start_afresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.before, self.root)

    def model(self, root: Path) -> bytes | None:
        try:
            found = treetop.load(root / "m", threads=1).predict(QUERIES, k=2)
        except ModelError as error:
            return str(error).encode()
        return np.ascontiguousarray(found.indices).tobytes() + np.ascontiguousarray(found.scores).tobytes()

    def forked(self, command: tuple[str, ...], limit: Callable[[], None]) -> tuple[int, str]:
        """Its exit status, and what it printed to standard error."""
        self.start_afresh()
        said, says = os.pipe()  # which no limit of files concerns
        child = os.fork()
        if child == 0:
            status = 99
            try:
                os.chdir(self.root)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(says, 2)
                limit()
                warnings.simplefilter("ignore")
                main(self.words(command))
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        os.close(says)
        with os.fdopen(said) as text:
            words = text.read()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), words

    def fault(self, command: tuple[str, ...], limit: Callable[[], None]) -> str | None:
        status, said = self.forked(command, limit)
        what = f"{' '.join(command)}: exit {status}, {said[-700:]!r}"
        found = self.model(self.root)
        if found not in (self.old, self.new[command]):
            return f"{what}: another model"
        if status == 0:
            return None if found == self.new[command] else f"{what}: success without its model"
        lines = [line for line in said.splitlines() if line.startswith("treetop: ")]
        good = status in (1, 2) and len(lines) == 1 and "Traceback" not in said
        if not good or any(words in lines[0] for words in ("internal error", "damaged")):
            return what
        hidden = {path.relative_to(self.root).as_posix() for path in self.root.rglob(".*")}
        # Removing may have failed, too: the next run removes a lock that ended and parts of checkpoints.
        left = {name for name in hidden if name != ".m.lock" and not name.startswith("m.unfinished/")}
        return f"{what}: left {left}" if left else None


def failing(rng: random.Random, root: Path) -> Callable[[], None]:
    """A file operation below the folder that fails, and perhaps all later ones."""
    number, code, lasting = rng.randrange(40), rng.choice(ERRORS), rng.random() < 0.3

    def install() -> None:
        seen = [0]

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event not in EVENTS or not isinstance(arguments[0], (str, bytes, os.PathLike)):
                return
            path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100
            reads = event == "open" and not (isinstance(arguments[2], int) and arguments[2] & 3)
            full = code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
            frees = event in ("os.remove", "os.rmdir", "os.listdir", "os.scandir") and code != errno.EACCES
            if not path.startswith(str(root)) or ((reads or frees) and full) or (frees and lasting):
                return
            seen[0] += 1
            if seen[0] == number + 1 or (lasting and seen[0] > number):
                raise OSError(code, os.strerror(code), path)

        sys.addaudithook(hook)

    return install


def trial(trials: Trials, limit_of: Callable[[random.Random, Path], Callable[[], None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tried = Place(place)
        while trials.go_on():
            command = trials.random.choice(COMMANDS)
            trials.count(tried.fault(command, limit_of(trials.random, tried.root)))


@attack(
    "machine/failing operations",
    "no success and no sentence with the cause, or the model is lost",
)
def failing_operations(trials: Trials) -> None:
    """No space, no permission, too many open files, a broken disk."""
    trial(trials, failing)


@attack(
    "machine/full disk",
    "no success and no sentence with the cause, or the model is lost",
)
def full_disk(trials: Trials) -> None:
    """A limit of the size of files stands in for it: writing fails in the middle."""

    def limit_of(rng: random.Random, _: Path) -> Callable[[], None]:
        size = rng.choice([0, 1, 100, 128, 500, 2000, 10_000])

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return limit

    trial(trials, limit_of)


@attack(
    "machine/few descriptors",
    "no success and no sentence with the cause, or the model is lost",
)
def few_descriptors(trials: Trials) -> None:
    def limit_of(rng: random.Random, _: Path) -> Callable[[], None]:
        spare = rng.randrange(6)

        def limit() -> None:
            first = os.open(os.devnull, os.O_RDONLY)
            os.close(first)
            resource.setrlimit(resource.RLIMIT_NOFILE, (first + spare, first + spare))

        return limit

    trial(trials, limit_of)


@attack(
    "machine/little memory",
    "no success and no sentence with the cause, or the model is lost",
)
def little_memory(trials: Trials) -> None:
    def limit_of(rng: random.Random, _: Path) -> Callable[[], None]:
        spare = rng.choice([1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24])

        def limit() -> None:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (used + spare, used + spare))

        return limit

    trial(trials, limit_of)


if __name__ == "__main__":
    sys.exit(run(__doc__))
