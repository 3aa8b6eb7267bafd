"""Folders with a file for each split."""

from __future__ import annotations

import pytest

import treetop
from small_data import topic_texts
from treetop import Dataset
from treetop.errors import DataError


def some(count: int, seed: int) -> Dataset:
    return Dataset.from_texts(*topic_texts(count, seed=seed), source="some")


@pytest.fixture
def folder(tmp_path):
    treetop.write(some(40, 0), tmp_path / "train.jsonl.xz")
    treetop.write(some(20, 1), tmp_path / "test.csv")
    (tmp_path / "stats.json").write_text("{}")
    (tmp_path / "train.txt").write_text("no labels in it\n")
    return tmp_path


def test_the_file_of_a_split_is_read(folder):
    assert len(treetop.read(folder, split="train")) == 40
    assert len(treetop.read(folder, split="test")) == 20
    (folder / "test.csv").unlink()
    assert len(treetop.read(folder)) == 40  # the only one


def test_a_folder_of_arrays_is_a_split(folder):
    treetop.write(some(10, 2), folder / "valid.arrays")
    assert len(treetop.read(folder, split="valid")) == 10


def test_complaints(folder):
    with pytest.raises(DataError, match="has the splits test, train; choose one with --split"):
        treetop.read(folder)
    with pytest.raises(DataError, match="has no split 'dev'; choose one of test, train"):
        treetop.read(folder, split="dev")
    treetop.write(some(10, 2), folder / "train.csv")
    with pytest.raises(DataError, match=r"contains train.csv and train.jsonl.xz; name the one to read"):
        treetop.read(folder, split="train")


def test_commands_know_which_split_they_want(folder, tmp_path, run):
    model = tmp_path / "model"
    assert (
        "from 40 examples" in run("train", folder, "--method", "xr-linear", "--model", model, quiet=False).err
    )
    whole = run("evaluate", model, folder, "--json", "-").out
    assert whole == run("evaluate", model, folder / "test.csv", "--json", "-").out
    assert whole != run("evaluate", model, folder, "--split", "train", "--json", "-").out
    run("predict", model, folder).sentence(2, "choose one with --split")
