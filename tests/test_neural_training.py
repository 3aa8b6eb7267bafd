"""The training loop: it learns, stops, averages, resumes, shares work, and fails with a sentence."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from treetop import Dataset, checkpoints
from treetop.errors import ConfigError, DataError, TreetopError
from treetop.methods.kim_cnn import KimCNN
from treetop.neural import clipping
from treetop.neural.device import chosen_device
from treetop.neural.text_cnn import TextCNN
from treetop.neural.training import Training

QUICK = {
    "filters": 12, "filter_sizes": (2,), "dimension": 12, "spread": 1, "batch_size": 16,
    "learning_rate": 0.01, "threads": 1, "device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(120, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


def fitted(train, **settings) -> KimCNN:
    extra = {name: settings.pop(name) for name in ("validation_set",) if name in settings}
    model = KimCNN(**(QUICK | {"epochs": 3} | settings))
    return model.fit(train, validation=extra["validation_set"]) if extra else model.fit(train)


def weights(model: KimCNN) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.network.state_dict().items()}


def equal(a: KimCNN, b: KimCNN) -> bool:
    return all(torch.equal(weights(a)[name], value) for name, value in weights(b).items())


def test_a_tiny_set_is_learned_by_heart():
    texts, labels = topic_texts(30, seed=3)
    data = Dataset.from_texts(texts, labels)
    for name in ("kim-cnn", "kim-cnn-softmax", "xml-cnn", "xml-cnn-impl", "cnn-baseline"):
        model = treetop.make(name, **QUICK, epochs=60, max_length=12, dropout=0, embedding_dropout=0)
        assert model.fit(data).evaluate(data)["P@1"] == 100, name


def test_the_log_tells_of_every_epoch(train, tmp_path):
    model = fitted(train, epochs=2)
    assert [entry["epoch"] for entry in model.training_log["epochs"]] == [1, 2]
    assert model.training_log["epochs"][1]["loss"] < model.training_log["epochs"][0]["loss"]
    model.save(tmp_path / "model")
    assert treetop.load(tmp_path / "model").training_log == model.training_log
    with checkpoints.keeping(tmp_path / "kept", resume=False):
        fitted(train, epochs=2)
        lines = (tmp_path / "kept" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2]


def test_the_log_has_the_share_of_clipped_steps(train, tmp_path, run, monkeypatch):
    assert "clipped" not in fitted(train).training_log
    norms, clip = [], clipping.Clipping.clip

    def watched(self, parameters):
        parameters = list(parameters)
        norms.append(float(torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in parameters]))))
        clip(self, parameters)

    monkeypatch.setattr(clipping.Clipping, "clip", watched)
    fitted(train, clip=1e9)
    limit = sorted(norms)[len(norms) // 3]  # exceeded in about two thirds of the steps
    norms.clear()
    model = fitted(train, clip=limit)
    per_epoch = np.array(norms).reshape(3, 8) > limit
    assert 0 < per_epoch.mean() < 1
    assert [entry["clipped"] for entry in model.training_log["epochs"]] == per_epoch.mean(1).tolist()
    assert model.training_log["clipped"] == per_epoch.mean()
    model.save(tmp_path / "model")
    shown = " ".join(run("info", tmp_path / "model").out.split())
    assert f"gradients clipped in {per_epoch.mean():.0%} of the steps" in shown


def test_dropout_ends_after_the_first_steps_of_an_epoch(train, monkeypatch):
    modes, backward = [], Training._backward

    def watched(self, batch, of):
        modes.append({module.training for module in self.network.modules()})
        return backward(self, batch, of)

    monkeypatch.setattr(Training, "_backward", watched)
    fitted(train, dropout_steps=3)
    assert modes == [*[{True}] * 3, *[{False}] * 5] * 3
    modes.clear()
    fitted(train)
    assert modes == [{True}] * 24


def test_micro_batches_add_up_to_the_batch(train):
    whole = fitted(train, embedding_dropout=0, dropout=0, optimizer="sgd")
    parts = fitted(train, embedding_dropout=0, dropout=0, optimizer="sgd", micro_batch=5)
    for name, value in weights(whole).items():
        torch.testing.assert_close(weights(parts)[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam"},
        {"optimizer": "sgd", "learning_rate": 0.03},
        {"schedule": "cosine", "warmup": 0.1, "clip": 1.0, "weight_decay": 0.01},
        {"schedule": "cosine-ends", "warmup": 0.1, "beta1_cycle": (0.95, 0.85)},
        {"adaptive_clip": True},
        {"average": "swa"},
        {"average": "swa", "average_every": 7},
        {"average": "ema", "ema_decay": 0.9},
        {"precision": "bf16"},
        {"label_weights": "propensity"},
        {"loss": "squared-hinge"},
        {"rates": "head=0.02,words=0.005", "decays": "head=0.01", "weight_decay": 0.001},
        {"unknown": "drop", "trainable": True, "deterministic": True},
    ],
)
def test_every_way_of_training_learns(train, test, settings):
    assert fitted(train, epochs=30, dropout=0.1, **settings).evaluate(test)["P@1"] > 90


def test_the_best_epoch_is_kept(train, test, monkeypatch):
    figures = iter([50.0, 80.0, 70.0, 60.0, 90.0])
    seen = []

    def validator(self, validation, data):
        seen.append(weights(self))
        return {"P@1": next(figures)}

    monkeypatch.setattr(KimCNN, "_validator", lambda *arguments: lambda: validator(*arguments))
    model = fitted(train, epochs=5, patience=2, validation_set=test)
    assert len(seen) == 4 and model.training_log["best_epoch"] == 2  # epochs 3 and 4 were not better
    assert all(torch.equal(seen[1][name], value) for name, value in weights(model).items())


def test_examples_are_held_out_for_validation(train):
    model = fitted(train, validation=0.25, metric="nDCG@3")
    assert {"P@1", "nDCG@3"} <= model.training_log["epochs"][0].keys()
    assert model.statistics["examples"] == len(train)
    with pytest.raises(ConfigError, match="patience needs held-out examples"):
        fitted(train, patience=3)


class KilledError(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"save_every": 0}, 11),
        ({}, 19),
        ({"average": "ema", "schedule": "linear", "save_every": 0}, 13),
        ({"average": "swa", "average_from": 0.3, "average_every": 3, "save_every": 0}, 21),
        ({"adaptive_clip": True, "save_every": 0}, 11),
        ({"beta1_cycle": (0.95, 0.5), "schedule": "cosine-ends", "warmup": 0.4, "save_every": 0}, 11),
        ({"dropout_steps": 5, "clip": 0.3, "save_every": 0}, 15),
    ],
)
def test_a_killed_training_ends_the_same_when_it_is_resumed(
    train, test, tmp_path, monkeypatch, settings, steps
):
    monkeypatch.setattr(clipping, "TIMES_THE_LARGEST", 0.5)  # so that most gradients are cut
    settings = {"validation_set": test, "epochs": 4} | settings
    wanted = fitted(train, **settings)
    moves = []
    move = Training._optimizer_step

    def dying(self):
        moves.append(1)
        if len(moves) == steps:
            raise KilledError
        move(self)

    monkeypatch.setattr(Training, "_optimizer_step", dying)
    with pytest.raises(KilledError), checkpoints.keeping(tmp_path / "kept", resume=True):
        fitted(train, **settings)
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        resumed = fitted(train, **settings)
    assert len(moves) < 2 * 4 * 8  # it did not begin again
    assert equal(resumed, wanted)
    for ours, theirs in zip(resumed.training_log["epochs"], wanted.training_log["epochs"], strict=True):
        assert all(ours.get(name) == theirs.get(name) for name in ("loss", "clipped"))
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("rows", "settings"),
    [(100, {}), (120, {"seed": 1}), (120, {"epochs": 4}), (120, {"validation_set": slice(20, 120)})],
)
def test_a_state_of_other_data_or_settings_is_not_used(train, tmp_path, monkeypatch, rows, settings):
    settings = {"validation_set": slice(30)} | settings
    monkeypatch.setattr(Training, "_restore_best", lambda self: (_ for _ in ()).throw(KilledError))
    with pytest.raises(KilledError), checkpoints.keeping(tmp_path / "kept", resume=True):
        fitted(train, validation_set=train[:30])
    monkeypatch.undo()
    settings["validation_set"] = train[settings["validation_set"]]
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        resumed = fitted(train[:rows], **settings)
    anew = fitted(train[:rows], **settings)
    assert equal(resumed, anew)
    for ours, theirs in zip(resumed.training_log["epochs"], anew.training_log["epochs"], strict=True):
        assert ours["P@5"] == theirs["P@5"]


def write_jsonl(path, data: Dataset) -> None:
    with path.open("w") as file:
        for row in range(len(data)):
            file.write(json.dumps({"text": data.texts[row], "labels": data.labels_of(row)}) + "\n")


def train_arguments(folder, **settings) -> list[str]:
    quick = {**QUICK, "filter_sizes": 2, "max_length": 20} | settings
    pairs = [item for name, value in quick.items() for item in ("--set", f"{name}={value}")]
    model = ("--method", "kim-cnn", "--model", str(folder / "model"))
    return ["train", str(folder / "train.jsonl"), *model, *pairs]


@pytest.mark.process
def test_a_process_that_is_killed_ends_the_same_when_it_is_resumed(train, tmp_path, run):
    write_jsonl(tmp_path / "train.jsonl", train)
    arguments = train_arguments(tmp_path, epochs=12, save_every=0)
    process = subprocess.Popen([sys.executable, "-m", "treetop", *arguments], stderr=subprocess.DEVNULL)
    unfinished = tmp_path / "model.unfinished"
    until = time.monotonic() + 120
    while not list(unfinished.glob("network-*")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "model").exists()
    assert max(int(state.suffix[1:]) for state in unfinished.glob("network-*.*")) < 12 * 8
    done = run(*arguments, "--resume", quiet=False)
    assert done.code == 0 and ", resumed after " in done.err and "starts from scratch" not in done.err
    assert not unfinished.exists()
    resumed = treetop.load(tmp_path / "model")
    assert run(*arguments).code == 0
    assert equal(resumed, treetop.load(tmp_path / "model"))


def test_memory_that_runs_out_halves_the_micro_batch(train, monkeypatch):
    sizes = []
    backward = Training._backward

    def hungry(self, batch, of):
        sizes.append(len(batch))
        if len(batch) > 4:
            raise torch.OutOfMemoryError
        return backward(self, batch, of)

    monkeypatch.setattr(Training, "_backward", hungry)
    wanted = fitted(train, micro_batch=4, optimizer="sgd", embedding_dropout=0, dropout=0)
    sizes.clear()
    model = fitted(train, optimizer="sgd", embedding_dropout=0, dropout=0)
    assert sizes[:3] == [16, 8, 4] and max(sizes[3:]) == 4
    assert equal(model, wanted)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**30, 2**34))
    with pytest.raises(TreetopError, match=r"ran out of memory .* lower micro_batch, max_length"):
        fitted(train, micro_batch=8)


def test_memory_of_the_processor_that_runs_out_is_told(train, monkeypatch):
    def hungry(self, batch):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")

    monkeypatch.setattr(TextCNN, "encode", hungry)
    with pytest.raises(TreetopError, match="not enough memory: lower batch_size"):
        fitted(train)


def test_memory_that_runs_out_halves_the_batches_of_a_prediction(train, test, monkeypatch):
    model = fitted(train)
    wanted = model.predict(test, k=3).scores
    top, sizes = TextCNN.top, []

    def hungry(self, batch, k):
        sizes.append(len(batch))
        if len(batch) > room:
            raise torch.OutOfMemoryError
        return top(self, batch, k)

    monkeypatch.setattr(TextCNN, "top", hungry)
    room = 10
    np.testing.assert_allclose(model.predict(test, k=3).scores, wanted, rtol=1e-5)
    assert sizes[:4] == [40, 32, 16, 8]
    room = 0
    with pytest.raises(TreetopError, match="not enough memory"):
        model.predict(test, k=3)


def test_a_process_takes_the_gpu_of_its_number(monkeypatch):
    monkeypatch.setattr(torch, "zeros", lambda *shape, device: None)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert chosen_device("cuda") == torch.device("cuda", 3)
    assert chosen_device("cuda:1") == torch.device("cuda", 1)


def test_a_loss_that_explodes_is_told(train):
    with pytest.raises(TreetopError, match="lower learning_rate"):
        fitted(train, learning_rate=1e30, optimizer="sgd")


def test_features_and_devices_that_do_not_fit(train):
    X = np.eye(3, dtype=np.float32)
    with pytest.raises(DataError, match="kim-cnn needs texts"):
        KimCNN(**QUICK).fit(Dataset.from_matrices(X, X))
    for name in ("abacus", "meta"):
        with pytest.raises(ConfigError, match=f"device '{name}' cannot be used"):
            fitted(train, device=name)
    with pytest.raises(ConfigError, match="fp16 needs a GPU"):
        fitted(train, precision="fp16", device="cpu")


def test_without_torch(tmp_path):
    """Everything linear works, and a network says what to install."""
    code = (
        "import sys; sys.modules['torch'] = None; import treetop\n"
        "treetop.XRLinear().fit(['bread', 'sail'], ['baking', 'sailing']).predict('bread')\n"
        "try: treetop.make('xml-cnn')\n"
        "except treetop.errors.MissingExtraError as error: print(error)\n"
        "try: treetop.XMLCNN\n"
        "except treetop.errors.MissingExtraError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import treetop.errors;" + code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == [
        f"{name} needs an extra that is not installed: pip install 'treetop-xmc[neural]'"
        for name in ("xml-cnn", "XMLCNN")
    ]


def test_info_tells_of_the_network(train, tmp_path, run):
    model = fitted(train, epochs=2)
    model.save(tmp_path / "model")
    shown = run("info", tmp_path / "model").out
    assert f"(words {12 * len(model.reader.words):,}, filters 300, head 78)" in " ".join(shown.split())
    assert "2 epochs, best epoch 2" in " ".join(shown.split())


def test_tensorboard(train, tmp_path):
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match="pip install tensorboard"):
            fitted(train, tensorboard=str(tmp_path / "board"))
    else:
        fitted(train, tensorboard=str(tmp_path / "board"))
        assert list((tmp_path / "board").glob("events*"))
