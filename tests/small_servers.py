"""A small model, and a server for it in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import treetop

TOPICS = {
    "animals": ("cat dog horse", "fur paws tail"),
    "cooking": ("pan oven recipe", "boil fry bake"),
    "networks": ("packet router socket", "tcp udp port"),
    "music": ("guitar piano song", "chord melody rhythm"),
    "Über-Straße": ("strasse auto ampel", "fahren bremsen parken"),
}
SLOW = """
import time
from treetop.serve.served_model import ServedModel
fast = ServedModel.predict
ServedModel.predict = lambda self, texts, k: (time.sleep({seconds}), fast(self, texts, k))[1]
"""
"""A patch of the server: predictions that take longer by some seconds."""
SOON_STABLE = """
from treetop.serve import workers
workers.STABLE_S = 0.2
"""
"""A patch of the server: workers that count as stable soon after their start."""


def examples(extra: str = "") -> treetop.Dataset:
    """Texts of a few words with one or two labels each; ``extra`` is an additional label."""
    topics = TOPICS | ({extra: ("zebra quark", "violet nimbus")} if extra else {})
    texts, labels = [], []
    for number in range(8):
        for topic, (first, second) in topics.items():
            words = f"{first} {second}".split()
            texts.append(" ".join(words[number % 3 :] + words[: number % 2 + 1]) + f" text {number}")
            labels.append([topic] if number % 2 else [topic, f"{topic} {number % 4}"])
    return treetop.Dataset.from_texts(texts, labels)


def save_model(folder: Path, extra: str = "", **settings: Any) -> treetop.XRLinear:
    model = treetop.XRLinear(threads=1, **settings).fit(examples(extra))
    model.save(folder)
    return model


class Live:
    """A running server process."""

    def __init__(self, process: subprocess.Popen[str], port: int, lines: list[str]) -> None:
        self.process, self.port, self.lines = process, port, lines

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout: float = 20,
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, JSON (or text), and headers with lower-case names."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            return request(connection, method, path, body, headers)
        finally:
            connection.close()

    def predict(self, text: str, **more: Any) -> tuple[int, Any]:
        return self.ask("POST", "/v1/predict", {"text": text, **more})[:2]

    def wait_for(self, words: str, seconds: float = 20) -> str:
        """The log line with these words, once it appears."""
        return until(lambda: next((line for line in self.lines if words in line), None), seconds, words)

    def resident(self) -> int:
        """Resident memory in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def request(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, Any, dict[str, str]]:
    """Sends a request over an open connection: status, JSON (or text), headers."""
    raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    kind = {} if raw is None else {"Content-Type": "application/json"}
    connection.request(method, path, raw, kind | (headers or {}))
    response = connection.getresponse()
    content = response.read()
    found = {name.lower(): value for name, value in response.getheaders()}
    if found.get("content-type", "").startswith("application/json"):
        return response.status, json.loads(content), found
    return response.status, content.decode(), found


def until(check: Any, seconds: float, what: str) -> Any:
    """The result of ``check`` once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: nothing within {seconds} s")


@contextlib.contextmanager
def live(*arguments: object, patch: str = "") -> Iterator[Live]:
    """``treetop serve`` on a free port, terminated at the end of the block."""
    command = [*serve_command(patch), *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []

    def collect() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line.rstrip())

    reader = threading.Thread(target=collect, daemon=True)
    reader.start()
    try:
        server = Live(process, 0, lines)
        try:
            line = server.wait_for(" at http://", 60)
        except AssertionError:
            raise AssertionError("\n".join(lines)) from None
        server.port = int(re.search(r":(\d+)$", line)[1])  # type: ignore[index]
        until(lambda: _ready(server), 60, "readyz")
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        reader.join(5)


def serve_command(patch: str = "") -> list[str]:
    """``treetop serve``; ``patch`` is code that runs before it in the same process."""
    start = ["-c", f"{patch}\nfrom treetop.cli.main import main\nmain()"] if patch else ["-m", "treetop"]
    return [sys.executable, *start, "serve"]


def _ready(server: Live) -> bool:
    try:
        return server.ask("GET", "/readyz")[0] == 200
    except OSError:
        return False


def worker_ids(process: int) -> list[int]:
    """Ids of the workers, without multiprocessing's helper process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if fields[0] != "Z" and int(fields[1]) == process and b"spawn_main" in command:
            found.append(int(entry.name))
    return found
