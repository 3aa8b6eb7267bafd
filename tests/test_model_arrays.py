"""Models whose arrays do not match each other, although their checksums do: see `model_edits`.

`bench/attacks/model_arrays.py` tries many more.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import model_edits
import treetop
from commands import call
from treetop import Strings, checkpoints, store
from treetop.errors import ModelError
from treetop.features import Tfidf, TfidfConfig
from treetop.methods import METHODS, Method, method_class
from treetop.model_arrays import Numbers, checked, whole_number
from treetop.serve.card import card_of
from treetop.tree import TreeConfig
from treetop.tree.building import build_tree

ARCHIVES = sorted((Path(__file__).parent / "stored_models").glob("*.zip"))
TEXT = "the flour and boat and oven"
OVERFLOW = [0, 2**63 - 1, -(2**63), -1]
"""Differences of neighbours overflow to positive numbers."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The content of a stored model, by the name of its archive."""
    place = tmp_path_factory.mktemp("stored")

    def opened(name: str) -> store.Stored:
        with zipfile.ZipFile(ARCHIVES[0].with_name(f"{name}.zip")) as archive:
            archive.extractall(place / name)
        return store.load(place / name / "model", verify=False)

    return opened


def load(stored: store.Stored, **arrays: np.ndarray) -> Method:
    changed = dataclasses.replace(stored, arrays=dict(stored.arrays) | arrays)
    return method_class(stored.method).from_stored(changed, "m")


def random_edits(tmp_path, archives, tries, seed=0):
    result = model_edits.attack(tmp_path, archives, seed=seed, tries=tries)
    assert result.tried == tries
    assert not result.failures, result.failures[0]
    kinds = [answer == "an answer" for _, answer in result.answers]
    assert any(kinds) and not all(kinds)


def test_random_edits_of_linear_models(tmp_path):
    networks = ("cnn", "light", "cascade", "attention", "transformer")
    linear = [path for path in ARCHIVES if not any(name in path.stem for name in networks)]
    random_edits(tmp_path, linear + model_edits.save_others(tmp_path), 30)


@pytest.mark.slow
def test_random_edits_of_all_models(tmp_path):
    methods = {json.loads(zipfile.ZipFile(path).read("model/manifest.json"))["method"] for path in ARCHIVES}
    assert methods == set(METHODS)
    random_edits(tmp_path, ARCHIVES, 30)


def test_what_an_array_must_be():
    good = np.array([0, 2, 5])
    assert checked({"a": good}, {"a": Numbers(np.int64, 3, end=5, least=0, most=5)})["a"] is good
    for numbers, words in {
        Numbers(np.int32): "must be a list of int32",
        Numbers(np.int64, 4, "labels"): "has 3 entries, not 4, one for each of the labels",
        Numbers(np.int64, end=6): "does not lead from 0 to 6",
        Numbers(np.int64, least=1): "has numbers below 1",
        Numbers(np.int64, most=4): "has numbers above 4",
    }.items():
        with pytest.raises(ModelError, match=f"the array a {words}"):
            checked({"a": good}, {"a": numbers})
    for array, numbers, words in [
        (np.array([*OVERFLOW, 5]), Numbers(np.int64, end=5), "does not ascend"),
        (np.array([0, 0]), Numbers(np.int64, rising=True), "does not ascend"),
        (np.array([np.nan]), Numbers(np.float64, least=0), "has numbers below 0"),
        (np.array([np.inf]), Numbers(np.float64, finite=True), "contains NaN or infinity"),
        (np.array([]), Numbers(np.float64, filled=True), "has no entries"),
        (np.array(3), Numbers(np.int64), "must be a list of int64"),
    ]:
        with pytest.raises(ModelError, match=words):
            checked({"a": array}, {"a": numbers})
    for array in (np.array([-1]), np.array([2**31]), np.array([1.0]), np.array([1, 2]), np.array(1)):
        with pytest.raises(ModelError, match="must be one whole number from 0 to 2,147,483,647"):
            whole_number({"a": array}, "a")
    with pytest.raises(ModelError, match="the array a is missing"):
        whole_number({}, "a")


