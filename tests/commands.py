"""Runs of the command, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from treetop.cli.main import main


class Outcome:
    """What a run left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def sentence(self, code: int, *words: str) -> None:
        """It failed with this code and said so in one sentence."""
        assert self.code == code, self.err
        lines = self.err.strip().splitlines()
        assert len(lines) == 1 and lines[0].startswith("treetop: "), self.err
        assert all(word in lines[0] for word in words), lines[0]


def python(*arguments: object, **environment: str) -> Outcome:
    """A run in a process of its own."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, encoding="utf-8", check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def call(capsys, *arguments: object, quiet: bool = True) -> Outcome:
    """A run in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main([*(["--quiet"] if quiet else []), *map(str, arguments)])
    out, err = capsys.readouterr()
    return Outcome(caught.value.code or 0, out, err)
