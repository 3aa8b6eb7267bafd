"""Fuzzes all readers of files: a mutated file must lead to a result or to one sentence, to nothing else.

    python bench/attacks/readers.py [--seconds 300] [--doors csv,parquet] [--engine atheris|random] [--seed 0]
    python bench/attacks/readers.py --replay build/attacks/readers/csv-0123456789abcdef

The engine atheris follows which lines of treetop run (pip install 'treetop-xmc[attack]'); random does not.
Each reader is attacked in a process of its own, so that a crash of native code counts as a failure. Inputs
that fail are kept in build/attacks/readers.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import importlib.util
import json
import mmap
import os
import pkgutil
import random
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from common.options import parser_for

MEMORY = Path("/dev/shm")
FAILED = Path(__file__).parents[2] / "build" / "attacks" / "readers"
INPUT_SECONDS = 60
"""After these, an input that no signal interrupts ends its process."""
CRASHES = 5
"""Crashes after which a reader is left."""
SHOWN = 5
"""Failures of a reader that are printed, of different kinds."""


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="for all readers together")
    parser.add_argument(
        "--tries", type=int, help="inputs of each reader, instead of seconds; engine random only"
    )
    parser.add_argument("--doors", help="names of readers, separated by commas; default: all")
    parser.add_argument("--engine", choices=("atheris", "random"), default="atheris")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=Path, nargs="*", help="files of failed inputs")
    chosen = parser.parse_args()
    if chosen.engine == "atheris" and chosen.tries is None and not chosen.replay:
        if importlib.util.find_spec("atheris") is None:
            print(
                "atheris is not installed: pip install 'treetop-xmc[attack]', or choose --engine random",
                file=sys.stderr,
            )
            return 2
        import atheris

        with atheris.instrument_imports(include=["treetop"], exclude=["treetop.sklearn"]):
            _import_readers()
    os.environ["TREETOP_LIMITS"] = _imported("verdicts").LIMITS
    if chosen.replay:
        return _replay(chosen.replay)
    doors = _chosen_doors(chosen.doors)
    use_atheris = chosen.engine == "atheris" and chosen.tries is None
    failed = 0
    for door in doors:
        share = Share(chosen.seconds / len(doors), chosen.tries, chosen.seed)
        result = attack(door, share, _with_atheris if use_atheris else _at_random)
        failed += result["failed"]
        print(json.dumps(result), flush=True)
    return int(failed > 0)


def _imported(name: str) -> Any:
    return importlib.import_module(name)


def _import_readers() -> None:
    """All modules that read and need no torch, so that atheris instruments them."""
    for name in ("reader_doors", "verdicts", "treetop.serve.feedback_data", "treetop.methods.pecos"):
        _imported(name)
    for package in ("data", "tree", "linear", "features", "comparison", "reproduction"):
        found = _imported(f"treetop.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            _imported(module.name)


def _chosen_doors(names: str | None) -> list[Any]:
    doors = _imported("reader_doors").DOORS
    if names is None:
        return list(doors)
    known = {door.name: door for door in doors}
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise SystemExit(f"there is no reader {unknown[0]!r}; choose from {', '.join(known)}")
    return [known[name] for name in names.split(",")]


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

    def __init__(self, door: Any, folder: Path, tally: Tally) -> None:
        self.door, self.folder, self.tally = door, folder, tally
        self._seen: set[str] = set()
        self.current = folder / "current"
        """The input that is being tried, packed."""

    def try_case(self, case: dict[str, Any]) -> None:
        packed = _imported("file_mutations").packed(case)
        self.current.write_bytes(packed)
        faulthandler.dump_traceback_later(INPUT_SECONDS, exit=True)
        problem = _imported("verdicts").failure(self.door, case, self.folder / "case")
        faulthandler.cancel_dump_traceback_later()
        self.tally.add(tried=1, failed=int(problem is not None))
        if problem is not None:
            self.report(packed, problem)

    def report(self, packed: bytes, problem: str) -> None:
        """Prints a failure and keeps its input, unless there were others of its kind."""
        kind = problem.partition("\n")[0]
        if kind in self._seen or len(self._seen) >= SHOWN:
            return
        self._seen.add(kind)
        FAILED.mkdir(parents=True, exist_ok=True)
        path = FAILED / f"{self.door.name}-{hashlib.sha256(kind.encode()).hexdigest()[:16]}"
        path.write_bytes(packed)
        print(f"{self.door.name}: {problem}\n  kept in {path}\n", file=sys.stderr, flush=True)


def attack(door: Any, share: Share, engine: Callable[[Attack, Share], None]) -> dict[str, Any]:
    """Runs an engine in a child process; if that crashes, the input counts as failed, and another follows."""
    tally, crashes = Tally(), 0
    deadline = time.monotonic() + share.seconds
    with _folder() as folder:
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
    tried, failed = tally.counts
    return {"attack": f"readers/{door.name}", "tried": tried, "failed": failed}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
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


def _prepare(attacked: Attack) -> list[dict[str, Any]]:
    """In the child: the seeds of the reader, after which its memory is limited."""
    _imported("reader_doors").PLACE = str(attacked.folder)
    pool = attacked.door.pool
    for case in pool:  # imports what reading needs
        with contextlib.suppress(Exception):
            shutil.rmtree(attacked.folder / "case", ignore_errors=True)
            _imported("verdicts").failure(attacked.door, case, attacked.folder / "case")
    _imported("verdicts").limit_memory()
    return list(pool)


def _at_random(attacked: Attack, share: Share) -> None:
    """Mutations of seeds, and of mutations."""
    pool = _prepare(attacked)
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


def _with_atheris(attacked: Attack, share: Share) -> None:
    """Mutations that libFuzzer keeps if they run other lines of treetop."""
    import atheris

    mutations = _imported("file_mutations")
    pool = _prepare(attacked)
    chosen = {case[_imported("reader_doors").OPTIONS] for case in pool}

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        rng = random.Random(seed)
        try:
            case = mutations.unpacked(data)
        except (ValueError, struct.error):
            case = {}
        if case.get(_imported("reader_doors").OPTIONS) not in chosen:
            case = rng.choice(pool)
        changed: bytes = mutations.packed(attacked.door.mutated(case, rng))
        return changed if len(changed) <= largest else data

    def try_input(data: bytes) -> None:
        with contextlib.suppress(ValueError, struct.error):
            case = mutations.unpacked(data)
            if case.get(_imported("reader_doors").OPTIONS) in chosen:
                attacked.try_case(case)

    corpus = attacked.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, case in enumerate(pool):
        (corpus / str(number)).write_bytes(mutations.packed(case))
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


def _replay(paths: list[Path]) -> int:
    """Prints what is wrong with the outcome of kept inputs."""
    doors = {door.name: door for door in _imported("reader_doors").DOORS}
    found = 0
    for path in paths:
        case = _imported("file_mutations").unpacked(path.read_bytes())
        with _folder() as folder:
            attacked = Attack(doors[path.name.rpartition("-")[0]], folder, Tally())
            _prepare(attacked)
            problem = _imported("verdicts").failure(attacked.door, case, folder / "case")
        for name, content in case.items():
            print(f"{name}: {content[:300]!r}" if isinstance(content, bytes) else f"{name}: {content.value}")
        print(problem or "as it should be")
        found += problem is not None
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
