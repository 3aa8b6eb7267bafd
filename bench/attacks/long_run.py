"""A server under load for the whole time, with requests of all kinds: its memory must not grow.

    python bench/attacks/long_run.py [--seconds 60] [--seed 0]

A trial is one request. It fails if its answer is not the result or rejection that it should be, and one trial
more fails if the memory of the server has grown by more than 20 MB since the first tenth of the time.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from server_clients import TEXT
from small_servers import live, request, save_model
from trials import Trials, attack, run

CLIENTS = 4
GROWTH = 20e6


@attack(
    "server/long run",
    "a wrong status, or memory grows by 20 MB",
)
def long_run(trials: Trials) -> None:
    with tempfile.TemporaryDirectory() as place:
        save_model(Path(place) / "m")
        with live(Path(place) / "m", "--feedback", Path(place) / "f.sqlite", "--watch", 0.5) as server:
            end, faults, asked = time.monotonic() + trials.seconds, [], [0] * CLIENTS

            def ask(client: int, seed: float) -> None:
                rng, connection = (
                    random.Random(seed),
                    http.client.HTTPConnection("127.0.0.1", server.port, timeout=30),
                )
                while time.monotonic() < end:
                    method, path, body, expected = one(rng)
                    try:
                        status = request(connection, method, path, body)[0]
                    except (OSError, http.client.HTTPException, ValueError) as error:
                        status = repr(error)
                        connection.close()
                    asked[client] += 1
                    if status not in expected:
                        faults.append(f"{path}: {status}")

            threads = [threading.Thread(target=ask, args=(n, trials.random.random())) for n in range(CLIENTS)]
            for thread in threads:
                thread.start()
            time.sleep(trials.seconds / 10)
            before = server.resident()
            while time.monotonic() < end:
                time.sleep(1)
                if trials.random.random() < 0.1:
                    save_model(Path(place) / "m", trials.random.choice(["", "zebras"]))
            for thread in threads:
                thread.join(60)
            with contextlib.suppress(OSError):
                server.ask("GET", "/healthz")
            grown = server.resident() - before
        trials.count(None, sum(asked) - len(faults))
        for fault in faults:
            trials.count(fault)
        trials.count(f"memory grew by {grown / 1e6:.0f} MB" if grown > GROWTH else None)


def one(rng: random.Random) -> tuple[str, str, object, tuple[int, ...]]:
    """Method, path, body and the statuses that are right."""
    words = " ".join(rng.sample(TEXT.split() * 40, rng.randrange(1, 200)))
    return rng.choice(
        [
            ("POST", "/v1/predict", {"text": words, "k": rng.randrange(1, 9)}, (200, 429)),
            ("POST", "/v1/predict", {"texts": [words] * rng.randrange(1, 20)}, (200, 429)),
            ("POST", "/v1/predict", {"text": words, "explain": True}, (200, 429)),
            ("POST", "/v1/predict", {"text": 1}, (422,)),
            ("POST", "/v1/predict", b"{" * rng.randrange(1, 100_000), (400, 413)),
            ("POST", "/v1/feedback", {"text": words, "added": ["a"]}, (201, 429)),
            ("GET", f"/v1/labels?q={words[:5].replace(' ', '+')}", None, (200,)),
            (
                "GET",
                rng.choice(["/", "/docs", "/metrics", "/v1/models", "/v1/models/m/card", "/readyz"]),
                None,
                (200,),
            ),
            ("GET", f"/{rng.randrange(10**9)}", None, (404,)),
        ]
    )


if __name__ == "__main__":
    sys.exit(run(__doc__))
