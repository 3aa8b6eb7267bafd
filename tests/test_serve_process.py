"""The server as a process: signals, kills, model reloads, workers, slow and hostile clients."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from annif_client import AnnifClient

from server_clients import TEXT, Load, chunked_head, exchange, predict_head
from small_servers import SLOW, SOON_STABLE, live, request, save_model, serve_command, until, worker_ids
from treetop.serve.served_model import version_of

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    save_model(folder)
    return folder


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    """With short timeouts and a low limit on connections, for misbehaving clients."""
    feedback = tmp_path_factory.mktemp("feedback") / "feedback.sqlite"
    with live(folder, "--feedback", feedback, "--timeout", 1, "--max-connections", 60) as running:
        yield running


# -- models change -------------------------------------------------------------------------------------------


def test_reloading_drops_no_request_and_a_broken_folder_keeps_the_old_model(tmp_path) -> None:
    folder = tmp_path / "model"
    save_model(folder)
    with live(folder, "--feedback", "none", "--watch", 0.1) as server:
        first = server.predict(TEXT)[1]["version"]
        with Load(server.port) as load:
            until(lambda: load.statuses[200] > 20, 20, "answers")
            save_model(folder, "zebras")
            server.wait_for("replaced")
            until(lambda: len(load.versions) == 2, 20, "the new version")
            manifest = (folder / "manifest.json").read_text()
            (folder / "manifest.json").write_text("{")
            line = server.wait_for("still serving version")
            assert "manifest.json is damaged" in line
            time.sleep(0.5)
            assert sum("still serving version" in line for line in server.lines) == 1  # logged once
            status, answer = server.predict("zebra quark violet nimbus", k=1)
            assert status == 200 and answer["results"][0]["labels"][0]["label"].startswith("zebras")
            (folder / "manifest.json").write_text(manifest)
            until(lambda: sum("replaced" in line for line in server.lines) == 2, 20, "whole again")
            server.process.send_signal(signal.SIGHUP)
            until(lambda: sum("replaced" in line for line in server.lines) == 3, 20, "SIGHUP")
        assert set(load.statuses) == {200}, load.statuses
        assert first in load.versions
        assert not any("Traceback" in line for line in server.lines)


def test_sighup_while_models_load_is_ignored(folder) -> None:
    command = [*serve_command(SLOW.format(seconds=0.8)), folder, "--port", "0", "--feedback", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:

        def ignores() -> bool:
            status = Path(f"/proc/{process.pid}/status").read_text()
            return bool(int(re.search(r"SigIgn:\s*(\w+)", status)[1], 16) & 1)  # type: ignore[index]

        until(ignores, 30, "loading")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert " at http://" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, 143)  # the server may not handle signals yet


def test_a_folder_copied_slowly_is_loaded_once_complete(tmp_path) -> None:
    folder, fresh = tmp_path / "model", tmp_path / "fresh"
    save_model(folder)
    save_model(fresh, "zebras")
    with live(folder, "--feedback", "none", "--watch", 0.1) as server:
        shutil.rmtree(folder)
        line = server.wait_for("still serving version")
        folder.mkdir()
        shutil.copy(fresh / "manifest.json", folder)  # copied first
        until(lambda: sum("still serving" in line for line in server.lines) == 2, 20, "half a folder")
        assert server.predict(TEXT)[0] == 200
        (arrays,) = fresh.glob("arrays-*")
        shutil.copytree(arrays, folder / arrays.name)
        line = server.wait_for("replaced")
        assert server.ask("GET", "/readyz")[1]["models"]["model"] in line
        assert server.predict("zebra quark", k=1)[1]["results"][0]["labels"][0]["label"].startswith("zebras")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_served_folder_may_be_changed_in_any_way(tmp_path, workers) -> None:
    """Files copied over each other, truncated, extended, deleted, replaced by folders, pipes and links."""
    folder, other = tmp_path / "model", tmp_path / "other"
    save_model(folder)
    save_model(other, "zebras")
    shutil.copytree(folder, tmp_path / "first")

    def overwrite(source: Path) -> None:
        """As ``cp -r SOURCE/. model/``: files that exist are truncated and written in place."""
        for path in sorted(source.rglob("*")):
            target = folder / path.relative_to(source)
            target.mkdir(exist_ok=True) if path.is_dir() else target.write_bytes(path.read_bytes())

    def each_file(change: Any) -> None:
        for path in [path for path in folder.rglob("*") if not path.is_dir()]:
            change(path)

    def replaced_by(make: Any) -> None:
        each_file(lambda path: (path.unlink(), make(path)))

    changes = {
        "another model": lambda: overwrite(other),
        "empty": lambda: each_file(lambda path: os.truncate(path, 0)),
        "huge": lambda: each_file(lambda path: os.truncate(path, 1 << 42)),
        "zeros": lambda: each_file(lambda path: path.write_bytes(bytes(path.stat().st_size))),
        "folders": lambda: replaced_by(Path.mkdir),
        "pipes": lambda: replaced_by(os.mkfifo),
        "circular links": lambda: replaced_by(lambda path: path.symlink_to(path)),
        "devices": lambda: replaced_by(lambda path: path.symlink_to("/dev/zero")),
        "gone": lambda: shutil.rmtree(folder),
        "a circular link": lambda: (shutil.rmtree(folder), folder.symlink_to(folder)),
    }
    with live(folder, "--workers", workers, "--watch", 0.05) as server, Load(server.port) as load:
        for name, change in changes.items():
            answered = load.statuses[200]
            change()
            until(lambda: load.statuses[200] > answered + 50, 20, name)  # noqa: B023
            time.sleep(0.2)
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)
            loaded = sum("replaced" in line for line in server.lines)
            shutil.copytree(tmp_path / "first", folder)
            until(lambda: sum("replaced" in line for line in server.lines) >= loaded + workers, 20, name)  # noqa: B023
        assert server.predict(TEXT)[0] == 200 and server.process.poll() is None
        dropped = [line for line in server.lines if "still serving version" in line]
        assert dropped and all(" model: still serving version " in line for line in dropped)
        assert not any("Traceback" in line or "exited with code" in line for line in server.lines), (
            server.lines
        )
    assert set(load.statuses) == {200}, load.statuses


def test_a_replaced_worker_serves_what_the_others_serve(tmp_path) -> None:
    folder, other = tmp_path / "model", tmp_path / "other"
    save_model(folder)
    save_model(other, "zebras")
    with live(folder, "--workers", 2, "--watch", 0.1, patch=SOON_STABLE) as server:
        version = server.predict(TEXT)[1]["version"]
        shutil.copy(other / "manifest.json", folder)  # without its arrays
        old = worker_ids(server.process.pid)
        for child in old:
            os.kill(child, signal.SIGKILL)
        fresh = until(
            lambda: [child for child in worker_ids(server.process.pid) if child not in old], 20, "a worker"
        )
        server.wait_for(f"model: still serving version {version}")
        until(lambda: _try(server) == 200, 20, "an answer")
        assert fresh and server.predict(TEXT)[1]["version"] == version
        shutil.copytree(other, folder, dirs_exist_ok=True)
        until(lambda: server.predict(TEXT)[1]["version"] == version_of(other), 20, "the new model")


def test_private_copies_are_shared_and_removed(tmp_path, monkeypatch) -> None:
    """Workers map the same files; a killed server's copies are removed by the next."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    save_model(tmp_path / "model")

    def mapped(process: int) -> set[str]:
        lines = Path(f"/proc/{process}/maps").read_text().splitlines()
        return {line.split()[-1] for line in lines if line.endswith(".npy")}

    def copies() -> set[Path]:
        return set((tmp_path / "tmp").glob("treetop-serve-*"))

    with live(tmp_path / "model", "--workers", 2) as server:
        first, second = (mapped(child) for child in worker_ids(server.process.pid))
        (copy,) = copies()
        assert first and first == second and all(path.startswith(str(copy)) for path in first)
        with live(tmp_path / "model"):  # leaves the copies of running servers alone
            assert len(copies()) == 2 and copy.exists()
        server.process.kill()
        server.process.wait()
    assert set((tmp_path / "tmp").iterdir()) == {copy}
    with live(tmp_path / "model"):
        assert len(copies()) == 1 and not copy.exists()
    assert not list((tmp_path / "tmp").iterdir())


