"""A killed training resumes after the last finished level and ends with the same model."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import treetop
from conftest import planted
from treetop import _native, checkpoints
from treetop.data import Dataset
from treetop.errors import ConfigError
from treetop.linear import TreeModel

SETTINGS = {"leaf_size": 5, "branching": 3, "negatives": "tfn+man"}


@pytest.fixture
def data() -> Dataset:
    return Dataset.from_matrices(*planted(200, 40, 60, seed=1))


@pytest.fixture
def trained_levels(monkeypatch) -> list[int]:
    """How many levels each call of the core trained."""
    counts: list[int] = []
    train = _native.train_levels

    def counting(problems, *arguments):
        counts.append(len(problems))
        train(problems, *arguments)

    monkeypatch.setattr(_native, "train_levels", counting)
    return counts


def stopped_before_last_level(data, folder, monkeypatch, resume=False):
    """A training that is interrupted when all levels but the last are done."""
    shortlist = TreeModel.shortlist

    def interrupted(self, level, *arguments):
        if level + 1 == self.tree.depth:
            raise KeyboardInterrupt
        return shortlist(self, level, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TreeModel, "shortlist", interrupted)
        with pytest.raises(KeyboardInterrupt), checkpoints.keeping(folder, resume=resume):
            treetop.XRLinear(**SETTINGS).fit(data)


@pytest.mark.parametrize("resume", [False, True])
def test_refused_settings_leave_only_what_was_there(tmp_path, resume):
    folder = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt), checkpoints.keeping(folder, resume=False):
        checkpoints.keep("before", {"a": np.arange(3)})
        raise KeyboardInterrupt
    with pytest.raises(ConfigError), checkpoints.keeping(folder, resume=resume):
        raise ConfigError("no such thing")
    assert folder.exists() == resume
    with pytest.raises(ConfigError), checkpoints.keeping(tmp_path / "new", resume=False):
        checkpoints.keep("piece", {"a": np.arange(3)})
        raise ConfigError("no such thing")
    assert not (tmp_path / "new").exists()


def test_the_first_of_several_processes_alone_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "is_main_process", lambda: False)
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        arrays = {"a": np.arange(3)}
        assert checkpoints.keep("piece", arrays) is arrays
    assert not (tmp_path / "kept").exists()


def test_resumed_training_takes_over_finished_levels(data, tmp_path, monkeypatch, trained_levels):
    whole = treetop.XRLinear(**SETTINGS).fit(data)
    assert sum(trained_levels) == whole.tree.depth > 2
    folder = tmp_path / "unfinished"
    stopped_before_last_level(data, folder, monkeypatch)
    assert {path.name.split("-")[0] for path in folder.iterdir()} == {"tree", "level"}

    trained_levels.clear()
    with checkpoints.keeping(folder, resume=True):
        resumed = treetop.XRLinear(**SETTINGS).fit(data)
    assert trained_levels == [1]
    for name, array in whole._state().items():
        np.testing.assert_array_equal(resumed._state()[name], array, err_msg=name)
    assert not folder.exists()  # the model is there: nothing is left to resume


def test_nothing_is_taken_over_from_other_data_or_other_settings(data, tmp_path, monkeypatch, trained_levels):
    folder = tmp_path / "unfinished"
    for change in ({"seed": 1}, {"cost_positive": 2.0}):
        stopped_before_last_level(data, folder, monkeypatch)
        trained_levels.clear()
        with checkpoints.keeping(folder, resume=True):
            model = treetop.XRLinear(**SETTINGS, **change).fit(data)
        assert sum(trained_levels) == model.tree.depth
    stopped_before_last_level(data, folder, monkeypatch)
    trained_levels.clear()
    with checkpoints.keeping(folder, resume=True):
        model = treetop.XRLinear(**SETTINGS).fit(data[:150])
    assert sum(trained_levels) == model.tree.depth


def test_pieces_of_other_parts_have_other_names(tmp_path):
    with checkpoints.keeping(tmp_path / "unfinished", resume=False):
        names = {
            checkpoints.name_of("level", 0.1, 12),
            checkpoints.name_of("level", 0.11, 2),
            checkpoints.name_of("level", np.array([1, 2]), np.array([3])),
            checkpoints.name_of("level", np.array([1]), np.array([2, 3])),
        }
    assert len(names) == 4


def test_a_piece_comes_back_as_it_was(tmp_path):
    arrays = {"number": np.array(3.5), "none": np.zeros((0, 2)), "turned": np.arange(6).reshape(2, 3).T}
    with checkpoints.keeping(tmp_path / "unfinished", resume=False):
        checkpoints.keep("piece", arrays)
        found = checkpoints.find("piece")
        for name, array in arrays.items():
            assert found[name].shape == array.shape and np.array_equal(found[name], array)
        del found


def test_damaged_pieces_are_made_anew_and_a_fresh_start_removes_them(
    data, tmp_path, monkeypatch, trained_levels
):
    folder = tmp_path / "unfinished"
    stopped_before_last_level(data, folder, monkeypatch)
    for path in folder.glob("*/*.npy"):
        path.write_bytes(path.read_bytes()[:40])
    trained_levels.clear()
    with checkpoints.keeping(folder, resume=True):
        model = treetop.XRLinear(**SETTINGS).fit(data)
    assert sum(trained_levels) == model.tree.depth

    stopped_before_last_level(data, folder, monkeypatch)
    trained_levels.clear()
    with checkpoints.keeping(folder, resume=False):
        treetop.XRLinear(**SETTINGS).fit(data)
    assert sum(trained_levels) == model.tree.depth


def test_without_keeping_nothing_is_written_or_hashed():
    assert checkpoints.name_of("level", np.zeros(3)) is None
    assert checkpoints.find(None) is None
    arrays = {"a": np.zeros(3)}
    assert checkpoints.keep(None, arrays) is arrays


def test_finished_levels_are_used_where_they_lie(data, tmp_path):
    """Their weights leave the memory; the files go with the folder, and the model stays whole."""
    folder = tmp_path / "unfinished"
    with checkpoints.keeping(folder, resume=False):
        model = treetop.XRLinear(**SETTINGS).fit(data)
        weights = [level.tables for level in model.forest.models[0].levels]
        kept = [np.load(path, mmap_mode="r") for path in folder.glob("level-*/tables.npy")]
        assert len(weights) == len(kept)
        if sys.platform != "win32":
            assert all(isinstance(array, np.memmap) for array in weights)
        assert {array.tobytes() for array in weights} == {array.tobytes() for array in kept}
    assert not folder.exists()
    whole = treetop.XRLinear(**SETTINGS).fit(data)
    assert whole.predict(data).scores.tolist() == model.predict(data).scores.tolist()
