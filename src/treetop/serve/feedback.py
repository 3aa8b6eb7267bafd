"""`FeedbackStore`: feedback on suggestions in SQLite; acknowledged feedback is never lost.

One thread writes. Feedback that arrives while it waits for the disk joins the next transaction, so that many
entries share the cost of a synchronous write. Each is acknowledged only after its transaction is on disk.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from ..errors import TreetopError
from .http_errors import HttpError, too_busy

log = logging.getLogger("treetop.serve")
SCHEMA = """
CREATE TABLE IF NOT EXISTS feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created REAL NOT NULL,
    model TEXT NOT NULL,
    version TEXT NOT NULL,
    text TEXT NOT NULL,
    suggested TEXT NOT NULL,
    accepted TEXT NOT NULL,
    rejected TEXT NOT NULL,
    added TEXT NOT NULL,
    client TEXT
)"""
INSERT = """
INSERT INTO feedback (created, model, version, text, suggested, accepted, rejected, added, client)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
MAX_WAITING = 1000
"""Requests in the queue."""
MAX_TRANSACTION = 200
"""Requests per transaction."""
LOCKED_S = 20.0
"""Time to wait while another process writes."""


class Feedback(NamedTuple):
    """One entry without its id. The lists hold label names."""

    model: str
    version: str
    text: str
    suggested: list[str]
    accepted: list[str]
    rejected: list[str]
    added: list[str]
    client: str | None = None

    def row(self) -> tuple[object, ...]:
        lists = (self.suggested, self.accepted, self.rejected, self.added)
        packed = (json.dumps(labels, ensure_ascii=False) for labels in lists)
        return (time.time(), self.model, self.version, self.text, *packed, self.client)


def connect(path: Path) -> sqlite3.Connection:
    """Opens or creates the file so that a commit is on disk when it returns.

    The file has no write-ahead log: SQLite would map its index (``-shm``) into memory, and anybody who
    truncates that file, in a folder that others may write to, would end the server with SIGBUS.
    """
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(path, timeout=LOCKED_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA mmap_size=0")
        if _has_log(path):  # of an earlier version; where the lock is exclusive, the index is not mapped
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=DELETE")
        if _has_log(path):
            raise sqlite3.OperationalError("another program uses its write-ahead log; close that program")
        connection.execute("PRAGMA locking_mode=NORMAL")
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute(SCHEMA)
        connection.execute("SELECT id, created, model, text, accepted, rejected, added FROM feedback LIMIT 1")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise TreetopError(
            f"{path}: cannot store feedback in this file ({error}); choose another file with --feedback"
        ) from None
    return connection


class FeedbackStore:
    """The writer: one per process. Several processes may share the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = connect(path)
        self._file = _identity(path)
        self._queue: SimpleQueue[tuple[list[Feedback], asyncio.Future[list[int]]] | None] = SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._work, name="treetop-feedback", daemon=True)
        self._thread.start()

    async def add(self, items: list[Feedback]) -> list[int]:
        """Ids of the entries once they are on disk. Stores all of them or, on an error, none."""
        if self._waiting >= MAX_WAITING:
            raise too_busy("too much feedback is waiting to be written; try again later", 1)
        future: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting += 1
        self._queue.put((items, future))
        try:
            return await asyncio.shield(future)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Writes the queued entries and closes the file."""
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            group = [entry]
            while len(group) < MAX_TRANSACTION:
                try:
                    entry = self._queue.get_nowait()
                except Empty:
                    break
                if entry is None:
                    self._queue.put(None)
                    break
                group.append(entry)
            outcome = self._write([items for items, _ in group])
            for number, (_, future) in enumerate(group):
                result = outcome if isinstance(outcome, Exception) else outcome[number]
                future.get_loop().call_soon_threadsafe(_settle, future, result)

    def _write(self, groups: list[list[Feedback]]) -> list[list[int]] | Exception:
        try:
            if _identity(self.path) != self._file:  # SQLite would keep writing to the moved file
                raise sqlite3.OperationalError(
                    "the file was moved or removed; move it back, or restart the server"
                )
            if _has_log(self.path):
                raise sqlite3.OperationalError(
                    "another program gave the file a write-ahead log; close it, and restart the server"
                )
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                ids = [
                    [self._connection.execute(INSERT, item.row()).lastrowid or 0 for item in items]
                    for items in groups
                ]
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            log.error("%s: feedback was not stored: %s", self.path, error)
            return HttpError(503, "the feedback could not be stored; try again later", {"Retry-After": "5"})
        except Exception as error:
            log.exception("%s: feedback was not stored", self.path)
            return error
        return ids


def _identity(path: Path) -> tuple[int, int] | None:
    """Distinguishes a file from another of the same name."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _has_log(path: Path) -> bool:
    """Whether SQLite keeps a write-ahead log for the file, according to its header."""
    try:
        with path.open("rb") as file:
            return 2 in file.read(20)[18:]
    except OSError:
        return False


def _settle(future: asyncio.Future[list[int]], outcome: list[int] | Exception) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
