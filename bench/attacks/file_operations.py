"""A kill and a power loss at every file operation of saving, updating, checkpoints and written files.

    python bench/attacks/file_operations.py [--seconds 60] [--seed 0]

A trial is one state of the disk: at an operation, as a kill leaves it, or without any of the contents and
names that were not synchronised, all of them or at random. It fails if a model, checkpoint or file is neither
whole nor as before, if it is not the new one after the command has returned, or if the next run leaves files
behind.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from typing import Any

import pytest

import treetop
from disk import after_each, recording
from small_data import topic_texts
from test_durable import PIECE, piece_in, seed_of
from test_store import example
from treetop import checkpoints, store
from treetop.data.files import Output
from trials import Trials, attack, run


def save(rng: random.Random, root: Path) -> tuple[Callable[[], Any], Callable[[Path], Any], Any, Any]:
    """The operation, the check of a disk, and what that returns before and after."""
    before, after = rng.choice([None, 1, 2]), rng.choice([1, 2])
    if before is not None:
        store.save(root / "model", example(before))
    return lambda: store.save(root / "model", example(after)), seed_of, before, after


def update(rng: random.Random, root: Path) -> tuple[Callable[[], Any], Callable[[Path], Any], Any, Any]:
    texts, labels = topic_texts(rng.choice([5, 20]), rng.randrange(100))
    model = treetop.XRLinear(keep_data=True, threads=1, leaf_size=2, branching=2).fit(texts, labels)
    model.save(root / "model")
    more = topic_texts(rng.choice([1, 7]), rng.randrange(100))

    def examples(disk: Path) -> int:
        return int(treetop.load(disk / "model").statistics["examples"])

    def change() -> None:
        changed = treetop.load(root / "model", threads=1)
        changed.update(treetop.Dataset.from_texts(*more))
        changed.save(root / "model")

    return change, examples, len(texts), len(texts) + len(more[0])


def piece(rng: random.Random, root: Path) -> tuple[Callable[[], Any], Callable[[Path], Any], Any, Any]:
    removed = rng.random() < 0.5
    folder = root / "m.unfinished"

    def keep() -> None:
        with pytest.raises(KeyboardInterrupt), checkpoints.keeping(folder, resume=False):
            checkpoints.keep("piece", PIECE)
            raise KeyboardInterrupt

    def remove() -> None:
        with checkpoints.keeping(folder, resume=rng.random() < 0.5):
            pass

    if removed:
        keep()
    return (remove if removed else keep), piece_in, removed, not removed


def file(rng: random.Random, root: Path) -> tuple[Callable[[], Any], Callable[[Path], Any], Any, Any]:
    names = rng.sample(["a.csv", "b.jsonl.gz", "c.txt.xz"], rng.choice([1, 2]))
    old, new = "old" * rng.randrange(1, 1000), "new" * rng.randrange(1, 1000)

    def write(content: str, place: Path = root) -> None:
        with Output() as out:
            for name in names:
                out.text(place / name).write(content)

    write(old)
    before = (root / names[0]).read_bytes()

    def first(disk: Path) -> bool:
        """Whether the first file is the new one."""
        found = (disk / names[0]).read_bytes()
        assert found == before or treetop.data.files.read_lines(disk / names[0])[0] == new
        write(new, disk)
        assert sorted(path.name for path in disk.iterdir()) == sorted(names)
        return found != before

    return lambda: write(new), first, False, old != new


@attack(
    "disk/kills and power losses",
    "a model, checkpoint or file is neither whole nor as before",
)
def states(trials: Trials) -> None:
    while trials.go_on():
        with tempfile.TemporaryDirectory() as place:
            root = Path(place) / "root"
            root.mkdir()
            make = trials.random.choice([save, update, piece, file])
            operation, check, before, after = make(trials.random, root)
            with recording(root) as found:
                operation()
            fault = None
            replay = Path(place) / "replay"
            try:
                killed, lost = after_each(found, replay, check)
                if not {*killed, *lost} <= {before, after} or killed[-1] != after:
                    fault = f"{make.__name__}: {before!r} and {after!r} became {killed} and {lost}"
                elif set(after_each(found[-1:], replay, check)[1]) != {after}:
                    fault = f"{make.__name__}: not on disk when it returned"
                trials.count(fault, len(killed) + len(lost))
            except Exception as error:
                trials.count(f"{make.__name__}: {error!r}", len(found))
                shutil.rmtree(replay, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(run(__doc__))
