"""A served folder changed in any way, models swapped, and workers killed, all under load.

    python bench/attacks/served_folders.py [--seconds 60] [--seed 0]

A trial is one change. It fails if a request is not answered with 200, apart from those of a killed worker,
if the answer is not that of the old or a whole new model, if the server does not come back to the restored
model, or if it ends or logs a traceback.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from server_clients import TEXT, Load
from small_servers import SOON_STABLE, Live, live, save_model, until, worker_ids
from treetop.serve.served_model import version_of
from trials import Trials, attack, run

ANSWERED_S = 30.0


class Folder:
    """A served folder, and what may be done to it."""

    def __init__(self, place: Path, rng: random.Random) -> None:
        self.served, self.first, self.other = place / "model", place / "first", place / "other"
        self._random = rng
        save_model(self.first)
        save_model(self.other, "zebras")
        shutil.copytree(self.first, self.served)
        self.many = place / "many"
        for number in range(2000):
            (self.many / str(number % 20) / "deep").mkdir(parents=True, exist_ok=True)
            (self.many / str(number % 20) / "deep" / str(number)).touch()

    def restore(self, source: Path) -> None:
        if self.served.is_symlink() or self.served.is_file():
            self.served.unlink()
        shutil.rmtree(self.served, ignore_errors=True)
        shutil.copytree(source, self.served)

    def change(self) -> str:
        """Does something to one or all of the files; its description."""
        files = [path for path in self.served.rglob("*") if not path.is_dir()]
        chosen = files if self._random.random() < 0.3 else self._random.sample(files, min(2, len(files)))
        if self._random.random() < 0.25:
            chosen = [self.served / "manifest.json"]
        if self._random.random() < 0.15:
            (self.served / "card.json").write_text("{}")
            chosen = [self.served / "card.json"]
        name, how = self._random.choice(list(self._changes.items()))
        for path in chosen:
            with contextlib.suppress(OSError, ValueError):  # the change before left no such file
                how(path)
        return f"{name}: {', '.join(path.name for path in chosen[:3])}"

    @property
    def _changes(self) -> dict[str, Callable[[Path], object]]:
        def replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
            return lambda path: (path.unlink(), make(path))

        def bytes_changed(path: Path) -> None:
            content = bytearray(path.read_bytes())
            for _ in range(self._random.choice([1, 10])):
                content[self._random.randrange(len(content))] = self._random.randrange(256)
            path.write_bytes(content)

        def manifest_changed(path: Path) -> None:
            manifest = json.loads((self.served / "manifest.json").read_text())
            entry = self._random.choice(list(manifest["arrays"].values()))
            odd = [
                "../../etc/passwd",
                "/dev/zero",
                "",
                "x" * 5000,
                None,
                "\x00",
                "manifest.json",
                "arrays/..",
            ]
            entry[self._random.choice(["file", "checksum"])] = self._random.choice(odd)
            (self.served / "manifest.json").write_text(json.dumps(manifest))

        def copied_over(path: Path) -> None:
            """As cp does: files that exist are truncated and written in place."""
            for source in sorted(self.other.rglob("*")):
                target = self.served / source.relative_to(self.other)
                target.mkdir(exist_ok=True) if source.is_dir() else target.write_bytes(source.read_bytes())

        return {
            "truncated": lambda path: os.truncate(path, self._random.randrange(path.stat().st_size + 1)),
            "extended": lambda path: os.truncate(path, 1 << self._random.choice([12, 30, 42])),
            "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
            "bytes changed": bytes_changed,
            "deleted": Path.unlink,
            "a folder": replaced(Path.mkdir),
            "a pipe": replaced(os.mkfifo),
            "a circular link": replaced(lambda path: path.symlink_to(path)),
            "a device": replaced(
                lambda path: path.symlink_to(self._random.choice(["/dev/zero", "/dev/full"]))
            ),
            "a link to many files": lambda path: (
                shutil.rmtree(self.served),
                self.served.symlink_to(self.many),
            ),
            "all gone": lambda path: shutil.rmtree(self.served),
            "a file": lambda path: (shutil.rmtree(self.served), self.served.write_text("file")),
            "no permission": lambda path: path.chmod(0),
            "manifest": manifest_changed,
            "copied over": copied_over,
        }


@contextlib.contextmanager
def served(trials: Trials, workers: int) -> Iterator[tuple[Folder, Live]]:
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(Path(place), trials.random)
        with live(folder.served, "--workers", workers, "--watch", 0.05, patch=SOON_STABLE) as server:
            yield folder, server
            assert server.process.poll() is None, "the server has ended"
        odd = [line for line in server.lines if line.startswith(("Traceback", " "))]
        trials.count(f"the log has {odd[:5]}" if odd else None)


def answers_with(server: Live, version: str) -> None:
    def asked() -> bool:
        with contextlib.suppress(OSError):
            return bool(server.predict(TEXT)[1].get("version") == version)
        return False

    until(lambda: all(asked() for _ in range(4)), ANSWERED_S, f"version {version}")


def only_200(load: Load, before: int) -> str | None:
    """Whether requests were answered since there were ``before`` answers, all with 200."""
    until(lambda: load.statuses[200] > before + 10, ANSWERED_S, "answers")
    return None if set(load.statuses) == {200} else f"answers {dict(load.statuses)}"


@attack(
    "served/changed",
    "a request is not answered by a whole model, or the restored model is not served again",
)
def changed(trials: Trials) -> None:
    with served(trials, 2) as (folder, server), Load(server.port, 2) as load:
        known = {version_of(folder.first), version_of(folder.other)}
        while trials.go_on():
            before = load.statuses[200]
            what = folder.change()
            time.sleep(trials.random.choice([0, 0.1, 0.3]))
            server.ask("GET", "/v1/models/model/card")
            fault = only_200(load, before)
            if load.versions - known:
                fault = f"answers of versions {load.versions - known}"
            source = trials.random.choice([folder.first, folder.other])
            folder.restore(source)
            answers_with(server, version_of(source))
            trials.count(fault and f"{what}: {fault}")
            load.statuses.clear()


@attack(
    "served/swapped",
    "a request is dropped, or not answered by the old or the new model",
)
def swapped(trials: Trials) -> None:
    """A model saved over the other, and SIGHUPs at any moment."""
    with served(trials, 2) as (folder, server), Load(server.port, 2) as load:
        while trials.go_on():
            source = trials.random.choice([folder.first, folder.other])
            fresh = folder.served.with_name("fresh")
            shutil.copytree(source, fresh)
            for path in sorted(fresh.glob("arrays-*")):
                shutil.copytree(path, folder.served / path.name, dirs_exist_ok=True)
            (fresh / "manifest.json").replace(folder.served / "manifest.json")
            shutil.rmtree(fresh)
            for _ in range(trials.random.choice([0, 1, 5])):
                server.process.send_signal(signal.SIGHUP)
                time.sleep(trials.random.random() * 0.1)
            answers_with(server, version_of(source))
            trials.count(only_200(load, load.statuses[200]))


@attack(
    "served/workers killed",
    "no other worker takes its place, or the server ends",
)
def workers_killed(trials: Trials) -> None:
    """Requests of the killed worker are lost; the other's are not, and another worker takes its place."""
    with served(trials, 2) as (folder, server), Load(server.port, 2) as load:
        version = version_of(folder.first)
        while trials.go_on():
            ids = until(lambda: len(found := worker_ids(server.process.pid)) == 2 and found, 30, "workers")
            if trials.random.random() < 0.3:
                folder.change()
            os.kill(trials.random.choice(ids), trials.random.choice([signal.SIGKILL, signal.SIGSEGV]))
            until(
                lambda: server.process.poll() is not None or len(worker_ids(server.process.pid)) == 2,
                30,
                "two",
            )
            folder.restore(folder.first)
            answers_with(server, version)
            statuses = {status for status in load.statuses if isinstance(status, int)}
            trials.count(None if statuses == {200} else f"answers {dict(load.statuses)}")


if __name__ == "__main__":
    sys.exit(run(__doc__))
