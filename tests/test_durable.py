"""Whole or absent: models, checkpoints and files at every kill and power loss."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treetop
from commands import call
from conftest import planted
from disk import after_each, recording, write
from system_calls import traced
from test_checkpoints import SETTINGS, stopped_before_last_level
from test_store import example
from treetop import checkpoints, durable, locks, store
from treetop.data import Dataset
from treetop.data.files import Output
from treetop.errors import ModelError, TreetopError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks and folders differ on Windows")


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


# -- models --------------------------------------------------------------------------------------------------


def seed_of(root: Path) -> int | None:
    """The seed of the stored model, with all its arrays; a next save works and removes leftovers."""
    found = None
    if (root / "model").exists():
        loaded = store.load(root / "model")
        found = loaded.config["seed"]
        for name, array in example(found).arrays.items():
            np.testing.assert_array_equal(loaded.arrays[name], array)
    store.save(root / "model", example(3))
    assert store.load(root / "model").config == {"seed": 3}
    assert [path.name for path in root.iterdir()] == ["model"]
    assert len(list((root / "model").iterdir())) == 2
    return found


@pytest.mark.parametrize("before", [None, 1, 2])
def test_a_save_is_whole_or_absent(root, tmp_path, before):
    if before is not None:
        store.save(root / "model", example(before))
    with recording(root) as states:
        store.save(root / "model", example(2))
    assert len(states) > 10
    killed, lost = after_each(states, tmp_path / "replay", seed_of)
    assert {*killed, *lost} == {before, 2} and killed[-1] == 2
    assert after_each(states[-1:], tmp_path / "replay", seed_of)[1] == [2] * 6  # what `save` returned from


def test_saved_parent_folders_are_on_disk(root, tmp_path):
    with recording(root) as states:
        store.save(root / "deep" / "er" / "model", example(1))
    _, lost = after_each(states[-1:], tmp_path / "replay", lambda root: seed_of(root / "deep" / "er"))
    assert lost == [1] * 6


def test_an_update_is_whole_or_absent(root, tmp_path, capsys):
    treetop.XRLinear(keep_data=True, threads=1).fit(["bread", "sail"], [["baking"], ["sailing"]]).save(
        root / "model"
    )
    new = tmp_path / "new.jsonl"
    new.write_text('{"text": "rye bread", "labels": ["baking", "rye"]}\n')
    with recording(root) as states:
        call(capsys, "update", root / "model", new, "--threads", "1")

    def examples(root: Path) -> int:
        return int(treetop.load(root / "model").statistics["examples"])

    killed, lost = after_each(states, tmp_path / "replay", examples)
    assert {*killed, *lost} == {2, 3} and killed[0] == 2 and killed[-1] == 3
    assert after_each(states[-1:], tmp_path / "replay", examples)[1] == [3] * 6


# -- checkpoints ---------------------------------------------------------------------------------------------

PIECE = {"number": np.array(3.5), "many": np.arange(6)}


def piece_in(root: Path, name: str = "piece") -> bool:
    """Whether the piece is there, whole; it can be kept then, and nothing is left in the end."""
    with checkpoints.keeping(root / "m.unfinished", resume=True):
        found = checkpoints.find(name)
        assert found is None or {name: array.tolist() for name, array in found.items()} == {
            name: array.tolist() for name, array in PIECE.items()
        }
        checkpoints.keep(name, PIECE)
        assert checkpoints.find(name)
    assert not list(root.iterdir())
    return found is not None


def test_a_piece_is_whole_or_absent(root, tmp_path):
    keeping = checkpoints.keeping(root / "m.unfinished", resume=False)
    with recording(root) as states, pytest.raises(KeyboardInterrupt), keeping:
        checkpoints.keep("piece", PIECE)
        raise KeyboardInterrupt
    killed, lost = after_each(states, tmp_path / "replay", piece_in)
    assert killed == sorted(killed) and {*killed} == {*lost} == {False, True}
    assert all(after_each(states[-1:], tmp_path / "replay", piece_in)[1])


def test_the_removal_of_pieces_leaves_them_whole_or_absent(root, tmp_path):
    folder = root / "m.unfinished"
    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt), checkpoints.keeping(folder, resume=resume):
            checkpoints.keep("piece", PIECE)
            raise KeyboardInterrupt
        with recording(root) as states, checkpoints.keeping(folder, resume=resume):
            pass
        killed, lost = after_each(states, tmp_path / "replay", piece_in)
        assert killed == sorted(killed, reverse=True) and {*killed} == {*lost} == {False, True}


def test_a_newer_state_replaces_the_older_one(root, tmp_path):
    with pytest.raises(KeyboardInterrupt), checkpoints.keeping(root / "m.unfinished", resume=False):
        checkpoints.keep_latest("net", 1, {"step": np.array(1)})
        with recording(root) as states:
            checkpoints.keep_latest("net", 12, {"step": np.array(12)})
        raise KeyboardInterrupt

    def step(root: Path) -> int:
        with checkpoints.keeping(root / "m.unfinished", resume=True):
            (root / "m.unfinished" / "net.old").mkdir()
            found = checkpoints.find_latest("net")
            assert found is not None
            return int(found["step"])

    killed, lost = after_each(states, tmp_path / "replay", step)
    assert killed == sorted(killed) and {*killed} == {*lost} == {1, 12}


def test_a_training_killed_while_checkpoints_are_removed_resumes(root, tmp_path, monkeypatch):
    data = Dataset.from_matrices(*planted(200, 40, 60, seed=1))
    whole = treetop.XRLinear(**SETTINGS).fit(data)._state()
    stopped_before_last_level(data, root / "m.unfinished", monkeypatch)
    with recording(root) as states, checkpoints.keeping(root / "m.unfinished", resume=False):
        pass

    def resumes(root: Path) -> None:
        with checkpoints.keeping(root / "m.unfinished", resume=True):
            state = treetop.XRLinear(**SETTINGS).fit(data)._state()
        assert all(np.array_equal(state[name], array) for name, array in whole.items())
        assert not list(root.iterdir())

    assert len(states) > 5
    for number, state in enumerate(states):
        resumes(write(state.killed(), tmp_path / str(number)))


@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "more", "no list", "list"])
def test_a_damaged_piece_is_absent(root, damage):
    with checkpoints.keeping(root / "kept", resume=False):
        checkpoints.keep("piece", PIECE)
        path = root / "kept" / "piece" / "many.npy"
        content = path.read_bytes()
        if damage == "missing":
            path.unlink()
        elif damage in ("cut", "changed"):
            path.write_bytes(content[:-1] + (b"" if damage == "cut" else b"\x07"))
        elif damage == "more":
            path.with_name("more.npy").write_bytes(content)
        elif damage == "no list":
            path.with_name("piece.json").unlink()
        else:
            path.with_name("piece.json").write_text("[" * 100_000)
        assert checkpoints.find("piece") is None
        checkpoints.keep("piece", PIECE)
        assert checkpoints.find("piece")


# -- files ---------------------------------------------------------------------------------------------------


def test_a_file_is_whole_or_as_before(root, tmp_path):
    (root / "out.csv").write_text("old")
    with recording(root) as states, Output() as out:
        out.text(root / "out.csv").write("new")

    def content(root: Path) -> str:
        found = (root / "out.csv").read_text()
        with Output() as out:
            out.text(root / "out.csv").write("again")
        assert [path.name for path in root.iterdir()] == ["out.csv"]
        return found

    killed, lost = after_each(states, tmp_path / "replay", content)
    assert {*killed, *lost} == {"old", "new"}
    assert after_each(states[-1:], tmp_path / "replay", content)[1] == ["new"] * 6


def test_temporary_files_of_running_processes_stay(root):
    with Output() as first:
        first.text(root / "out").write("first")
        with Output() as second:
            second.text(root / "out").write("second")
        assert (root / "out").read_text() == "second"
        assert len(list(root.iterdir())) == 2
    assert (root / "out").read_text() == "first"
    assert len(list(root.iterdir())) == 1


def test_without_locks_only_old_files_are_removed(root, monkeypatch):
    monkeypatch.setattr(locks, "try_lock", lambda handle: None)
    old, new, other = (root / f".{name}.tmp" for name in ("out.0123abcd", "out.0123abce", "out.csv.0123abcd"))
    for path in (old, new, other):
        path.write_text("half")
    os.utime(old, (1, 1))
    os.utime(other, (1, 1))
    with Output() as out:
        out.text(root / "out").write("whole")
    assert {path.name for path in root.iterdir()} == {"out", new.name, other.name}


def test_too_few_descriptors_leave_no_temporary_file(root, monkeypatch):
    monkeypatch.setattr(os, "dup", lambda file: os.open(root / "none" / "x", os.O_RDONLY))
    with pytest.raises(OSError), Output() as out:
        out.text(root / "out").write("whole")
    assert not list(root.iterdir())


def test_a_folder_that_may_be_written_but_not_read(root, monkeypatch):
    opened = os.open

    def only_files(path: Any, flags: int, *mode: int) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", only_files)
    with Output() as out:
        out.text(root / "out").write("whole")
    assert (root / "out").read_text() == "whole"


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "free some space"), (errno.EFBIG, "choose another folder")]
)
def test_what_cannot_be_written_is_named_with_a_remedy(root, monkeypatch, number, remedy):
    def fails(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fails)
    with checkpoints.keeping(root / "kept", resume=False):
        for write_it, place in (
            (lambda: store.save(root / "model", example(1)), root / "model"),
            (lambda: checkpoints.keep("piece", PIECE), root / "kept"),
            (lambda: treetop.write(Dataset.from_texts(["t"], [["a"]]), root / "a.csv"), root / "a.csv"),
        ):
            with pytest.raises(TreetopError) as caught:
                write_it()
            assert str(caught.value) == f"{place}: cannot be written ({os.strerror(number)}); {remedy}"


def test_a_disk_that_cannot_synchronise_folders(root, monkeypatch):
    fsync = os.fsync

    def only_files(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", only_files)
    durable.create_folder(root / "a" / "b")
    with Output() as out:
        out.text(root / "a" / "b" / "out").write("whole")
    durable.remove(root / "a")
    assert not list(root.iterdir())


# -- feedback ------------------------------------------------------------------------------------------------

FEEDBACK = """
import asyncio, os, sys
from pathlib import Path
from typing import Any
from treetop.serve.feedback import Feedback, FeedbackStore
async def session():
    store = FeedbackStore(Path(sys.argv[1]) / "f.sqlite")
    for _ in range(2):
        await store.add([Feedback("m", "1", "text", [], [], [], ["label"])])
        os.write(1, b"acknowledged")
    store.close()
