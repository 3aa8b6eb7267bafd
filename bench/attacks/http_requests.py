"""Mutated, smuggled, slow and endless HTTP requests to a server with a small model.

    python bench/attacks/http_requests.py [--seconds 60] [--seed 0]

A trial fails if an answer is not well-formed, has the status 500 or more than one sentence, if a hidden
request is answered, if another client waits longer than 2 s, or if the server ends, logs a traceback or a
line that a client made up, or grows by more than 100 MB.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from server_clients import TEXT, chunked_head, predict_head
from small_servers import Live, live, save_model
from trials import Trials, attack, run

CLIENTS = 24
PATIENCE_S = 2.0
MEMORY = 100e6
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) ")
BODY = json.dumps({"text": TEXT, "k": 3}).encode()
CHUNKED = chunked_head() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
FORM = b"text=cat+dog&limit=3"
BODIES = [
    ("/v1/predict", BODY),
    ("/v1/predict", json.dumps({"texts": [TEXT, "guitar"], "threshold": 0.1}).encode()),
    ("/v1/predict", json.dumps({"text": TEXT, "explain": True}).encode()),
    ("/v1/feedback", json.dumps({"text": TEXT, "accepted": ["animals"], "rejected": ["x"]}).encode()),
    ("/v1/projects/m/suggest-batch?limit=2", json.dumps({"documents": [{"text": TEXT}]}).encode()),
    ("/v1/projects/m/learn", json.dumps([{"text": TEXT, "subjects": [{"uri": "music"}]}]).encode()),
]
PATHS = [
    *("/", "/docs", "/docs.css", "/openapi.json", "/static/style.css", "/healthz", "/readyz", "/metrics"),
    *(
        "/v1/models",
        "/v1/models/m/card",
        "/v1/labels?q=mus&limit=3",
        "/v1/projects",
        "/v1/projects/m",
        "/v1/",
    ),
    *("/static/../app.py", "/%2e%2e/%2e%2e/etc/passwd", "/v1/models/%0d%0aX/card", "//", "*", "/?q=%00%ff"),
]
METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "GARBAGE", "get"]
TOKENS = [
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\x00",
        b"\xff",
        b" ",
        b"\t",
        b":",
        b"\r\n\r\n",
        b"0\r\n\r\n",
        b"%",
        b"%0a",
        b"../",
    ),
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"HTTP/1.0"),
    *(b"Connection: close\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Host: evil.example\r\n"),
    *(b"99999999999999999999", b"-1", b"1e999", b"NaN", b'"', b"{", b"[", b"[[[[[[[[", b"null", b"\\ud800"),
    *(b"2026-01-01 00:00:00,000 ERROR made up\n", b"\x1b[31m", "ä\u2028".encode(), b"A" * 3000),
]


@contextlib.contextmanager
def server(trials: Trials) -> Iterator[Live]:
    """A server that must not end, grow, or write anything odd into its log."""
    with tempfile.TemporaryDirectory() as place:
        save_model(Path(place) / "m")
        options = ("--feedback", Path(place) / "f.sqlite", "--timeout", 2, "--log-requests")
        with live(Path(place) / "m", *options) as running:
            assert running.predict(TEXT)[0] == 200
            before = running.resident()
            yield running
            assert running.process.poll() is None, "the server has ended"
            time.sleep(0.5)
            grown = running.resident() - before
            trials.count(f"memory grew by {grown / 1e6:.0f} MB" if grown > MEMORY else None)
        odd = [line for line in running.lines if not LOG_LINE.match(line)]
        trials.count(f"the log has {odd[-3:]}" if odd else None)


def in_parallel(trials: Trials, one: Callable[[random.Random], str | None]) -> None:
    """Several clients at once; ``one`` returns what was wrong."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        while trials.go_on():
            seeds = [trials.random.random() for _ in range(10 * CLIENTS)]
            for fault in pool.map(lambda seed: one(random.Random(seed)), seeds):
                trials.count(fault)


def send(port: int, pieces: list[bytes], wait: float = 0.2, pause: float = 0.0) -> bytes:
    """What arrives until the server closes or is silent for ``wait`` seconds."""
    received = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        with contextlib.suppress(OSError):
            for piece in pieces:
                client.sendall(piece)
                time.sleep(pause)
        client.settimeout(wait)
        while piece := client.recv(1 << 16):
            received += piece
    return received


