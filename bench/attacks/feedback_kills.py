"""kill -9 of a server that stores feedback under load: what it has acknowledged is on disk.

    python bench/attacks/feedback_kills.py [--seconds 60] [--seed 0]

A trial is one acknowledged entry. It fails if the entry is lost or changed after the kill. Rounds share one
file, with one or two workers, and kill the server, its workers, or all of them at a random moment.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from small_servers import SOON_STABLE, live, request, save_model, worker_ids
from trials import Trials, attack, run

WRITERS = 6


@attack(
    "feedback/kill -9",
    "an acknowledged entry is lost or changed",
)
def kills(trials: Trials) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, file = Path(place) / "model", Path(place) / "feedback.sqlite"
        save_model(folder)
        number = itertools.count()
        while trials.go_on():
            workers = trials.random.choice([1, 2])
            acknowledged: list[tuple[int, int]] = []
            with live(folder, "--feedback", file, "--workers", workers, patch=SOON_STABLE) as server:

                def write(
                    port: int = server.port, acknowledged: list[tuple[int, int]] = acknowledged
                ) -> None:
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                    while True:
                        mine = next(number)
                        body = {"text": f"text {mine} {'x' * (mine % 3000)}", "added": [f"label {mine}"]}
                        try:
                            status, answer, _ = request(connection, "POST", "/v1/feedback", body)
                        except (OSError, http.client.HTTPException):
                            return
                        if status == 201:
                            acknowledged.append((answer["id"], mine))

                writers = [threading.Thread(target=write, daemon=True) for _ in range(WRITERS)]
                for writer in writers:
                    writer.start()
                time.sleep(trials.random.uniform(0.05, 1.0))
                children = worker_ids(server.process.pid) if workers > 1 else []
                victims = [server.process.pid, *children]
                if children and trials.random.random() < 0.5:
                    victims = children
                for victim in victims:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(victim, signal.SIGKILL)
                for writer in writers:
                    writer.join(30)
            for fault in lost(file, acknowledged):
                trials.count(fault)


def lost(file: Path, acknowledged: list[tuple[int, int]]) -> list[str | None]:
    """For each acknowledged entry, and the file itself, what is wrong."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        whole = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT id, text, added FROM feedback").fetchall()
    kept = {identity: (text, added) for identity, text, added in rows}
    expected = {
        identity: (f"text {mine} {'x' * (mine % 3000)}", [f"label {mine}"]) for identity, mine in acknowledged
    }
    faults: list[str | None] = [None if whole else "the file is damaged"]
    for identity, (text, labels) in expected.items():
        found = kept.get(identity)
        good = found is not None and found[0] == text and json.loads(found[1]) == labels
        faults.append(None if good else f"entry {identity} is {found}")
    return faults


if __name__ == "__main__":
    sys.exit(run(__doc__))
