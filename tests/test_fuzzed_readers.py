"""A short, seeded form of bench/attacks/readers.py: mutated files lead to a result or to one sentence.

Children of a process of its own read them, so that a crash of native code is a failure and not the end.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys

import pytest

import bench_paths
from fuzzed_readers import verdicts
from fuzzed_readers.doors import DOORS, Door
from fuzzed_readers.mutations import Odd, packed, unpacked, write_case

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="readers are attacked in forked processes")
SCRIPT = bench_paths.BENCH / "attacks" / "readers.py"
TRIES = {False: 120, True: 20}


@pytest.mark.parametrize("slow", [False, True])
def test_mutated_files(slow):
    doors = ",".join(door.name for door in DOORS if door.slow is slow)
    options = ["--engine", "random", "--tries", str(TRIES[slow]), "--doors", doors]
    ended = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)
    counts = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, ended.stderr[-8000:]
    assert [count["attack"] for count in counts] == [f"readers/{name}" for name in doors.split(",")]
    assert all(count["tried"] >= TRIES[slow] and count["failed"] == 0 for count in counts)


def test_mutations_are_seeded_and_can_be_written(tmp_path):
    door = next(door for door in DOORS if door.name == "pecos")
    made = []
    for _ in range(2):
        rng = random.Random(7)
        made.append([door.mutated(rng.choice(door.pool), rng) for _ in range(50)])
    assert made[0] == made[1]
    assert any(case not in door.pool for case in made[0])
    for number, case in enumerate(made[0]):
        assert unpacked(packed(case)) == case
        write_case(case, tmp_path / str(number))
    assert {odd for case in made[0] for odd in case.values() if isinstance(odd, Odd)}
    for data in (packed({"../up": b""}), packed({"a": b"12"})[:-1], b"x"):
        with pytest.raises((ValueError, struct.error)):
            unpacked(data)


def test_what_counts_as_a_failure(tmp_path):
    def door(read, use=lambda found, case: None) -> Door:
        return Door("x", list, read, use)

    def raises(error):
        raise error

    folder, case = tmp_path / "case", {"a": b"1"}
    fine = [
        door(lambda folder: 3),
        door(lambda folder: raises(verdicts.UserError(f"{folder / 'a'}: is empty; fill it"))),
        door(lambda folder: 3, lambda found, case: raises(verdicts.UserError("too few examples"))),
    ]
    assert [verdicts.failure(each, case, folder) for each in fine] == [None] * 3
    bad = {
        "ValueError": door(lambda folder: raises(ValueError("oh"))),
        "names no file": door(lambda folder: raises(verdicts.UserError("is empty"))),
        "TypeError": door(lambda folder: 3, lambda found, case: found.x()),
        "inside": door(lambda folder: raises(verdicts.UserError(f"{folder}: <x at 0x7f>"))),
        "TooSlow": door(lambda folder: os.open(folder / "pipe", os.O_RDONLY)),
    }
    bad["AttributeError"] = bad.pop("TypeError")
    verdicts.SECONDS, before = 0.2, verdicts.SECONDS
    try:
        for kind, each in bad.items():
            found = verdicts.failure(each, case | {"pipe": Odd.PIPE}, folder)
            assert found is not None and kind in found.splitlines()[0]
    finally:
        verdicts.SECONDS = before
