"""What clients that pipeline requests without reading the answers cost the server and its other clients.

    python bench/attacks/pipelining.py [--seconds 60] [--seed 0]

A trial is 100 connections, each with 256 KB of requests, and lasts a few seconds. It fails if another client
waits longer than 1 s, or the memory of the server, which has a tiny model, grows by more than 512 KB for each
connection and 20 MB.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from small_servers import Live, live, save_model
from trials import Trials, attack, run

CONNECTIONS = 100
BYTES = 256 * 1024
PATIENCE_S = 1.0
ROUND_S = 5.0
REQUESTS = [
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n",
]


@attack(
    "http/pipelined",
    "another client waits for 1 s, or the server grows by 512 KB for each connection",
)
def pipelined(trials: Trials) -> None:
    with tempfile.TemporaryDirectory() as place:
        save_model(Path(place) / "model")
        with live(Path(place) / "model") as server:
            before = server.resident()
            while trials.go_on():
                request = trials.random.choice(REQUESTS)
                waited, peak = flood(server, request)
                grown = peak - before
                held = waited <= PATIENCE_S and grown <= 20e6 + CONNECTIONS * 512 * 1024
                what = f"another client waited {waited:.2f} s, and memory grew by {grown / 1e6:.0f} MB"
                trials.count(None if held else f"{request[:30]!r}: {what}")


def flood(server: Live, request: bytes) -> tuple[float, int]:
    """Another client's longest wait, and the server's largest memory."""
    waited, peak = 0.0, 0
    sent = request * (BYTES // len(request))
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            client.setblocking(False)
            with contextlib.suppress(OSError):
                client.send(sent)
        end = time.monotonic() + ROUND_S
        while time.monotonic() < end:
            began = time.monotonic()
            assert server.ask("GET", "/healthz", timeout=60)[0] == 200
            waited = max(waited, time.monotonic() - began)
            peak = max(peak, server.resident())
            time.sleep(0.1)
    return waited, peak


if __name__ == "__main__":
    sys.exit(run(__doc__))
