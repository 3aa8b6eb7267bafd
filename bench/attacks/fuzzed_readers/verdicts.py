"""Whether the outcome of reading a case is permitted: a result, or a sentence that says what is wrong where.

Anything else is a failure: another exception, a crash, a warning of numpy, a message without the file's name,
with line breaks or control characters, more than `SECONDS`, or more memory than `limit_memory` permits.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treetop.errors import UserError

from .doors import OPTIONS, Door
from .mutations import Case, write_case

SECONDS = 5.0
LIMITS = "labels=20000,features=200000,rows=20000,line=200000,decompressed=2000000,layers=20"
"""For `TREETOP_LIMITS`: what stays below is cheap to use."""
LONGEST = 2000
"""Characters of a message."""
_SPARE = 1 << 31


class TooSlowError(BaseException):
    """Reading or using took too long."""


def failure(door: Door, case: Case, folder: Path) -> str | None:
    """What is wrong with the outcome, beginning with its kind and place on one line; None if nothing is."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_case({name: content for name, content in case.items() if name != OPTIONS}, folder)
    try:
        with _time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                found = door.run(case, folder)
            except UserError as error:
                flaw = message_flaw(str(error), folder if door.names_place else None)
                return None if flaw is None else f"{flaw}: {_place(error)}\n{error!r}"
            with contextlib.suppress(UserError):
                door.use(found, case)
    except (Exception, TooSlowError) as error:
        return f"{_place(error)}\n{''.join(traceback.format_exception(error)[-12:])[-6000:]}"
    return None


def message_flaw(message: str, folder: Path | None) -> str | None:
    """What is wrong with a message about a file in ``folder``."""
    if not message.strip() or len(message) > LONGEST:
        return f"a message of {len(message)} characters"
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in message):
        return "a message with line breaks or control characters"
    if any(0xD800 <= ord(character) < 0xE000 for character in message):
        return "a message that cannot be printed"
    if folder is not None and str(folder) not in message:
        return "a message that names no file"
    if "internal error" in message or " at 0x" in message:
        return "a message about treetop's inside"
    return None


def _place(error: BaseException) -> str:
    """The type of an error, and the last line of treetop that it passed."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "treetop" in Path(frame.filename).parts
    ] or traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = "" if last is None else f" at {Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__}{where}"


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_memory() -> None:
    """2 GB more than now for this process: what needs more fails with MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    now = pages * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + _SPARE, resource.RLIM_INFINITY))
