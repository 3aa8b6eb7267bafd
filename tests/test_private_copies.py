"""The server's copies of model folders: their faults, what a killed server leaves, and changes meanwhile."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from small_servers import save_model
from treetop import locks
from treetop.errors import MachineError, ModelError, TreetopError
from treetop.serve import models, private_copies
from treetop.serve.private_copies import PrivateCopies
from treetop.serve.served_model import load_served, version_of
from treetop.serve.services import Services
from treetop.serve.settings import ServeConfig


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    save_model(folder)
    return folder


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """The folder of temporary files."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def test_what_cannot_be_copied_is_named_by_its_own_folder(folder, tmp_path, monkeypatch) -> None:
    model = tmp_path / "model"
    shutil.copytree(folder, model)
    array = next(model.glob("*/*.npy"))
    with PrivateCopies() as copies:

        def complains(words: str, kind: type[TreetopError] = ModelError) -> None:
            with pytest.raises(kind, match=words) as caught:
                copies.of("m", model)
            message = str(caught.value)
            assert str(model) in message and str(copies.root) not in message and "\n" not in message
            assert not list((copies.root / "m").iterdir())

        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=7_000))
        complains("has 0 MB left; set TMPDIR", TreetopError)
        monkeypatch.undo()
        array.write_bytes(array.read_bytes()[:-1])
        complains("damaged .its checksum does not match")
        array.unlink()
        complains(f"{array.name} is missing")
        os.mkfifo(array)
        complains(f"{array.name} is missing")
        array.unlink()
        array.symlink_to(next(folder.glob("*/*.npy")))
        complains("points outside the model folder")
        for content in ("{", "[" * 100_000, '{"format": 1}'):
            (model / "manifest.json").write_text(content)
            complains("it is not a model manifest")
        (model / "manifest.json").unlink()
        os.mkfifo(model / "manifest.json")
        complains("is not a model folder")


def fails_with(number: int) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("patched", "number", "words"),
    [
        ("open_regular", errno.EMFILE, "npy: Too many open files: raise the limit of file descriptors"),
        ("open_regular", errno.EACCES, "npy: Permission denied: change the permissions"),
        ("read_regular", errno.EMFILE, "manifest.json: Too many open files: raise the limit"),
        ("shutil.disk_usage", errno.EMFILE, "Too many open files: raise the limit"),
        ("shutil.disk_usage", errno.ENOSPC, "No space left on device.; set TMPDIR"),
        ("tempfile.TemporaryDirectory", errno.EACCES, "Permission denied.; set TMPDIR"),
        ("tempfile.TemporaryDirectory", errno.ENAMETOOLONG, "File name too long.; set TMPDIR"),
    ],
)
def test_faults_of_the_machine_are_no_damage(folder, monkeypatch, patched, number, words) -> None:
    with PrivateCopies() as copies:
        monkeypatch.setattr(f"treetop.serve.private_copies.{patched}", fails_with(number))
        with pytest.raises(TreetopError, match=words) as caught:
            copies.of("m", folder)
        assert isinstance(caught.value, MachineError) or "TMPDIR" in words
        monkeypatch.undo()


def test_a_file_that_grows_while_it_is_copied_does_not_fill_the_disk(folder, tmp_path, monkeypatch) -> None:
    shutil.copytree(folder, tmp_path / "m")
    array = next((tmp_path / "m").glob("*/*.npy"))
    monkeypatch.setattr(private_copies, "_check_room", lambda *_: os.truncate(array, 1 << 40))
    with PrivateCopies() as copies:
        copied = copies.of("m", tmp_path / "m") / array.relative_to(tmp_path / "m")
        assert copied.stat().st_size < 1 << 30 < array.stat().st_size


@pytest.mark.parametrize("name", ["lock", "alive", "served", "metrics", "copy"])
def test_models_may_have_any_name(folder, name) -> None:
    with PrivateCopies() as copies:
        assert load_served(name, folder, {"threads": 1}, copies).version == version_of(folder)
        assert copies.last(name) == copies.root / name / version_of(folder)


def test_only_what_killed_servers_left_is_removed(temporary, monkeypatch) -> None:
    left, linked, other = (temporary / f"{private_copies.PREFIX}{name}" for name in ("left", "link", "file"))
    (left / "m" / "version").mkdir(parents=True)
    (temporary / "kept").mkdir()
    linked.symlink_to(temporary / "kept")
    other.write_text("")
    with PrivateCopies() as first, PrivateCopies() as second:
        assert not left.exists() and first.root.exists() and second.root.exists()
    assert sorted(temporary.iterdir()) == sorted([temporary / "kept", linked, other])
    left.mkdir()
    monkeypatch.setattr(locks, "try_lock", lambda handle: None)  # a disk without locks
    with PrivateCopies() as copies:
        assert copies.root.exists() and left.exists()
    assert len(list(temporary.iterdir())) == 4


def test_a_folder_taken_for_abandoned_before_it_is_locked(temporary, monkeypatch) -> None:
    answers = [False, True]
    monkeypatch.setattr(locks, "try_lock", lambda handle: answers.pop(0))
    with PrivateCopies() as copies:
        assert list(temporary.iterdir()) == [copies.root] and not answers
    assert not list(temporary.iterdir())


def test_a_machine_without_room_for_a_thread_is_survived(folder, tmp_path, monkeypatch, caplog) -> None:
    """`Models.watch` must not end with the first failure."""
    shutil.copytree(folder, tmp_path / "m")
    services = Services({"m": tmp_path / "m"}, ServeConfig(watch=0.01))
    to_thread = asyncio.to_thread
    failures = [RuntimeError("can't start new thread")] * 3

    async def rarely(*arguments: Any, **named: Any) -> Any:
        if failures:
            raise failures.pop()
        return await to_thread(*arguments, **named)

    async def watch() -> None:
        watching = asyncio.get_running_loop().create_task(services.models.watch(0.01))
        save_model(tmp_path / "m", "zebras")
        while services.models["m"].served.version != version_of(tmp_path / "m"):
            assert not watching.done()
            await asyncio.sleep(0.01)
        watching.cancel()

    monkeypatch.setattr(asyncio, "to_thread", rarely)
    asyncio.run(asyncio.wait_for(watch(), 20))
    services.close()
    assert not failures and caplog.text.count("still serving version") == 3


def test_a_folder_replaced_by_a_link_to_many_files_is_not_walked(tmp_path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    for number in range(10):
        (deep / str(number)).write_text("")
    (tmp_path / "m").symlink_to(tmp_path / "a")
    assert len(models._fingerprint(tmp_path / "m", deep=True)) == 2
    assert not models._fingerprint(tmp_path / "none", deep=True)
