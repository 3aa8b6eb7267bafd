"""A browser and a server, for the tests of the page and its screenshots."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
ADDRESS = re.compile(r"serving .* at (http://\S+)")


def executable() -> str | None:
    """The browser named by TREETOP_BROWSER, or the first one installed."""
    named = os.environ.get("TREETOP_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def opened() -> Iterator:
    """A headless browser controlled by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def serving(*arguments: object, feedback: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """``treetop serve`` on a free port; yields its address and its process."""
    command = [sys.executable, "-m", "treetop", "serve", *map(str, arguments)]
    command += ["--port", "0", "--feedback", str(feedback)]
    log = feedback.with_suffix(".log")
    with log.open("w+", encoding="utf-8") as output, subprocess.Popen(command, stderr=output) as process:
        try:
            yield _address(process, log), process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=30)


def _address(process: subprocess.Popen, log: Path) -> str:
    while process.poll() is None:
        if found := ADDRESS.search(log.read_text("utf-8")):
            return found[1]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
    raise RuntimeError(f"the server did not start: {log.read_text('utf-8')}")
