"""The states of a disk between the system calls of a process, for code that Python does not see (SQLite)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from disk import Names, State

CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,unlink,rename"
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (\d+)")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FILE = re.compile(r"^\d+<([^>]*)>")


def traced(program: str, folder: Path, log: Path) -> list[tuple[State, int]]:
    """Runs Python code on an empty folder: each state, and how many lines the code had printed by then."""
    command = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", log]
    subprocess.run([*command, sys.executable, "-c", program, folder], check=True, capture_output=True)
    disk = _Disk(folder)
    begun: dict[str, str] = {}
    for line in log.read_text().splitlines():
        process, _, call = line.partition(" ")
        if call.endswith("<unfinished ...>"):
            begun[process] = call.removesuffix("<unfinished ...>").strip()
        else:
            if resumed := re.match(r"\s*<\.\.\. \w+ resumed>(.*)", call):
                call = begun.pop(process) + resumed[1]
            if found := _CALL.match(call.strip()):
                disk.follow(found[1], found[2], int(found[3]))
    return disk.states


class _Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: list[tuple[State, int]] = []
        self._names: dict[str, int] = {}
        self._synced_names: dict[str, int] = {}
        self._data: dict[int, bytes] = {}
        self._synced_data: dict[int, bytes] = {}
        self._printed = 0

    def follow(self, call: str, arguments: str, result: int) -> None:
        strings = [bytes.fromhex(text.replace("\\x", "")) for text in _STRING.findall(arguments)]
        opened = _FILE.match(arguments)
        path = _decoded(opened[1]) if opened else strings[0].decode() if strings else ""
        if call == "write" and arguments.startswith("1<"):
            self._printed += 1
        elif path == str(self.folder) and call.endswith("sync"):
            self._synced_names = dict(self._names)
        elif Path(path).parent == self.folder:
            self._change(call, Path(path).name, arguments, strings)
        else:
            return
        names: Names = {0: dict(self._names)}
        synced: Names = {0: dict(self._synced_names)}
        state = State(0, names, synced, dict(self._data), dict(self._synced_data))
        self.states.append((state, self._printed))

    def _change(self, call: str, name: str, arguments: str, strings: list[bytes]) -> None:
        if call == "openat":
            assert "O_TRUNC" not in arguments
            if "O_CREAT" in arguments and name not in self._names:
                self._names[name] = len(self._data) + 1
                self._data[self._names[name]] = b""
            return
        number = self._names.get(name)
        if call == "unlink":
            self._names.pop(name, None)
        elif number is None:
            return
        elif call == "pwrite64":
            before, start = self._data[number], int(arguments.rpartition(",")[2])
            before = before.ljust(start, b"\0")
            self._data[number] = before[:start] + strings[0] + before[start + len(strings[0]) :]
        elif call == "ftruncate":
            size = int(arguments.rpartition(",")[2])
            self._data[number] = self._data[number][:size].ljust(size, b"\0")
        else:
            assert call.endswith("sync"), call
            self._synced_data[number] = self._data[number]


def _decoded(path: str) -> str:
    return bytes.fromhex(path.replace("\\x", "")).decode() if path.startswith("\\x") else path