def test_arrays_that_do_not_begin_at_a_multiple_of_their_size(tmp_path):
    texts = treetop.Dataset.from_texts(["red apple", "blue sea"], [["fruit"], ["water"]])
    model = treetop.Hybrid(threads=1, weight=0.5).fit(texts)
    model.save(tmp_path / "m")
    path = tmp_path / "m" / store.MANIFEST
    manifest = json.loads(path.read_text())
    for name in manifest["arrays"]:
        model_edits._misalign(tmp_path / "m", name, manifest["arrays"])
    path.write_text(json.dumps(manifest))
    assert not store.load(tmp_path / "m").arrays["model.norms"].flags.aligned
    loaded = treetop.load(tmp_path / "m")
    assert loaded.predict("apple sea").scores.tolist() == model.predict("apple sea").scores.tolist()


def test_pointers_whose_differences_overflow(stored):
    model = stored("xr-linear")
    for name in ("labels.offsets", "model.member0.tree.offsets.0"):
        end = int(model.arrays[name][-1])
        with pytest.raises(
            ModelError, match=name.rpartition(".")[0] if "tree" not in name else r"member0\.tree"
        ):
            load(model, **{name: np.array([*OVERFLOW, end])})


def test_one_label_text_for_each_label(stored):
    model = stored("xr-linear")
    texts = {f"label_texts.{part}": array for part, array in Strings.of(["a", "b"]).state().items()}
    with pytest.raises(ModelError, match="the model has 2 label texts, but the labels are 6"):
        load(model, **texts)


@pytest.mark.parametrize("name", ["xr-transformer", "x-transformer", "lightxml"])
def test_the_features_of_joined_rankers(stored, name):
    model = stored(name)
    (width,) = (each for each in model.arrays if each.endswith("n_features"))
    with pytest.raises(ModelError, match="features in its rankers, but its texts have"):
        load(model, **{width: model.arrays[width] + 1})


def test_a_curve_without_knots(stored):
    nothing = {f"model.stack.curve0.{part}": np.zeros(0) for part in ("knots", "values")}
    with pytest.raises(ModelError, match=r"model\.stack\.curve0\.knots has no entries"):
        load(stored("ensemble-stacked"), **nothing)


def test_kept_examples_with_fewer_values_than_ids(stored):
    model = stored("xr-linear-kept")
    with pytest.raises(ModelError, match=r"model\.data\.X\.data has .* one for each of the entries"):
        load(model, **{"model.data.X.data": model.arrays["model.data.X.data"][:-1]})
    model = load(model, **{"model.data.X.data": model.arrays["model.data.X.data"] * np.nan})
    with pytest.raises(ModelError, match="stored in the model are damaged"):
        model.update(treetop.Dataset.from_texts([TEXT], [["baking"]]))


@pytest.mark.parametrize(
    ("name", "part", "field"), [("kim-cnn", "words", "dimension"), ("xml-cnn", None, "hidden")]
)
def test_settings_that_ask_for_more_than_the_weights(stored, name, part, field):
    model = stored(name)
    config = json.loads(json.dumps(model.config))
    for size, words in (
        (10**9, "the network cannot be built"),
        (5 * 10**6, "too large for its stored weights"),
    ):
        (config if part is None else config[part])[field] = size
        with pytest.raises(ModelError, match=words):
            load(dataclasses.replace(model, config=config))


def test_a_vocabulary_that_repeats_a_long_word():
    long, terms, none = 200_000, 1024, 2**32 - 1
    grams = np.full((terms, 3), none, np.uint32)
    grams[:, 1], grams[:, 2] = 0, np.arange(terms)
    arrays = {
        "word_bytes": np.full(long, ord("a"), np.uint8),
        "word_offsets": np.array([0, long]),
        "word_slots": np.zeros(2, np.uint64),
        "word_nodes": np.array([none], np.uint32),
        "gram_slots": grams.reshape(-1),
        "idf": np.ones(terms, np.float32),
    }
    with pytest.raises(ModelError, match="its terms are too long"):
        _ = Tfidf.from_state(TfidfConfig(), arrays).vocabulary


def edited_tokenizer(model: store.Stored, edit) -> Method:
    name = "model.tokens.tokenizer"
    content = json.loads(model.arrays[name].tobytes())
    inner = json.loads(content["tokenizer"])
    edit(inner)
    content["tokenizer"] = json.dumps(inner)
    return load(model, **{name: np.frombuffer(json.dumps(content).encode(), np.uint8)})