def test_workers_share_the_port_and_one_that_dies_is_replaced(folder, tmp_path) -> None:
    options = ("--workers", 2, "--feedback", tmp_path / "f.sqlite", "--watch", 0)
    with live(folder, *options, patch=SOON_STABLE) as server:
        children = worker_ids(server.process.pid)
        assert len(children) == 2

        def send(number: int) -> int:
            body = {"text": f"text {number}", "added": ["x"]}
            return int(server.ask("POST", "/v1/feedback", body)[1]["id"])

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(send, range(40)))
        assert sorted(ids) == list(range(1, 41))
        for _ in range(30):
            assert server.predict(TEXT)[0] == 200
        page = until(lambda: _metric(server, "treetop_feedback_total") == 40, 10, "metrics of both workers")
        assert page
        os.kill(children[0], signal.SIGKILL)
        server.wait_for("starting a replacement")
        until(lambda: len(worker_ids(server.process.pid)) == 2, 20, "two workers")
        statuses = Counter(_status(server) for _ in range(20))
        assert statuses == {200: 20}
        server.process.send_signal(signal.SIGHUP)
        until(lambda: sum("replaced" in line for line in server.lines) == 2, 20, "both reload")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        assert not any("Traceback" in line for line in server.lines)


def _status(server) -> Any:
    return until(lambda: _try(server), 20, "an answer")


