"""Held-out examples: the same rules for validation, calibration, tuning, comparisons and weights."""

from __future__ import annotations

import numpy as np
import pytest

import treetop
from small_data import topic_texts
from treetop import Dataset
from treetop.data.held_out import held_out_rows, hold_out
from treetop.errors import DataError
from treetop.tuning import tune

QUICK = {"epochs": 1, "filters": 4, "dimension": 8, "max_length": 8, "device": "cpu"}
METHODS = {
    "calibration": ("xr-linear", {"calibration": "platt"}),
    "weights of the ensemble": ("ensemble", {"methods": "xr-linear,neighbours", "rule": "learned"}),
    "validation": ("kim-cnn", QUICK | {"training.validation": 0.2}),
}
FEW = Dataset.from_texts(["bread", "flour", "wind"], [["baking"], [], []], source="few.jsonl")
ONE_GROUP = Dataset.from_texts(*topic_texts(20, seed=0), groups=["same"] * 20, source="one.jsonl")
BAD = [(FEW, "add labelled examples, or give separate ones"), (ONE_GROUP, "split without groups")]


def test_groups_stay_together_and_a_seed_gives_the_same_rows():
    data = Dataset.from_texts(*topic_texts(60, seed=0), groups=[str(row // 3) for row in range(60)])
    kept, held_out = hold_out(data, 0.2, 3, "test")
    assert (len(kept), len(held_out)) == (48, 12)
    assert not set(kept.groups or ()) & set(held_out.groups or ())
    rows = held_out_rows(data, 0.2, 3, "test")
    assert sorted(np.concatenate(rows)) == list(range(60))
    assert list(data[rows[1]].texts or ()) == list(held_out.texts or ())
    assert list(data.split(0.2, seed=3, by_group=True)[1].texts or ()) == list(held_out.texts or ())


@pytest.mark.parametrize(("data", "remedy"), BAD)
@pytest.mark.parametrize("purpose", METHODS)
def test_methods_reject_a_bad_split(purpose, data, remedy):
    name, settings = METHODS[purpose]
    with pytest.raises(DataError, match=f"{data.source}: .*out .*for the {purpose}.*{remedy}"):
        treetop.make(name, **settings).fit(data)


@pytest.mark.parametrize(("data", "remedy"), BAD)
def test_so_does_tuning(data, remedy):
    with pytest.raises(DataError, match=f"{data.source}: .*out .*for the tuning.*{remedy}"):
        tune("neighbours", data, trials=1)


@pytest.mark.parametrize(("data", "remedy"), BAD)
@pytest.mark.parametrize("command", ["train", "compare", "tune"])
def test_so_do_commands(command, data, remedy, tmp_path, run):
    file = tmp_path / data.source
    treetop.write(data, file)
    options = {
        "train": ("--model", tmp_path / "m", "--method", "neighbours"),
        "compare": ("--methods", "neighbours"),
        "tune": ("--method", "neighbours", "--study", tmp_path / "study.db"),
    }[command]
    group = () if data.groups is None else ("--group", "group")
    outcome = run(command, file, *options, *group, "--validation", 0.4)
    outcome.sentence(2, data.source, "hold ", "for the ", remedy)
    assert not (tmp_path / "m").exists()


def test_unlabelled_examples_are_split_but_not_held_out():
    data = Dataset.from_texts(["a", "b", "c"])
    assert len(data.split(0.3)[1]) == 1
    with pytest.raises(DataError, match="too few examples have labels to hold some out for the test"):
        hold_out(data, 0.3, 0, "test")
