"""The load generator counts requests and responses. Timings themselves are not tested."""

from __future__ import annotations

from collections import Counter

import pytest

import bench_paths  # noqa: F401
import load
from small_servers import Live, live, save_model

pytestmark = pytest.mark.process
TEXT = "cat dog horse"


def test_every_request_is_answered_once(tmp_path) -> None:
    save_model(tmp_path / "small")
    with live(tmp_path / "small", "--feedback", "none") as server:
        requests = [load.predict_request("127.0.0.1", server.port, f"{TEXT} {n}", 3) for n in range(7)]
        before = _answered(server)
        outcome = load.run("127.0.0.1", server.port, requests, rate=200, seconds=1)
        assert outcome.requested == 200 == outcome.statuses[200] == len(outcome.latencies_ms)
        assert outcome.errors == outcome.broken == 0 and min(outcome.latencies_ms) > 0
        assert _answered(server) - before == 200
        wrong = [b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"]
        refused = load.run("127.0.0.1", server.port, wrong, rate=50, seconds=1)
        assert refused.statuses == Counter({415: 50}) and refused.errors == 50


def _answered(server: Live) -> float:
    page = server.ask("GET", "/metrics")[1]
    name = 'treetop_requests_total{route="/v1/predict",status="200"}'
    counts = [line for line in page.splitlines() if line.startswith(name)]
    return float(counts[0].split()[-1]) if counts else 0.0
