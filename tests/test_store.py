"""The model folder: whole or not at all, checked, of a known version."""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

from treetop import store
from treetop.arrays import write_array
from treetop.errors import ModelError, TreetopError


def example(value: int = 1) -> store.Stored:
    arrays = {"a.weights": np.arange(6, dtype=np.float32) * value, "b": np.array([[value]])}
    return store.Stored("xr-linear", {"seed": value}, {"examples": 3}, arrays)


def test_round_trip_is_memory_mapped(tmp_path):
    store.save(tmp_path / "deep" / "model", example())
    loaded = store.load(tmp_path / "deep" / "model")
    assert (loaded.method, loaded.config, loaded.data) == ("xr-linear", {"seed": 1}, {"examples": 3})
    for name, array in example().arrays.items():
        np.testing.assert_array_equal(loaded.arrays[name], array)
        assert loaded.arrays[name].dtype == array.dtype
        assert isinstance(loaded.arrays[name], np.memmap)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["model"]


def test_saving_again_replaces_everything(tmp_path):
    store.save(tmp_path / "model", example(1))
    store.save(tmp_path / "model", example(2))
    assert store.load(tmp_path / "model").config == {"seed": 2}
    assert len(list((tmp_path / "model").iterdir())) == 2
    store.save(tmp_path / "model", example(2))
    assert store.load(tmp_path / "model").config == {"seed": 2}


def test_a_failed_save_leaves_the_old_model(tmp_path, monkeypatch):
    store.save(tmp_path / "model", example(1))
    real_save = np.save

    def full_disk(file, array, **options):
        if array.ndim == 2:
            raise OSError(28, "No space left on device")
        real_save(file, array, **options)

    monkeypatch.setattr(store, "write_array", full_disk)
    with pytest.raises(TreetopError, match="No space left on device") as caught:
        store.save(tmp_path / "model", example(2))
    assert caught.value.exit_code == 1
    with pytest.raises(TreetopError, match=r"cannot be written \(.*\); "):
        store.save(tmp_path / "new", example(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert store.load(tmp_path / "model").config == {"seed": 1}
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_a_kill_before_the_manifest_leaves_the_old_model(tmp_path, monkeypatch):
    store.save(tmp_path / "model", example(1))

    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dumps", killed)
    with pytest.raises(KeyboardInterrupt):
        store.save(tmp_path / "model", example(2))
    monkeypatch.undo()
    assert store.load(tmp_path / "model").config == {"seed": 1}
    store.save(tmp_path / "model", example(3))
    assert store.load(tmp_path / "model").config == {"seed": 3}
    assert len(list((tmp_path / "model").iterdir())) == 2


def save_often(folder, value):
    for _ in range(15):
        store.save(folder, example(value))


@pytest.mark.skipif(sys.platform == "win32", reason="without locks, the other save may still be going on")
def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / f"{store.TEMPORARY}killed"
    left.mkdir()
    (left / "a.npy").write_bytes(b"half")
    store.save(tmp_path / "model", example())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.process
def test_saves_at_the_same_time_leave_one_whole_model(tmp_path):
    processes = [
        multiprocessing.get_context("spawn").Process(target=save_often, args=(tmp_path / "model", value))
        for value in (1, 2)
    ]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        if (tmp_path / "model").exists():
            assert store.load(tmp_path / "model").config in ({"seed": 1}, {"seed": 2})
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_other_folders_are_not_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="not a model folder"):
        store.save(tmp_path, example())
    with pytest.raises(ModelError, match="not a model folder"):
        store.save(tmp_path / "thesis.txt", example())
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def array_file(model, name):
    return model / store.read_manifest(model)["arrays"][name]["file"]


def test_damage_is_named(tmp_path):
    model = tmp_path / "model"
    store.save(model, example())
    path = array_file(model, "a.weights")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\x07")
    with pytest.raises(ModelError, match=r"a\.weights\.npy is damaged \(its checksum"):
        store.load(model)
    store.load(model, verify=False)
    path.write_bytes(content[:20])
    with pytest.raises(ModelError, match=r"a\.weights\.npy is damaged"):
        store.load(model, verify=False)
    path.unlink()
    with pytest.raises(ModelError, match=r"a\.weights\.npy is missing"):
        store.load(model)


def test_pickled_arrays_are_refused(tmp_path):
    model = tmp_path / "model"
    store.save(model, example())
    np.save(array_file(model, "b"), np.array([{"evil": 1}], dtype=object))
    with pytest.raises(ModelError, match="damaged"):
        store.load(model, verify=False)


def edit_manifest(model, **changes):
    path = model / store.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_other_versions_say_so(tmp_path):
    model = tmp_path / "model"
    store.save(model, example())
    edit_manifest(model, version=store.VERSION + 1, treetop="9.9")
    with pytest.raises(ModelError, match=r"newer than this treetop's .*9\.9.*upgrade"):
        store.load(model)
    edit_manifest(model, version=0)
    with pytest.raises(ModelError, match="older"):
        store.load(model)


def test_wrong_folders_and_manifests(tmp_path):
    with pytest.raises(ModelError, match="no such folder"):
        store.load(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"no manifest\.json"):
        store.load(tmp_path)
    whole = {"format": "treetop-model", "version": store.VERSION, "treetop": "0", "method": "m"}
    whole |= {"config": {}, "data": {}}
    broken = [json.dumps(whole | change) for change in ({"version": "x"}, {"arrays": []}, {"data": None})]
    for text in ("{", "[]", '{"format": "cake", "version": 2}', '{"format": "treetop-model"}', *broken):
        (tmp_path / store.MANIFEST).write_text(text)
        with pytest.raises(ModelError, match="not a model manifest"):
            store.load(tmp_path)
    (tmp_path / store.MANIFEST).write_text(json.dumps(whole | {"arrays": {"b": {"file": "x"}}}))
    with pytest.raises(ModelError, match="no file or checksum recorded for b"):
        store.load(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_called_so():
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("wb") as file:
        write_array(file, np.zeros(100_000))


def test_arrays_outside_the_folder_are_refused(tmp_path):
    model = tmp_path / "model"
    store.save(model, example())
    arrays = store.read_manifest(model)["arrays"]
    arrays["b"]["file"] = "../../etc/passwd"
    edit_manifest(model, arrays=arrays)
    with pytest.raises(ModelError, match="outside"):
        store.load(model)


def test_saving_the_same_model_again_mends_damaged_files(tmp_path):
    store.save(tmp_path / "model", example())
    array = next((tmp_path / "model").glob("arrays-*/b.npy"))
    array.write_bytes(array.read_bytes()[:-1])
    store.save(tmp_path / "model", example())
    assert store.load(tmp_path / "model").arrays["b"].tolist() == [[1]]
    assert len(list((tmp_path / "model").iterdir())) == 2


@pytest.mark.parametrize("arrays", [[], {"b": {}}, {"b": None}, {"b": {"file": 3, "checksum": 3}}])
def test_a_manifest_with_a_broken_list_of_arrays(tmp_path, arrays):
    store.save(tmp_path / "model", example())
    edit_manifest(tmp_path / "model", arrays=arrays)
    with pytest.raises(ModelError):
        store.load(tmp_path / "model")