def flaw(received: bytes) -> str | None:
    """What is wrong with a sequence of answers, of which the last may be cut."""
    while received:
        head, end, rest = received.partition(b"\r\n\r\n")
        found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
        if not found:
            return f"no answer: {received[:200]!r}"
        status = int(found[1])
        if status >= 500 and status != 503:
            return f"status {status}: {received[:500]!r}"
        if not end or status == 100:
            received = rest
            continue
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        kind = re.search(rb"(?i)\r\ncontent-type: ([\w/]+)", head)
        size = int(length[1]) if length else len(rest)
        body = rest[:size]
        if rest.startswith(b"HTTP/1.1 "):  # the answer to HEAD
            body, size = b"", 0
        if status >= 400 and len(body) == size and body:
            if not kind or kind[1] != b"application/json":
                return f"an error that is not JSON: {received[:300]!r}"
            try:
                message = next(iter(json.loads(body).values()))
            except ValueError:
                return f"an error that is not JSON: {body[:300]!r}"
            if not isinstance(message, (str, int)) or (isinstance(message, str) and "\n" in message):
                return f"an error that is not a sentence: {body[:300]!r}"
        received = rest[size:]
    return None


def request(rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        method, path = rng.choice(METHODS[: rng.choice([2, 11])]), rng.choice(PATHS)
        return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    if kind == 1:
        return CHUNKED
    if kind == 2:
        head = b"POST /v1/projects/m/suggest HTTP/1.1\r\nHost: localhost\r\n"
        form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n" % len(FORM)
        return head + form + FORM
    path, body = rng.choice(BODIES)
    body = mutation(rng, body) if rng.random() < 0.7 else body
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def mutation(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(content) + 1)
        to = min(len(content), at + rng.choice([1, 1, 4, 30]))
        content = rng.choice(
            [
                content[:at] + rng.choice(TOKENS) + content[at:],
                content[:at] + rng.choice(TOKENS) + content[to:],
                content[:at] + content[to:],
                content[:to] + content[at:],
                content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :],
                content[:at],
            ]
        )
    return content


@attack(
    "http/mutated",
    "an answer is malformed or has the status 500; the server ends, grows by 100 MB, or logs a traceback",
)
def mutated(trials: Trials) -> None:
    with server(trials) as running:

        def one(rng: random.Random) -> str | None:
            sent = b"".join(request(rng) for _ in range(rng.choice([1, 1, 3])))
            sent = mutation(rng, sent) if rng.random() < 0.8 else sent
            cuts = sorted(rng.randrange(len(sent) + 1) for _ in range(rng.choice([0, 0, 1, 5])))
            pieces = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
            fault = flaw(send(running.port, pieces))
            return fault and f"{fault} after {sent!r}"

        in_parallel(trials, one)