def _try(server) -> Any:
    try:
        return server.predict(TEXT)[0]
    except OSError:
        return None


def _refuses(server) -> bool:
    try:
        server.ask("GET", "/healthz", timeout=1)
    except OSError:
        return True
    return False


def _metric(server, name: str) -> float:
    page = server.ask("GET", "/metrics")[1]
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith(name))


# -- shutdown ------------------------------------------------------------------------------------------------


def test_draining_workers_refuse_new_connections(folder) -> None:
    with live(folder, "--feedback", "none", "--workers", 2) as server:
        body = json.dumps({"text": TEXT, "k": 1}).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            connection.sendall(predict_head(len(body)))
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            until(lambda: _refuses(server), 10, "refused connections")
            connection.sendall(body)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert server.process.wait(20) == 0


@pytest.mark.parametrize("started", [1, 2])
def test_sigterm_ends_starting_workers(folder, started) -> None:
    command = [*serve_command(), folder, "--workers", "2", "--port", "0"]
    with subprocess.Popen([*command, "--feedback", "none"], stderr=subprocess.PIPE, text=True) as process:
        until(lambda: len(worker_ids(process.pid)) >= started, 60, "workers")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, process.stderr.read()


def test_sigterm_finishes_running_requests_and_refuses_new_ones(folder) -> None:
    with (
        live(folder, "--feedback", "none", "--batch", 1, patch=SLOW.format(seconds=0.3)) as server,
        ThreadPoolExecutor(4) as pool,
    ):
        waiting = [pool.submit(server.predict, TEXT) for _ in range(4)]
        time.sleep(0.4)
        server.process.send_signal(signal.SIGTERM)
        assert [future.result()[0] for future in waiting] == [200] * 4
        assert server.process.wait(20) == 0
        with pytest.raises(OSError):
            server.predict(TEXT)
        assert not any("Traceback" in line for line in server.lines)


STUCK = """
import threading
from treetop.serve import routes, server
server.LAST_S = 0.5
routes.card_of = lambda served: threading.Event().wait()
"""


def test_sigterm_ends_a_server_with_stuck_threads(folder) -> None:
    """As if the disk of a model folder did not respond."""
    with live(folder, "--drain", 1, patch=STUCK) as server, ThreadPoolExecutor(10) as pool:
        for _ in range(10):
            pool.submit(server.ask, "GET", "/v1/models/small/card")
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 1
        server.wait_for("something still runs")


def test_sigterm_ends_stopped_workers(folder) -> None:
    patch = "from treetop.serve import workers; workers.LAST_S = 0.2"
    with live(folder, "--drain", 1, "--workers", 2, patch=patch) as server:
        os.kill(worker_ids(server.process.pid)[0], signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 1
        server.wait_for("workers exited with codes")


def test_nothing_is_written_into_the_current_folder(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with live(folder) as server:
        assert server.predict(TEXT)[0] == 200
        assert server.ask("POST", "/v1/feedback", {"text": TEXT, "accepted": ["animals"]})[0] == 503
    assert not list(tmp_path.iterdir())


def test_workers_end_with_their_killed_parent(folder) -> None:
    with live(folder, "--workers", 2, "--feedback", "none") as server:
        children = worker_ids(server.process.pid)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children), 20, "their end")