for _ in range(2):
    asyncio.run(session())
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_acknowledged_feedback_is_on_disk(root, tmp_path):
    states = traced(FEEDBACK, root, tmp_path / "calls.txt")
    assert states[-1][1] == 4

    def entries(root: Path) -> int:
        with contextlib.closing(sqlite3.connect(root / "f.sqlite")) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            if not connection.execute("SELECT name FROM sqlite_master").fetchall():
                return 0
            return int(connection.execute("SELECT COUNT(*) FROM feedback").fetchone()[0])

    for acknowledged in range(5):
        during = [state for state, printed in states if printed == acknowledged]
        killed, lost = after_each(during, tmp_path / "replay", entries)
        assert acknowledged <= min(*killed, *lost) and max(*killed, *lost) <= acknowledged + 1


# -- several processes ---------------------------------------------------------------------------------------


def test_a_reserved_folder_is_rejected_at_once(root, capsys, tmp_path):
    data = tmp_path / "train.jsonl"
    data.write_text('{"text": "bread", "labels": ["baking"]}\n{"text": "sail", "labels": ["sailing"]}\n')
    assert call(capsys, "train", data, "--model", root / "m", "--method", "xr-linear").code == 0
    (root / "link").symlink_to(root / "m")
    commands = [
        ("train", data, "--model", root / "m"),
        ("train", data, "--model", root / "link"),
        ("tune", data, "--method", "xr-linear", "--model", root / "m"),
        ("update", root / "m", data),
        ("calibrate", root / "m", data),
        ("ensemble", root / "m", tmp_path / "a", tmp_path / "b"),
        ("demo", "--keep", root / "m"),
        ("import", root / "m", "--model", root / "m"),
    ]
    before = sorted(path.name for path in root.iterdir())
    with store.reserved(root / "m"):
        for command in commands:
            name = str(command[3]) if command[0] == "train" else str(root / "m")
            call(capsys, *command).sentence(2, f"{name}: another process", "wait until it ends")
        with store.reserved(root / "other"):
            pass
    assert sorted(path.name for path in root.iterdir()) == before
    with store.reserved(root / "m"):
        pass