def test_a_tokenizer_and_an_encoder_that_do_not_match(stored, capfd):
    model = stored("flat-transformer")

    def strange(tokenizer):
        tokenizer["model"]["vocab"] |= dict.fromkeys(tokenizer["model"]["vocab"], 10**9)

    with pytest.raises(ModelError, match="number of a word piece of the model is"):
        edited_tokenizer(model, strange).predict(TEXT)

    def without_start(tokenizer):
        tokenizer["post_processor"]["special_tokens"].pop("[CLS]")

    with pytest.raises(ModelError, match=r"the tokenizer cannot read|is damaged"):
        edited_tokenizer(model, without_start).predict(TEXT)
    longer = dataclasses.replace(model, config=model.config | {"max_length": 10**6})
    with pytest.raises(ModelError, match="max_length of the model is 1,000,000, not 0 to"):
        load(longer)


def test_a_shape_that_can_be_built_but_not_run(stored):
    model = stored("flat-transformer")
    described = json.loads(model.arrays["model.encoder.config"].tobytes())
    described["config"]["type_vocab_size"] = 0
    name = next(each for each in model.arrays if each.endswith("token_type_embeddings.weight"))
    arrays = {
        "model.encoder.config": np.frombuffer(json.dumps(described).encode(), np.uint8),
        name: model.arrays[name][:0],
    }
    with pytest.raises(
        ModelError, match=r"the network cannot read the texts|the encoder of the model is damaged"
    ):
        load(model, **arrays).predict(TEXT)


ODD_STATISTICS = {
    "labels": 7, "labels_used": -1, "examples": float("nan"), "labels_per_example": float("inf"), "source": 3,
    "features": "many", "recipe": [], "spent": {"seconds": float("nan")}, "updates": [],
    "training": {"parameters": {"x": "y"}}, "calibration": {"kind": "isotonic"},
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_STATISTICS)
def test_odd_statistics(stored, name):
    model = stored("xr-linear")
    with pytest.raises(ModelError, match=r"the manifest has no valid|its manifest says 7"):
        load(dataclasses.replace(model, data=model.data | {name: ODD_STATISTICS[name]}))


@pytest.mark.parametrize("odd", ["\ud800", 10**30, "nested"])
@pytest.mark.parametrize("place", ["config", "data"])
def test_a_manifest_that_nobody_could_show(stored, tmp_path, capsys, odd, place):
    model = stored("xr-linear")
    if odd == "nested":
        odd = None
        for _ in range(100):
            odd = [odd]
    store.save(tmp_path / "m", model)
    path = tmp_path / "m" / store.MANIFEST
    manifest = json.loads(path.read_text())
    manifest[place]["odd"] = odd
    path.write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="it is not a model manifest"):
        treetop.load(tmp_path / "m")
    call(capsys, "info", tmp_path / "m").sentence(2, "it is not a model manifest")


def test_the_log_of_a_training_that_diverged_can_be_shown(stored, tmp_path, capsys):
    model = stored("kim-cnn")
    training = model.data["training"] | {"epochs": [{"loss": float("nan"), "rate": float("inf")}]}
    data = model.data | {"training": training, "source": "bad name \udcff"}
    store.save(tmp_path / "m", dataclasses.replace(model, data=data))
    assert call(capsys, "info", tmp_path / "m").code == 0
    served = SimpleNamespace(name="m", version="v", model=treetop.load(tmp_path / "m"), folder=tmp_path)
    card = json.dumps(card_of(served), allow_nan=False)
    assert json.loads(card)["data"]["training"]["epochs"] == [{"loss": None, "rate": None}]


def test_finished_pieces_that_do_not_match_count_as_absent(tmp_path):
    rng = np.random.default_rng(0)
    from scipy import sparse

    vectors = sparse.random(30, 20, 0.5, format="csr", dtype=np.float32, random_state=rng)
    settings = {"config": TreeConfig(leaf_size=4, branching=2), "seed": 0, "threads": 1}
    with pytest.raises(KeyboardInterrupt), checkpoints.keeping(tmp_path / "c", resume=False):
        made = build_tree(vectors, **settings)
        raise KeyboardInterrupt
    (piece,) = (path for path in (tmp_path / "c").iterdir() if path.is_dir())
    for labels in (made.labels + 7, made.labels[::-1][:-1], made.labels.astype(np.int64)):
        with checkpoints.keeping(tmp_path / "c", resume=True):
            checkpoints.keep(piece.name, made.state() | {"labels": labels})
            again = build_tree(vectors, **settings)
        assert np.array_equal(again.labels, made.labels)