@pytest.mark.parametrize("workers", [1, 2])
def test_feedback_survives_a_kill(folder, tmp_path, workers) -> None:
    """All feedback acknowledged before ``kill -9`` is complete afterwards."""
    file = tmp_path / "feedback.sqlite"
    acknowledged: list[tuple[int, int]] = []
    number = itertools.count()
    with live(folder, "--feedback", file, "--workers", workers, "--watch", 0) as server:

        def write() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            while True:
                mine = next(number)
                body = {"text": f"text {mine} {'x' * 500}", "added": [f"label {mine}"]}
                try:
                    status, answer, _ = request(connection, "POST", "/v1/feedback", body)
                except (OSError, http.client.HTTPException):
                    return
                assert status == 201
                acknowledged.append((answer["id"], mine))

        threads = [threading.Thread(target=write, daemon=True) for _ in range(6)]
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) > 60, 30, "feedback")
        victims = worker_ids(server.process.pid) if workers > 1 else []
        server.process.kill()
        for child in victims:
            os.kill(child, signal.SIGKILL)
        for thread in threads:
            thread.join(20)
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    kept = {
        identity: (text, added)
        for identity, text, added in connection.execute("SELECT id, text, added FROM feedback")
    }
    for identity, mine in acknowledged:
        text, added = kept[identity]
        assert text.startswith(f"text {mine} ") and json.loads(added) == [f"label {mine}"]


# -- misbehaving clients ------------------------------------------------------------------------------


def test_incomplete_bodies_time_out(server) -> None:
    began = time.monotonic()
    answer = exchange(server.port, predict_head(100) + b'{"text"')
    assert b" 408 " in answer.split(b"\r\n")[0] and time.monotonic() - began < 5
    drip = exchange(server.port, predict_head(100), *[b"{"] * 30, pause=0.1)
    assert b" 408 " in drip.split(b"\r\n")[0]


def test_unread_bodies_do_not_hold_a_connection(server) -> None:
    routes = ["GET /healthz", "POST /v1/nothing", "POST /v1/predict"]
    with ThreadPoolExecutor(len(routes)) as pool:
        seconds = dict(zip(routes, pool.map(lambda route: _seconds_held(server, route), routes), strict=True))
    assert max(seconds.values()) < 5, seconds


def _seconds_held(server, route: str) -> float:
    """Time until the server closes a connection over which a body arrives slowly."""
    head = f"{route} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n".encode()
    began = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection,
        pytest.raises(OSError),
    ):
        connection.sendall(head)
        while time.monotonic() - began < 15:
            connection.sendall(b"x")
            time.sleep(0.1)
    return time.monotonic() - began


