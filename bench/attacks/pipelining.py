"""What clients that pipeline requests without reading the answers cost the server and its other clients.

    python bench/attacks/pipelining.py [--connections 100] [--kilobytes 256] [--seconds 20]

Serves a tiny model in a process of its own. Exits with code 1 if another client waits longer than 1 s, or the
server's memory grows by more than 512 KB for each connection and 20 MB.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from common import provenance
from common.options import parser_for
from small_servers import Live, live, save_model

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE_S = 1.0


def main() -> int:
    parser = parser_for(__doc__)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--kilobytes", type=int, default=256, help="requests per connection")
    parser.add_argument("--seconds", type=float, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        save_model(Path(place) / "model")
        with live(Path(place) / "model") as server:
            before = server.resident()
            waited, peak, tried = attack(server, chosen.connections, chosen.kilobytes * 1024, chosen.seconds)
    grown = peak - before
    print(
        f"{chosen.connections} connections, each with {chosen.kilobytes} KB of requests and no reader: for"
        f" {chosen.seconds:g} s another client waited at most {waited:.2f} s, and memory grew by"
        f" {grown / 1e6:.0f} MB.\n\n{provenance.measured([provenance.this_run()])}"
    )
    failed = int(waited > PATIENCE_S or grown > 20e6 + chosen.connections * 512 * 1024)
    print(json.dumps({"attack": "server: unread pipelined requests", "tried": tried, "failed": failed}))
    return failed


def attack(server: Live, connections: int, size: int, seconds: float) -> tuple[float, int, int]:
    """Another client's longest wait, the server's largest memory, and how often they were measured."""
    waited, peak, tried = 0.0, 0, 0
    sent = REQUEST * (size // len(REQUEST))
    with contextlib.ExitStack() as stack:
        for _ in range(connections):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            client.setblocking(False)
            with contextlib.suppress(OSError):
                client.send(sent)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            assert server.ask("GET", "/healthz", timeout=60)[0] == 200
            waited = max(waited, time.monotonic() - began)
            peak = max(peak, server.resident())
            tried += 1
            time.sleep(0.1)
    return waited, peak, tried


if __name__ == "__main__":
    sys.exit(main())