def test_a_reservation_leaves_nothing_and_may_be_impossible(root, monkeypatch):
    with store.reserved(root / "deep" / "er" / "m"):
        assert (root / "deep" / "er" / ".m.lock").exists()
    assert not list(root.iterdir())
    (root / "file").write_text("")
    with store.reserved(root / "file" / "m"):  # saving will say so
        pass
    monkeypatch.setattr(locks, "try_lock", lambda handle: None)
    with store.reserved(root / "m"), store.reserved(root / "m"):
        pass
    assert [path.name for path in root.iterdir()] == ["file"]


HOLDS = """
import sys, time
from treetop import store
from treetop.data.files import Output
with store.reserved(sys.argv[1] + "/m"), Output() as out:
    out.text(__import__("pathlib").Path(sys.argv[1]) / "out").write("half")
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.process
def test_locks_end_with_their_process(root):
    with subprocess.Popen([sys.executable, "-c", HOLDS, root], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        with pytest.raises(ModelError, match="another process"), store.reserved(root / "m"):
            pass
        with Output() as out:
            out.text(root / "out").write("whole")
        assert len(list(root.glob(".out.*.tmp"))) == 1
        process.kill()
    with store.reserved(root / "m"), Output() as out:
        out.text(root / "out").write("again")
    assert [path.name for path in root.iterdir()] == ["out"]


WAITS = """
import pathlib, sys, time
from treetop.cli.main import main
from treetop.predictions import Predictions
def lines(self, ascii_only):
    yield "half"
    print("writing", flush=True)
    time.sleep(60)
Predictions._json_lines = lines
main(sys.argv[1:])
"""


@pytest.mark.process
def test_sigterm_removes_what_was_being_written(root, tmp_path, capsys):
    data = tmp_path / "train.jsonl"
    data.write_text('{"text": "bread", "labels": ["baking"]}\n{"text": "sail", "labels": ["sailing"]}\n')
    model = tmp_path / "m"
    assert call(capsys, "train", data, "--model", model, "--method", "xr-linear").code == 0
    command = [sys.executable, "-c", WAITS, "predict", model, data, "--output", root / "out.jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"writing\n"
        assert len(list(root.iterdir())) == 1
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 143
    assert errors.decode().splitlines()[-1] == "treetop: terminated"
    assert not list(root.iterdir())
