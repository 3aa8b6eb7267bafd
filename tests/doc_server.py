"""The server that a page of the documentation starts; it runs while the following blocks do."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from small_servers import until

WRITTEN = ("localhost:8000", "127.0.0.1:8000")
"""Its address as written in the pages."""


class DocServer:
    """One server at a time: starting another first ends the running one as Ctrl-C does."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._port = 0

    def __enter__(self) -> DocServer:
        return self

    def __exit__(self, *error: Any) -> None:
        self.end(asserting=error[0] is None)

    def start(self, arguments: list[str]) -> None:
        """Starts ``treetop serve`` with these arguments, but always on loopback and on a free port."""
        self.end()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        here = ["127.0.0.1" if word == "0.0.0.0" else word for word in arguments]
        command = [sys.executable, "-m", "treetop", "serve", *here, "--port", str(self._port)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines: list[str] = []
        assert self._process.stderr is not None
        threading.Thread(target=lines.extend, args=(self._process.stderr,), daemon=True).start()

        def is_ready() -> bool:
            assert self._process is not None and self._process.poll() is None, "".join(lines)
            return any(" serving " in line for line in lines)

        until(is_ready, 60, "a server")

    def end(self, *, asserting: bool = True) -> None:
        """Ends the server as Ctrl-C does and checks its exit code."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(30)
        self._process = None
        assert code == 0 or not asserting, f"treetop serve ended with the exit code {code}"

    def addressed(self, text: str) -> str:
        """The text with the server's actual address."""
        for written in WRITTEN:
            text = text.replace(written, f"127.0.0.1:{self._port}")
        return text
