"""Several processes save, load and train one model folder at the same time.

    python bench/attacks/concurrent_processes.py [--seconds 60] [--seed 0]

A trial is one save, load or training. It fails if a load gives anything but one whole model, if a save or a
training fails other than by one sentence about another process, or if files stay behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import treetop
from small_data import topic_texts
from test_store import example
from treetop import store
from trials import TESTS, Trials, attack, run

SAVES = """
import sys, time, random
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_store import example
from treetop import store
rng, end, done = random.Random(int(sys.argv[3])), time.monotonic() + float(sys.argv[4]), 0
while time.monotonic() < end:
    store.save(sys.argv[2], example(rng.randrange(6)))
    done += 1
print(done)
"""


@attack(
    "concurrent/saves and loads",
    "a load gives anything but one whole model, or a save fails",
)
def saves_and_loads(trials: Trials) -> None:
    contents = {
        seed: {name: array.tobytes() for name, array in example(seed).arrays.items()} for seed in range(6)
    }
    while trials.go_on():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "model"
            store.save(folder, example(0))
            command = [sys.executable, "-c", SAVES, str(TESTS), str(folder)]
            seconds = min(10.0, max(2.0, trials.seconds / 4))
            savers = [
                subprocess.Popen(
                    [*command, str(trials.random.randrange(1000)), str(seconds)], stdout=-1, stderr=-1
                )
                for _ in range(3)
            ]
            while any(saver.poll() is None for saver in savers):
                found = store.load(folder)
                arrays = {name: array.tobytes() for name, array in found.arrays.items()}
                trials.count(None if arrays == contents[found.config["seed"]] else "a mixed model")
                time.sleep(0.002)
            for saver in savers:
                printed, errors = saver.communicate()
                trials.count(errors.decode()[-500:] if saver.returncode else None, int(printed or 1))
            left = [path.name for path in (*Path(place).rglob(".*"), *folder.iterdir())]
            trials.count(f"left {left}" if len(left) != 2 else None)


@attack(
    "concurrent/trainings",
    "no training wins, or another ends other than rejected in one sentence",
)
def trainings(trials: Trials) -> None:
    """One wins; the others are rejected, or start after it has ended."""
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "train.jsonl"
        rows = zip(*topic_texts(300, 0), strict=True)
        data.write_text("".join(json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in rows))
        queries = topic_texts(10, 1)[0]
        expected = {}
        for seed in (0, 1):
            model = treetop.XRLinear(leaf_size=2, branching=2, seed=seed, threads=1).fit(treetop.read(data))
            expected[seed] = model.predict(queries, k=3).scores.tolist()
        while trials.go_on():
            folder = Path(place) / "models" / "m"
            folder.parent.mkdir(exist_ok=True)

            def train(number: int, folder: Path = folder) -> subprocess.CompletedProcess[str]:
                settings = ("leaf_size=2", "branching=2", f"seed={number % 2}")
                named = [word for setting in settings for word in ("--set", setting)]
                command = [sys.executable, "-m", "treetop", "-q", "train", data, "--method", "xr-linear"]
                resume = ["--resume"] if number % 3 == 0 else []
                return subprocess.run(
                    [*command, "--model", folder, "--threads", "1", *named, *resume],
                    capture_output=True,
                    encoding="utf-8",
                    check=False,
                )

            with ThreadPoolExecutor(4) as pool:
                outcomes = list(pool.map(train, range(4)))
            for outcome in outcomes:
                lines = outcome.stderr.splitlines()
                rejected = len(lines) == 1 and "another process is making or changing this model" in lines[0]
                trials.count(outcome.stderr if outcome.returncode and not rejected else None)
            scores = treetop.load(folder, threads=1).predict(queries, k=3).scores.tolist()
            left = [path.name for path in folder.parent.iterdir() if path.name != "m"]
            if all(outcome.returncode for outcome in outcomes) or scores not in expected.values() or left:
                trials.count(f"no training won, or the model is none of them, or left {left}")


if __name__ == "__main__":
    sys.exit(run(__doc__))
