"""Chunked bodies: what is not data is limited like a head, in memory and in time."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_clients import TEXT, chunked_head, exchange, predict_head
from small_servers import Live, live, save_model

pytestmark = pytest.mark.process
PREDICT = chunked_head()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("models") / "small"
    save_model(folder)
    with live(folder) as running:
        yield running


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


FLOODS = {
    "trailers": (PREDICT + b"0\r\n", b"X-A: aaaaaaaaaaa\r\n" * 1000, b"413"),
    "trailers of an unread body": (
        chunked_head("/no") + b"0\r\n",
        b"X-A: aaaaaaaaaaa\r\n" * 1000,
        b"4[01][34]",
    ),
    "a long trailer": (PREDICT + b"0\r\nX: ", b"a" * 20_000, b"413"),
    "a long extension": (PREDICT + b"1;", b"a" * 20_000, b"413"),
    "small chunks": (PREDICT, chunk(b"a") * 3000, b"413"),
    "empty lines": (PREDICT + b"fffffff\r\n", b"\n" * 20_000, b"413"),
    "small headers": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"ab: cd\r\n" * 1000, b"431"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_floods_cost_little_memory_and_time(server, name) -> None:
    """Trailers took nine times their size in memory; empty lines and small chunks, other clients' time."""
    begin, piece, status = FLOODS[name]
    before, slowest, answers = server.resident(), 0.0, set()

    def flood() -> None:
        with contextlib.closing(socket.create_connection(("127.0.0.1", server.port), timeout=20)) as client:
            with contextlib.suppress(OSError):
                client.sendall(begin)
                for _ in range(15_000_000 // len(piece)):
                    client.sendall(piece)
            with contextlib.suppress(OSError):
                answers.add(client.recv(12)[9:12])

    threads = [threading.Thread(target=flood) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        began = time.monotonic()
        assert server.ask("GET", "/healthz")[0] == 200
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 2 and server.resident() - before < 40e6
    assert all(re.fullmatch(status, answer) for answer in answers if answer), answers


def test_headers_and_lines_up_to_the_limit(server) -> None:
    for number, status in ((195, b" 200 "), (201, b" 431 ")):
        head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * number + b"\r\n"
        assert status in exchange(server.port, head).split(b"\r\n")[0]


def test_trailers_and_extensions_change_nothing(server) -> None:
    body = json.dumps({"text": TEXT, "k": 1}).encode()
    expected = exchange(server.port, predict_head(len(body), "Connection: close\r\n") + body)
    head = PREDICT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    pieces = b"".join(b"1;name=value\r\n%c\r\n" % byte for byte in body)
    for sent in (chunk(body) + b"0\r\nX-API-Key: x\r\nHost: other\r\n\r\n", pieces + b"0\r\n\r\n"):
        answer = exchange(server.port, head + sent)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.partition(b"\r\n\r\n")[2] == expected.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("ends", [b"", b"GARBAGE\r\n\r\n", chunked_head("/v1/feedback") + b"2%0af\r\n\r\n"])
def test_what_follows_a_chunked_body_does_not_take_its_answer(server, ends) -> None:
    body = json.dumps({"text": TEXT, "k": 1}).encode()
    head = b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" if ends else b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=15) as client:
        client.sendall(PREDICT + chunk(body) + b"0\r\n\r\n" + head + ends)
        received = b""
        while b"\r\n\r\n" not in received or (ends and b" 400 " not in received):
            piece = client.recv(65536)
            assert piece, received
            received += piece
    statuses = re.findall(rb"HTTP/1\.1 (\d{3}) ", received)
    assert statuses == ([b"200", b"200", b"400"] if ends else [b"200"])
    assert not any("Traceback" in line for line in server.lines)


def test_requests_after_chunked_bodies_are_answered_in_order(server) -> None:
    """Cut anywhere."""
    body = json.dumps({"text": TEXT, "k": 1}).encode()
    one = PREDICT + chunk(body) + b"0\r\n\r\n" + b"GET /no HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4
    sent = one * 3 + b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    for step in (len(sent), 31, 3):
        with socket.create_connection(("127.0.0.1", server.port), timeout=15) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for start in range(0, len(sent), step):
                client.sendall(sent[start : start + step])
            received = b""
            while piece := client.recv(65536):
                received += piece
        assert re.findall(rb"HTTP/1.1 (\d+) ", received) == ([b"200"] + [b"404"] * 4) * 3 + [b"200"]