def test_a_connection_without_a_request_is_closed_silently(server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        assert connection.recv(1) == b""


def test_slow_or_endless_headers_are_refused(server) -> None:
    slow = exchange(server.port, b"GET /healthz HTTP/1.1\r\n", *[b"X"] * 15, pause=0.1)
    assert b" 408 " in slow.split(b"\r\n")[0]
    endless = exchange(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", *[b"a" * 8192] * 20)
    assert not endless or b" 431 " in endless.split(b"\r\n")[0]
    many = b"".join(b"X-%d: a\r\n" % number for number in range(5000))
    answer = exchange(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + many)
    assert b" 431 " in answer.split(b"\r\n")[0]
    assert server.predict(TEXT)[0] == 200


def test_pipelined_requests(server) -> None:
    body = json.dumps({"text": f"{TEXT} " * 1500, "k": 1}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection:
        connection.sendall((predict_head(len(body)) + body) * 5)
        received = b""
        while received.count(b"HTTP/1.1 200 ") < 5:
            chunk = connection.recv(65536)
            assert chunk, received
            received += chunk


def test_pipelined_requests_wait_for_their_client(server) -> None:
    """A client that pipelines without reading costs neither much memory nor other clients' time."""
    one = b"GET /v1/models/small/card HTTP/1.1\r\nHost: localhost\r\n\r\n"
    before = server.resident()
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.send(one * 5000)
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            assert server.ask("GET", "/healthz")[0] == 200
            slowest = max(slowest, time.monotonic() - began)
        # Parsed ahead, the requests took 10 s and 5 KB each.
        assert slowest < 2 and server.resident() - before < 60e6


def test_pipelined_requests_cut_anywhere(server) -> None:
    """Heads, bodies of known length and chunked bodies, in one read and byte by byte: the same answers."""
    body = json.dumps({"text": TEXT, "k": 1}).encode()
    chunked = chunked_head()
    sent = (
        *(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", predict_head(len(body)) + body),
        *(
            chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
            b"GET /no HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ),
        b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n\r\n\r\n\r\n\r\nX",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )
    whole = b"".join(sent)
    expected = [b"200", b"200", b"200", b"404", b"405", b"200"]
    for step in (len(whole), 7, 1):
        with socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for start in range(0, len(whole), step):
                connection.sendall(whole[start : start + step])
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        assert re.findall(rb"HTTP/1.1 (\d+) ", received) == expected


def test_large_headers_in_one_read_are_refused(server) -> None:
    for size, status in ((30_000, b" 200 "), (33_000, b" 431 "), (120_000, b" 431 ")):
        head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n" % (b"a" * size)
        assert status in exchange(server.port, head).split(b"\r\n")[0]
    empty_lines = exchange(
        server.port, b"\r\n" * 20_000 + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert b" 431 " in empty_lines.split(b"\r\n")[0]


def test_empty_lines_do_not_hold_a_connection(server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while b'{"status":"ok"}' not in received:
            received += connection.recv(65536)
        connection.sendall(b"\r\n")
        assert b" 408 " in connection.recv(65536)


def test_malformed_http(server) -> None:
    for sent in (
        b"\x16\x03\x01\x02\x00garbage\r\n\r\n",
        b"POST\r\n\r\n",
        predict_head(-5),
        b"GET / HTTP/9.9\r\n\r\n",
    ):
        answer = exchange(server.port, sent, wait=2)
        assert not answer or b" 400 " in answer.split(b"\r\n")[0], answer
        assert not answer or set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error"}
    assert server.predict(TEXT)[0] == 200


def test_head_requests(server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=15) as connection:
        connection.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    heads = received.split(b"\r\n\r\n")
    assert len(heads) == 3 and all(head.startswith(b"HTTP/1.1 200 ") for head in heads[:2]) and not heads[2]


def test_chunked_bodies_have_the_same_limit(server) -> None:
    head = chunked_head()
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    answer = exchange(server.port, head, *[chunk] * 70)
    assert not answer or b" 413 " in answer.split(b"\r\n")[0]
    small = json.dumps({"text": TEXT, "k": 1}).encode()
    answer = exchange(server.port, head, b"%x\r\n%s\r\n0\r\n\r\n" % (len(small), small))
    assert b" 200 " in answer.split(b"\r\n")[0]


def test_incomplete_large_bodies_are_limited(folder) -> None:
    with live(folder, "--feedback", "none", "--max-body", 300_000) as server, contextlib.ExitStack() as stack:
        half = predict_head(300_000) + b'{"text":"' + b"a" * 290_000
        sent = []
        for _ in range(60):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            sent.append(stack.enter_context(connection))
            with contextlib.suppress(OSError):  # refused while sending
                connection.sendall(half)
        refused = 0
        for connection in sent:
            connection.settimeout(0.05)
            with contextlib.suppress(OSError):
                refused += connection.recv(1000).startswith(b"HTTP/1.1 429 ")
        assert 15 < refused < 40
        assert server.predict(TEXT)[0] == 200  # small requests still work
        for connection in sent:
            connection.close()
        large = json.dumps({"texts": [TEXT * 1000] * 8}).encode()
        assert len(large) > 200_000
        until(lambda: server.ask("POST", "/v1/predict", large)[0] == 200, 10, "room again")


def test_too_many_connections_are_refused_and_the_others_work(server) -> None:
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    assert request(kept, "GET", "/healthz")[0] == 200
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(80)]
    try:
        answers = []
        for connection in idle[65:]:
            connection.settimeout(5)
            answers.append(connection.recv(1000))
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
        assert request(kept, "POST", "/v1/predict", {"text": TEXT})[0] == 200
    finally:
        for connection in idle:
            connection.close()
        kept.close()
    until(lambda: _try(server) == 200, 10, "room again")


def test_a_client_that_does_not_read_is_disconnected(server) -> None:
    body = json.dumps({"texts": [TEXT] * 250, "k": 15}).encode()
    began = time.monotonic()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.setblocking(False)
        client = connection.getsockname()[1]
        unsent = (predict_head(len(body)) + body) * 200
        until(lambda: _holds(server, client), 10, "a connection")
        end = time.monotonic() + 15
        while time.monotonic() < end and _holds(server, client):
            try:
                unsent = unsent[connection.send(unsent) :]
            except BlockingIOError:
                time.sleep(0.05)
            except OSError:
                break
        assert not _holds(server, client)
    assert time.monotonic() - began > 2  # not before its time limit
    assert server.predict(TEXT)[0] == 200


def _holds(server: Any, client: int) -> bool:
    """Whether the server still holds its end of the connection from the port ``client``."""
    ends = (f":{server.port:04X}", f":{client:04X}")
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if all(address.endswith(end) for address, end in zip(fields[1:3], ends, strict=True)):
            return fields[9] != "0"  # the inode, which is gone once the process has closed it
    return False


def test_memory_stays_flat(server) -> None:
    bodies = [
        b'{"text": "' + b"word " * 700_000 + b'"}',
        b"[" * 1_000_000,
        b'{"texts": [' + b"1," * 1_000_000 + b"1]}",
        b'{"text": "' + b"\xff" * 1_000_000 + b'"}',
        b"{" + b",".join(b'"a%d":1' % number for number in range(200_000)) + b"}",
        json.dumps({"texts": [f"{TEXT} {number}" * 20 for number in range(250)], "k": 200}).encode(),
    ]

    def round_of_all() -> None:
        for body in bodies:
            assert server.ask("POST", "/v1/predict", body)[0] in (200, 400, 413, 422)

    for _ in range(3):
        round_of_all()
    before = server.resident()
    for _ in range(6):
        round_of_all()
    assert server.resident() - before < 30e6


# -- Annif's own client --------------------------------------------------------------------------------------


def test_annif_client_works_unchanged(server) -> None:
    annif = AnnifClient(f"http://127.0.0.1:{server.port}/v1/")
    assert annif.api_info["title"] == "treetop"
    assert [project["project_id"] for project in annif.projects] == ["small"]
    assert annif.get_project("small")["backend"] == {"backend_id": "xr-linear"}
    found = annif.suggest("small", TEXT, limit=3, threshold=0.01)
    assert found[0]["uri"] == found[0]["label"] == "animals" and 1 <= len(found) <= 3
    assert found == server_suggestions(server, 3)
    assert annif.suggest("small", TEXT, threshold=1.0) == []
    documents = [{"document_id": "a", "text": TEXT}, {"text": "guitar piano song chord"}]
    batch = annif.suggest_batch("small", documents, limit=1)
    assert [(item["document_id"], item["results"][0]["label"]) for item in batch] == [
        ("a", "animals"),
        (None, "music"),
    ]
    learned = annif.learn(
        "small", [{"text": "new text", "subjects": [{"uri": "animals", "label": "animals"}]}]
    )
    assert learned.status_code == 204
    with pytest.raises(ValueError, match="unknown model 'none'"):
        annif.suggest("none", TEXT)


def server_suggestions(server, k: int) -> list[dict[str, Any]]:
    labels = server.predict(TEXT, k=k, threshold=0.01)[1]["results"][0]["labels"]
    return [
        {"uri": entry["label"], "label": entry["label"], "notation": None, "score": entry["score"]}
        for entry in labels
    ]


def test_a_port_in_use(folder, server, run) -> None:
    for workers in (1, 2):
        taken = run("serve", folder, "--feedback", "none", "--port", server.port, "--workers", workers)
        taken.sentence(1, f"127.0.0.1:{server.port}", "Address already in use")
