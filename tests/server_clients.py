"""Clients of a server: many at once, and those that send any bytes."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections import Counter
from typing import Any

from small_servers import request

TEXT = "cat dog horse fur paws tail"


class Load:
    """Threads that send predict requests until the end of the block; counts the responses."""

    def __init__(self, port: int, threads: int = 4) -> None:
        self.statuses: Counter[Any] = Counter()
        self.versions: set[str] = set()
        self._port, self._stop = port, threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(20)

    def _work(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        while not self._stop.is_set():
            try:
                status, answer, _ = request(connection, "POST", "/v1/predict", {"text": TEXT, "k": 2})
            except Exception as error:
                self.statuses[repr(error)] += 1
                connection.close()
                continue
            self.statuses[status] += 1
            if status == 200:
                assert len(answer["results"][0]["labels"]) == 2
                self.versions.add(answer["version"])
        connection.close()


def exchange(port: int, *pieces: bytes, pause: float = 0.0, wait: float = 15) -> bytes:
    """All bytes received after sending these pieces unchanged."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
        except OSError:  # the server has hung up
            pass
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
                if b"\r\n\r\n" in received and b"connection: close" not in received.lower():
                    break
        except (TimeoutError, ConnectionError):
            pass
        return received


def predict_head(length: int, more: str = "") -> bytes:
    return (
        f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def chunked_head(path: str = "/v1/predict") -> bytes:
    """The head of a request with a chunked body of JSON."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