AMBIGUOUS = [
    *(b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: 5"),
    *(
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: 5, 6",
        b"Content-Length: +5",
        b"Content-Length: 5 5",
    ),
    *(
        b"Content-Length: 0x5",
        b"Content-Length: -1",
        b"Content-Length: 5a",
        b"Content-Length:",
        b"Content-Length : 5",
    ),
    *(
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked, identity",
    ),
    *(
        b"Transfer-Encoding: identity\r\nContent-Length: 5",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    ),
    *(
        b"Transfer-Encoding: \x0bchunked",
        b"Transfer\x00-Encoding: chunked",
        b"X: a\rTransfer-Encoding: chunked",
    ),
    *(
        b" Transfer-Encoding: chunked",
        b"X: a\r\n\x00: b",
        b"Content-Length: 99999999999999999999",
        b"Foo\r\nX: y",
    ),
]
"""Heads that two servers could read in two ways."""
AMBIGUOUS_SIZES = [b"0x0", b"+0", b"-0", b" 0", b"0 0", b"0;\n", b"0\r", b"g", b"ffffffffffffffff0", b"0\x00"]
"""Sizes of a chunk of which one reading ends the body."""


@attack(
    "http/smuggled",
    "a request hidden in an ambiguous one is answered",
)
def smuggled(trials: Trials) -> None:
    """A request hidden in the body of an ambiguous one must not be answered."""
    with server(trials) as running:
        hidden = b"GET /hidden-%d HTTP/1.1\r\nHost: localhost\r\n\r\n"

        def one(rng: random.Random) -> str | None:
            number = rng.randrange(10**9)
            inner = hidden % number
            if rng.random() < 0.7:
                more = [rng.choice(AMBIGUOUS), b"Host: localhost", b"Content-Type: application/json"]
                rng.shuffle(more)
                head = b"POST /v1/predict HTTP/1.1\r\n" + b"\r\n".join(more) + b"\r\n\r\n"
                body = rng.choice([b"0\r\n\r\n", b"", b"5\r\nhello\r\n0\r\n\r\n", b"hello", b"\r\n"])
            else:
                head, body = chunked_head(), rng.choice(AMBIGUOUS_SIZES) + b"\r\n\r\n"
            received = send(running.port, [head + body + inner])
            if b"hidden-%d" % number in received or len(re.findall(rb"HTTP/1\.1 \d{3} ", received)) > 1:
                return f"{head + body!r} let a hidden request through: {received[:300]!r}"
            return flaw(received)

        in_parallel(trials, one)
        reached = [line for line in running.lines if "/hidden-" in line]
        trials.count(f"hidden requests were answered: {reached[:2]}" if reached else None)


@attack(
    "http/slow",
    "a slow client, or one that does not read, is held for 45 s; another waits for 2 s",
)
def slow(trials: Trials) -> None:
    """Bytes that drip in, and answers that are not read; the server must hang up."""
    with server(trials) as running, another_client(running, trials):

        def one(rng: random.Random) -> str | None:
            sent = rng.choice([request(rng), CHUNKED, predict_head(5000) + b" " * 300, b"\r\n" * 300])
            began = time.monotonic()
            if rng.random() < 0.8:
                step = rng.choice([1, 3, 20])
                dripped = [sent[at : at + step] for at in range(0, len(sent), step)]
                fault = flaw(send(running.port, dripped, 2.5, rng.choice([0.001, 0.01, 0.1])))
            else:
                fault = unread(running.port)
            took = time.monotonic() - began
            return fault or (f"held for {took:.0f} s" if took > 45 else None)

        in_parallel(trials, one)


def unread(port: int) -> str | None:
    body = json.dumps({"texts": [TEXT] * 250, "k": 15}).encode()
    unsent = (predict_head(len(body)) + body) * 50
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.settimeout(30)
        try:
            client.sendall(unsent)
        except TimeoutError:
            return "a client that does not read was not disconnected"
        except OSError:
            return None
    return None


ENDLESS = [
    (chunked_head() + b"0\r\n", b"X-A: aaaaaaaaaaa\r\n"),
    (chunked_head() + b"0\r\nX: ", b"a"),
    (chunked_head("/no") + b"0\r\n", b"X-A: aaaaaaaaaaa\r\n"),
    (chunked_head() + b"1;", b"a"),
    (chunked_head(), b"1\r\na\r\n"),
    (chunked_head(), b"1;x=y\r\n\n\r\n"),
    (chunked_head() + b"fffffff\r\n", b"\n"),
    (chunked_head() + b"fffffff\r\n", b"a"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"ab: cd\r\n"),
    (b"GET /", b"a"),
    (b"", b"\r\n"),
    (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (b"", b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (b"", CHUNKED),
    (b"", b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n\r\n\r\n\r\n\r\nX"),
    (predict_head(3_999_999), b"["),
    (predict_head(3_999_999) + b'{"texts":[', b'"a",'),
]


@attack(
    "http/endless",
    "the server grows by 100 MB, or another client waits for 2 s",
)
def endless(trials: Trials) -> None:
    """Floods of several connections; the server must stay small and answer others."""
    with server(trials) as running, another_client(running, trials):
        before = running.resident()
        while trials.go_on():
            begin, piece = trials.random.choice(ENDLESS)
            block, connections = piece * (60_000 // len(piece)), trials.random.choice([1, 3, 10])

            def flood(begin: bytes = begin, block: bytes = block) -> None:
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(("127.0.0.1", running.port), timeout=3) as client,
                ):
                    client.sendall(begin)
                    for _ in range(100):
                        client.sendall(block)

            threads = [threading.Thread(target=flood) for _ in range(connections)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            grown = running.resident() - before
            large = grown > MEMORY
            trials.count(f"{begin!r} {piece!r}: memory grew by {grown / 1e6:.0f} MB" if large else None)


@contextlib.contextmanager
def another_client(running: Live, trials: Trials) -> Iterator[None]:
    """Another client's requests must be answered in time."""
    ended, slowest = threading.Event(), [0.0]

    def ask() -> None:
        while not ended.is_set():
            began = time.monotonic()
            with contextlib.suppress(OSError):
                running.ask("GET", "/healthz", timeout=60)
            slowest[0] = max(slowest[0], time.monotonic() - began)
            time.sleep(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    trials.count(f"another client waited {slowest[0]:.1f} s" if slowest[0] > PATIENCE_S else None)


if __name__ == "__main__":
    sys.exit(run(__doc__))
