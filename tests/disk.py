"""What a disk holds if a process is killed, or the power fails, at any file operation.

`recording` notes every creation, renaming, removal and fsync below a folder, in this process. A kill leaves
everything done before it. A power loss may also undo what was not synchronised, each part on its own: the
content of a file since its last fsync, a name since the last fsync of its folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}
Names = dict[int, dict[str, int]]
Tree = dict[str, "bytes | None"]
"""The content of every file, and None for every folder, by path."""


@dataclass(frozen=True)
class State:
    """The disk at one moment: names in folders and contents of files by inode, now and synchronised."""

    root: int
    names: Names
    synced_names: Names
    data: dict[int, bytes]
    synced_data: dict[int, bytes]

    def killed(self) -> Tree:
        return self._tree(self.names, self.data)

    def power_lost(self) -> Iterator[Tree]:
        """Without the contents, the names, or both that were not synchronised, and without random ones."""
        yield self._tree(self.names, self.synced_data)
        yield self._tree(self.synced_names, self.data)
        yield self._tree(self.synced_names, self.synced_data)
        for seed in range(3):
            draw = random.Random(seed)
            names = {inode: self._mixed(inode, draw) for inode in {**self.names, **self.synced_names}}
            data = {
                inode: draw.choice((now, self.synced_data.get(inode, b"")))
                for inode, now in self.data.items()
            }
            yield self._tree(names, data)

    def _mixed(self, inode: int, draw: random.Random) -> dict[str, int]:
        now, before = self.names.get(inode, {}), self.synced_names.get(inode, {})
        found = {name: draw.choice((now, before)).get(name) for name in sorted({**now, **before})}
        return {name: child for name, child in found.items() if child is not None}

    def _tree(self, names: Names, data: dict[int, bytes]) -> Tree:
        tree: Tree = {}

        def add(inode: int, path: str) -> None:
            if inode in self.data:
                tree[path] = data.get(inode, b"")
                return
            tree[path] = None
            for name, child in names.get(inode, {}).items():
                add(child, f"{path}/{name}")

        add(self.root, ".")
        return tree


def write(tree: Tree, folder: Path) -> Path:
    for path, content in tree.items():
        if content is None:
            (folder / path).mkdir(parents=True)
        else:
            (folder / path).write_bytes(content)
    return folder


@dataclass
class _Recorder:
    root: Path
    states: list[State] = field(default_factory=list)
    busy: bool = False

    def __post_init__(self) -> None:
        self.kept_open: dict[int, int] = {}  # so that no inode is used again
        self.data: dict[int, bytes] = {}
        self.synced_data: dict[int, bytes] = {}
        self.synced_names: Names = {}
        names = self._look()
        self.synced_names, self.synced_data = names, dict(self.data)

    def note(self) -> None:
        """Notes the state before the next operation."""
        names = self._look()
        state = State(
            *(self.root.stat().st_ino, names, dict(self.synced_names)),
            *(dict(self.data), dict(self.synced_data)),
        )
        if not self.states or state != self.states[-1]:
            self.states.append(state)

    def synced(self, inode: int) -> None:
        names = self._look()
        if inode in names:
            self.synced_names[inode] = names[inode]
        elif inode in self.data:
            self.synced_data[inode] = self.data[inode]

    def _look(self) -> Names:
        names: Names = {}

        def look(path: Path) -> int:
            inode = path.stat().st_ino
            if inode not in self.kept_open:
                self.kept_open[inode] = os.open(path, os.O_RDONLY)
            if path.is_dir():
                names[inode] = {child.name: look(child) for child in sorted(path.iterdir())}
            else:
                self.data[inode] = path.read_bytes()
            return inode

        look(self.root)
        return names

    def close(self) -> None:
        for handle in self.kept_open.values():
            os.close(handle)


_recorders: list[_Recorder] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event not in OPERATIONS or not _recorders or (recorder := _recorders[-1]).busy:
        return
    flags = arguments[2] if event == "open" else os.O_CREAT
    if isinstance(flags, int) and flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR | os.O_TRUNC):
        recorder.busy = True
        try:
            recorder.note()
        finally:
            recorder.busy = False


@functools.cache
def _install_hook() -> None:
    sys.addaudithook(_hook)  # for good


@contextlib.contextmanager
def recording(root: Path) -> Iterator[list[State]]:
    """The states between the file operations inside; the last one is that at the end."""
    _install_hook()
    recorder = _Recorder(root)
    fsync = os.fsync

    def noted(file: int) -> None:
        recorder.busy = True
        recorder.note()
        fsync(file)
        status = os.fstat(file)
        assert stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
        recorder.synced(status.st_ino)
        recorder.note()
        recorder.busy = False

    _recorders.append(recorder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", noted)
            yield recorder.states
            recorder.busy = True
            recorder.note()
    finally:
        _recorders.remove(recorder)
        recorder.close()


def after_each(
    states: list[State], folder: Path, check: Callable[[Path], Any]
) -> tuple[list[Any], list[Any]]:
    """What ``check`` returns of the disk after a kill at every state, and after every power loss."""
    known: dict[Any, Any] = {}

    def checked(tree: Tree) -> Any:
        key = tuple(tree.items())
        if key not in known:
            root = write(tree, folder / str(len(known)))
            known[key] = check(root)
            shutil.rmtree(root)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        killed = [checked(state.killed()) for state in states]
        lost = [checked(tree) for state in states for tree in state.power_lost()]
    shutil.rmtree(folder)
    return killed, lost
