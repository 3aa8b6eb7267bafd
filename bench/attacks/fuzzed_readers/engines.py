"""Tries inputs on a reader, at random or guided by coverage, in a child process."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import mmap
import os
import random
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from . import doors as doors_module
from .doors import OPTIONS, Door
from .mutations import Case, packed, unpacked
from .verdicts import failure, limit_memory

FAILED = Path(__file__).parents[3] / "build" / "attacks" / "readers"
MEMORY = Path("/dev/shm")
INPUT_SECONDS = 120
"""After these, an input that no signal interrupts ends its process."""
CRASHES = 5
"""Crashes after which a reader is left."""
SHOWN = 5
"""Failures of a reader that are printed, of different kinds."""


class Share:
    """The time or number of inputs of one reader."""

    def __init__(self, seconds: float, tries: int | None, seed: int) -> None:
        self.seconds, self.tries, self.seed = seconds, tries, seed


class Tally:
    """Counts inputs and failures where another process can read them."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)

    def add(self, tried: int = 0, failed: int = 0) -> None:
        counts = self.counts
        self._memory[:16] = struct.pack("<QQ", counts[0] + tried, counts[1] + failed)

    @property
    def counts(self) -> tuple[int, int]:
        tried, failed = struct.unpack("<QQ", self._memory[:16])
        return tried, failed


class Attack:
    """One reader under attack: tries inputs, counts, and keeps those that fail."""

    def __init__(self, door: Door, folder: Path, tally: Tally) -> None:
        self.door, self.folder, self.tally = door, folder, tally
        self._seen: set[str] = set()
        self.current = folder / "current"
        """The input that is being tried, packed."""

    def try_case(self, case: Case) -> None:
        content = packed(case)
        self.current.write_bytes(content)
        faulthandler.dump_traceback_later(INPUT_SECONDS, exit=True)
        problem = failure(self.door, case, self.folder / "case")
        faulthandler.cancel_dump_traceback_later()
        self.tally.add(tried=1, failed=int(problem is not None))
        if problem is not None:
            self.report(content, problem)

    def report(self, content: bytes, problem: str) -> None:
        """Prints a failure and keeps its input, unless there were others of its kind."""
        kind = problem.partition("\n")[0]
        if kind in self._seen or len(self._seen) >= SHOWN:
            return
        self._seen.add(kind)
        FAILED.mkdir(parents=True, exist_ok=True)
        path = FAILED / f"{self.door.name}-{hashlib.sha256(kind.encode()).hexdigest()[:16]}"
        path.write_bytes(content)
        print(f"{self.door.name}: {problem}\n  kept in {path}\n", file=sys.stderr, flush=True)


def attack(door: Door, share: Share, engine: Callable[[Attack, Share], None]) -> tuple[int, int]:
    """Inputs and failures of an engine in a child process.

    If that crashes, the input counts as failed, and another process continues.
    """
    tally, crashes = Tally(), 0
    deadline = time.monotonic() + share.seconds
    with new_folder() as folder:
        while True:
            left = None if share.tries is None else share.tries - tally.counts[0]
            remaining = Share(deadline - time.monotonic(), left, share.seed + tally.counts[0])
            status = _in_child(lambda rest=remaining: engine(Attack(door, folder, tally), rest))
            if status == 0:
                break
            tally.add(tried=1, failed=1)
            current = folder / "current"
            attacked = Attack(door, folder, tally)
            attacked.report(
                current.read_bytes() if current.exists() else b"", f"the process ended with {status}"
            )
            crashes += 1
            if (
                crashes == CRASHES
                or time.monotonic() >= deadline
                or (share.tries is not None and tally.counts[0] >= share.tries)
            ):
                break
    return tally.counts


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def _in_child(action: Callable[[], None]) -> int:
    """The exit status of a forked process, or the negative number of the signal that ended it."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def prepare(attacked: Attack) -> list[Case]:
    """In the child: the seeds of the reader, after which its memory is limited."""
    doors_module.PLACE = str(attacked.folder)
    pool = attacked.door.pool
    for case in pool:  # imports what reading needs
        with contextlib.suppress(Exception):
            shutil.rmtree(attacked.folder / "case", ignore_errors=True)
            failure(attacked.door, case, attacked.folder / "case")
    limit_memory()
    return list(pool)


def at_random(attacked: Attack, share: Share) -> None:
    """Mutations of seeds, and of mutations."""
    pool = prepare(attacked)
    end = time.monotonic() + share.seconds
    number = 0
    while number < share.tries if share.tries is not None else time.monotonic() < end:
        rng = random.Random(f"{share.seed} {attacked.door.name} {number}")
        case = (
            pool[number] if number < len(attacked.door.pool) else attacked.door.mutated(rng.choice(pool), rng)
        )
        attacked.try_case(case)
        if rng.random() < 0.02:
            pool.append(case)
        number += 1


def with_atheris(attacked: Attack, share: Share) -> None:
    """Mutations that libFuzzer keeps if they run other lines of treetop."""
    import atheris

    pool = prepare(attacked)
    chosen = {case[OPTIONS] for case in pool}

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        rng = random.Random(seed)
        try:
            case = unpacked(data)
        except (ValueError, struct.error):
            case = {}
        if case.get(OPTIONS) not in chosen:
            case = rng.choice(pool)
        changed: bytes = packed(attacked.door.mutated(case, rng))
        return changed if len(changed) <= largest else data

    def try_input(data: bytes) -> None:
        with contextlib.suppress(ValueError, struct.error):
            case = unpacked(data)
            if case.get(OPTIONS) in chosen:
                attacked.try_case(case)

    corpus = attacked.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, case in enumerate(pool):
        (corpus / str(number)).write_bytes(packed(case))
    options = [
        *(
            "-verbosity=0",
            "-print_final_stats=0",
            f"-max_total_time={max(int(share.seconds), 1)}",
            "-max_len=200000",
        ),
        *(
            f"-seed={share.seed + 1}",
            "-rss_limit_mb=0",
            "-timeout=0",
            f"-artifact_prefix={attacked.folder}/",
            "-len_control=0",
        ),
    ]
    sys.stderr = os.fdopen(os.dup(2), "w")  # libFuzzer writes to the other one
    with Path(os.devnull).open("w") as quiet:
        os.dup2(quiet.fileno(), 1)
        os.dup2(quiet.fileno(), 2)
    atheris.Setup([sys.argv[0], *options, str(corpus)], try_input, custom_mutator=mutate)
    atheris.Fuzz()
