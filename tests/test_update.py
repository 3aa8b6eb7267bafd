"""Growing a trained model: touched classifiers as trained from scratch, the others bit for bit as before."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import treetop
from conftest import planted
from treetop import Dataset, LabelTree, Strings, store
from treetop.errors import ConfigError, DataError, ModelError
from treetop.linear import LinearConfig, TreeModel
from treetop.linear.level_weights import LevelWeights
from treetop.linear.splice import places_of, spliced
from treetop.linear.update import UpdateConfig, updated
from treetop.tree import TreeConfig, trees_of
from treetop.tree.growth import nearest_clusters, with_labels
from treetop.tree.label_vectors import used_vectors

TIGHT = LinearConfig(tolerance=1e-8, max_passes=10_000, threshold=0.0, weight_bits=32)
ALL = UpdateConfig(new_positives=0, new_examples=0)
SMALL = {"leaf_size": 5, "branching": 2}


def grown_tree(tree: LabelTree, X, Y) -> LabelTree:
    config = TreeConfig()
    used, vectors = used_vectors(X, Y, config, threads=1)
    new = np.setdiff1d(used, tree.labels)
    return with_labels(tree, new, nearest_clusters(tree, new, used, vectors)) if len(new) else tree


def weights_of(model: TreeModel) -> list[np.ndarray]:
    return [level.to_csr(model.n_features).toarray() for level in model.levels]


def same_arrays(a: LevelWeights, b: LevelWeights) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.TYPES)


def split_by_label(X, Y, labels):
    """Rows without any of ``labels``, then the others."""
    has = np.asarray(Y[:, labels].sum(axis=1)).ravel() > 0
    order = np.append(np.flatnonzero(~has), np.flatnonzero(has))
    return X[order], Y[order], int((~has).sum())


# -- the tree ---------------------------------------------------------------------------------------------


def test_new_labels_come_last_in_their_cluster():
    tree = LabelTree((np.array([0, 2]), np.array([0, 2, 5])), np.array([4, 0, 2, 1, 3], np.int32))
    grown = with_labels(tree, np.array([6, 5, 8]), np.array([1, 0, 1]))
    assert grown.labels.tolist() == [4, 0, 5, 2, 1, 3, 6, 8]
    assert [offsets.tolist() for offsets in grown.offsets] == [[0, 2], [0, 3, 8]]
    assert places_of(tree.offsets[-1], grown.offsets[-1]).tolist() == [0, 1, 3, 4, 5]
    flat = with_labels(LabelTree.flat(np.arange(2, dtype=np.int32)), np.array([2]), np.array([0]))
    assert flat.labels.tolist() == [0, 1, 2] and flat.sizes == [3]


@pytest.mark.parametrize("block", [2, 1024])
def test_new_labels_go_to_the_most_similar_cluster(monkeypatch, block):
    monkeypatch.setattr("treetop.tree.growth.BLOCK", block)
    tree = LabelTree((np.array([0, 2]), np.array([0, 2, 3])), np.array([0, 1, 4], np.int32))
    vectors = sparse.csr_matrix(
        [
            [1, 0, 0],  # label 0
            [0.6, 0.8, 0],  # 1
            [0, 0.6, 0.8],  # 3, new: cosine 0.48/1.79 and 0.8 to the two centres
            [0, 0, 1],  # 4
            [0.8, 0.6, 0],  # 5, new
            [0, 0, 0],  # 6, new, and like nothing
        ],
        dtype=np.float32,
    )
    labels = np.array([0, 1, 3, 4, 5, 6])
    assert nearest_clusters(tree, np.array([3, 5, 6]), labels, vectors).tolist() == [1, 0, 1]


# -- one tree model ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"costs": "all"}, {"negatives": "tfn+man"}, {"loss": "logistic"}])
def test_solved_again_is_trained_from_scratch(settings):
    """With limits of 0 every classifier that sees a new example equals that of a new training."""
    X, Y = planted(200, 20, 60, seed=1)
    X, Y, known = split_by_label(X, Y, [3, 11])
    config = TIGHT.replace_settings(settings)
    (tree,) = trees_of(X[:known], Y[:known], TreeConfig(**SMALL), seeds=[0], threads=1)
    assert tree.depth == 3 and len(tree.labels) == 18
    old = TreeModel.fit(X[:known], Y[:known], tree, config)
    larger = grown_tree(tree, X, Y)
    new = updated(old, larger, X, Y, known, ALL, threads=2)
    scratch = TreeModel.fit(X, Y, larger, config)
    untouched = 0
    for number, (got, expected) in enumerate(zip(weights_of(new), weights_of(scratch), strict=True)):
        np.testing.assert_allclose(got, expected, atol=2e-4)
        places = places_of(tree.offsets[number], larger.offsets[number])
        before = weights_of(old)[number]
        untouched += int((got[places] == before).all(axis=1).sum())
    if settings.get("negatives") is None:
        assert untouched < 5  # all examples of the new labels have old labels too
    np.testing.assert_allclose(new.rank(X, 3)[2], scratch.rank(X, 3)[2], atol=2e-3)


@pytest.mark.parametrize("bits", [8, 32])
def test_everything_solved_again_is_the_same_bit_for_bit(bits):
    X, Y = planted(200, 20, 60, seed=1)
    (tree,) = trees_of(X, Y, TreeConfig(**SMALL), seeds=[0], threads=1)
    config = LinearConfig(weight_bits=bits)
    new = updated(TreeModel.fit(X[:90], Y[:90], tree, config), tree, X, Y, 90, ALL, threads=2)
    scratch = TreeModel.fit(X, Y, tree, config)
    for a, b in zip(new.levels, scratch.levels, strict=True):
        assert same_arrays(a, b)


@pytest.mark.parametrize("bits", [8, 32])
def test_untouched_classifiers_keep_their_weights(bits):
    """New examples of two labels in one cluster, which the limits let touch nothing else."""
    X, Y = planted(300, 30, 80, seed=2)
    (tree,) = trees_of(X, Y, TreeConfig(**SMALL), seeds=[0], threads=1)
    old = TreeModel.fit(X, Y, tree, LinearConfig(weight_bits=bits))
    chosen = tree.members(tree.depth - 2, 1)[:2].tolist()
    rng = np.random.default_rng(0)
    more_X = X[rng.integers(0, 300, 12)]
    more_Y = sparse.csr_matrix((np.ones(12), (np.arange(12), np.repeat(chosen, 6))), shape=(12, 30))
    all_X, all_Y = sparse.vstack([X, more_X]).tocsr(), sparse.vstack([Y, more_Y]).tocsr()
    new = updated(old, tree, all_X, all_Y, 300, UpdateConfig(new_positives=0.2, new_examples=10))
    kept = [same_arrays(a, b) for a, b in zip(new.levels, old.levels, strict=True)]
    assert kept == [True] * (tree.depth - 1) + [False]
    touched = np.isin(tree.labels, chosen)
    before, after = weights_of(old)[-1], weights_of(new)[-1]
    np.testing.assert_array_equal(after[~touched], before[~touched])
    assert (after[touched] != before[touched]).any(axis=1).all()
    if bits == 8:
        np.testing.assert_array_equal(new.levels[-1].codes, old.levels[-1].codes)
    assert new.solved[-1].positives[touched].tolist() == np.diff(all_Y.tocsc().indptr)[chosen].tolist()
    assert new.solved[-1].examples[~touched].tolist() == old_examples(Y, tree)[~touched].tolist()


def old_examples(Y, tree):
    """Of every label: the examples that have a label of its cluster."""
    clusters = tree.parents(tree.depth - 1)
    counts = [
        int((Y[:, tree.members(tree.depth - 2, cluster)].sum(axis=1) > 0).sum())
        for cluster in range(tree.sizes[-2])
    ]
    return np.array(counts)[clusters]


def test_small_updates_add_up():
    """Growth counts from the last time a classifier was solved, not from the last update."""
    X, Y = planted(400, 12, 60, seed=3)
    (tree,) = trees_of(X, Y, TreeConfig(leaf_size=6, branching=2), seeds=[0], threads=1)
    limits = UpdateConfig(new_positives=0.1, new_examples=0.1)
    model = TreeModel.fit(X[:300], Y[:300], tree, LinearConfig())
    solved = []
    for known in range(300, 400, 20):
        rows = slice(0, known + 20)
        new = updated(model, tree, X[rows], Y[rows], known, limits)
        solved.append(not np.array_equal(new.levels[0].biases, model.levels[0].biases))
        model = TreeModel.from_state(new.state(), new.config, new.n_features)  # the counts are stored
    assert solved[0] is False and any(solved)
    nothing = updated(model, tree, X[:400], Y[:400], 400, limits)
    for a, b in zip(nothing.levels, model.levels, strict=True):
        assert same_arrays(a, b)


def test_an_only_child_stays_without_a_classifier():
    X, Y = planted(80, 4, 30, seed=1)
    offsets = (np.array([0, 2]), np.array([0, 1, 3]), np.array([0, 1, 2, 3]))
    tree = LabelTree(offsets, np.arange(3, dtype=np.int32))
    old_X, old_Y = X[:50], Y[:50, :3]
    old = TreeModel.fit(old_X, old_Y, tree, TIGHT)
    larger = with_labels(tree, np.array([3]), np.array([0]))
    new = updated(old, larger, X, Y, 50, ALL)
    scratch = TreeModel.fit(X, Y, larger, TIGHT)
    for got, expected in zip(weights_of(new), weights_of(scratch), strict=True):
        np.testing.assert_allclose(got, expected, atol=2e-4)
    assert (weights_of(new)[1][0] == 0).all()


def test_splicing_nothing_and_a_level_without_weights():
    X, Y = planted(60, 6, 30, seed=1)
    tree = LabelTree.flat(np.arange(6, dtype=np.int32))
    bare = TreeModel.fit(X, Y, tree, LinearConfig(threshold=1000))
    assert bare.levels[0].to_csr(30)[:, :30].nnz == 0
    assert spliced(bare.levels[0], tree.offsets[0], np.zeros(0, np.int64), ()) is bare.levels[0]
    bare.config = LinearConfig()  # its codes stand for nothing, so that new weights need others
    touched = UpdateConfig(new_positives=0, new_examples=100)
    more = sparse.csr_matrix(([1.0], ([0], [2])), shape=(1, 6))
    new = updated(bare, tree, sparse.vstack([X, X[0]]).tocsr(), sparse.vstack([Y, more]).tocsr(), 60, touched)
    assert [int((row != 0).sum()) > 5 for row in weights_of(new)[0][:, :30]] == [
        label == 2 for label in range(6)
    ]


def test_given_negatives_cannot_be_updated():
    X, Y = planted(60, 6, 30, seed=1)
    (tree,) = trees_of(X, Y, TreeConfig(leaf_size=3, branching=2), seeds=[0], threads=1)
    model = TreeModel.fit(X, Y, tree, LinearConfig(negatives=("given",)), negatives=Y)
    with pytest.raises(ConfigError, match="negatives=given cannot be updated"):
        updated(model, tree, X, Y, 60, ALL)


# -- methods ----------------------------------------------------------------------------------------------

METHODS = {
    "xr-linear": SMALL,
    "parabel": {"leaf_size": 5},
    "bonsai": {"leaf_size": 4, "branching": 3},
    "plt": {"leaf_size": 5},
    "dismec": {},
    "neighbours": {},
    "hybrid": SMALL | {"weight": 0.3},
}


def parts() -> tuple[Dataset, Dataset]:
    """Old examples of 18 labels, new ones also of two others."""
    X, Y = planted(260, 20, 60, seed=1)
    X, Y, known = split_by_label(X, Y, [3, 11])
    names = [f"label {number}" for number in range(20)]
    kept = [number for number in range(20) if number not in (3, 11)]
    old = Dataset.from_matrices(X[:known], Y[:known][:, kept], labels=[names[number] for number in kept])
    return old, Dataset.from_matrices(X[known:], Y[known:], labels=names)


def same(a: treetop.Predictions, b: treetop.Predictions) -> bool:
    return np.array_equal(a.indices, b.indices) and np.array_equal(a.scores, b.scores)


@pytest.mark.parametrize("name", METHODS)
def test_methods_learn_new_labels(name, tmp_path):
    old, new = parts()
    model = treetop.make(name, **METHODS[name]).fit(old)
    before = model.evaluate(new)
    model.update(new, old)
    assert list(model.labels) == [*old.labels, "label 3", "label 11"]
    assert model.evaluate(new)["P@1"] > before["P@1"] + 20 and model.evaluate(new)["P@1"] > 90
    facts = model.statistics
    assert facts["examples"] == len(old) + len(new) == 260 and facts["labels"] == facts["labels_used"] == 20
    assert facts["updates"] == {"times": 1, "examples": len(new), "labels": 2}
    expected = old.label_counts + new.aligned_to(old.labels).label_counts[:18]
    assert model.label_counts.tolist() == [*expected, *new.label_counts[[3, 11]]]
    model.save(tmp_path / "model")
    loaded = treetop.load(tmp_path / "model")
    assert same(loaded.predict(new.X), model.predict(new.X))
    best = model.predict(new.X[0], k=1)[0][0]
    assert model.explain(new.X[0], best.label).score == pytest.approx(best.score, rel=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_kept_data_stands_for_the_old_examples(name, tmp_path):
    old, new = parts()
    first, second = new[: len(new) // 2], new[len(new) // 2 :]
    given = treetop.make(name, **METHODS[name]).fit(old).update(first, old)
    both = Dataset.from_matrices(
        sparse.vstack([old.X, first.X]),
        sparse.vstack([old.aligned_to(given.labels).Y, first.aligned_to(given.labels).Y]),
        labels=given.labels,
    )
    given.update(second, both)
    treetop.make(name, keep_data=True, **METHODS[name]).fit(old).save(tmp_path / "model")
    kept = treetop.load(tmp_path / "model").update(first)
    kept.save(tmp_path / "model")
    kept = treetop.load(tmp_path / "model").update(second)
    assert same(kept.predict(new.X), given.predict(new.X))
    assert kept.statistics["updates"]["times"] == 2 and kept.features.kept[0].shape[0] == 260


def test_updates_do_not_depend_on_threads():
    old, new = parts()
    one, two = (treetop.make("parabel", threads=n, leaf_size=5).fit(old).update(new, old) for n in (1, 2))
    for name, array in one._state().items():
        assert array.tobytes() == two._state()[name].tobytes(), name


def test_ensembles_grow_with_their_members():
    old, new = parts()
    members = [treetop.XRLinear(**SMALL).fit(old), treetop.make("dismec", transform="sigmoid").fit(old)]
    model = treetop.Ensemble(members)
    before = members[0].predict(new.X)
    model.update(new, old)
    assert len(model.labels) == 20 and model.evaluate(new)["P@1"] > 90
    assert same(members[0].predict(new.X), before)  # the models it was made of are as they were


def test_texts_with_new_words_and_label_texts():
    texts = ["flour and oven", "oven and dough", "boat and wind", "wind and sail"] * 5
    labels = [["baking"], ["baking"], ["sailing"], ["sailing"]] * 5
    old = Dataset.from_texts(texts, labels).with_label_texts({"baking": "bread", "sailing": "boats"})
    more = ["snow and oven", "snow and wind"] * 5
    new = Dataset.from_texts(more, [["skiing"], ["skiing", "sailing"]] * 5)
    model = treetop.XRLinear(keep_data=True).fit(old).update(new)
    assert list(model.label_texts) == ["bread", "boats", "skiing"]
    assert model.features.tfidf.vocabulary.position("snow") == -1
    assert model.predict("wind and sail", k=1)[0][0].label == "sailing"
    again = treetop.XRLinear().fit(Dataset.from_texts(texts, labels)).update(new, old)
    assert same(again.predict(more), model.predict(more))


def test_calibration_stays():
    old, new = parts()
    model = treetop.XRLinear(**SMALL).fit(old).calibrate(new)
    learned = model.calibration
    assert (
        model.update(new, old).calibration is learned
        and model.statistics["calibration"]["kind"] == "isotonic"
    )


def test_limits_of_one_update():
    old, new = parts()
    few = new[:2]
    lazy = treetop.XRLinear(new_positives=100, new_examples=100, **SMALL).fit(old)
    biases = [level.biases.copy() for level in lazy.forest.models[0].levels]
    lazy.update(few, old)
    inner = lazy.forest.models[0].levels[:-1]
    assert all(np.array_equal(level.biases, bias) for level, bias in zip(inner, biases, strict=False))
    eager = treetop.XRLinear(new_positives=100, new_examples=100, **SMALL).fit(old)
    eager.update(few, old, new_positives=0, new_examples=0)
    assert not np.array_equal(eager.forest.models[0].levels[0].biases, biases[0])


def test_mistakes(tmp_path):
    old, new = parts()
    model = treetop.XRLinear(**SMALL).fit(old)
    with pytest.raises(ModelError, match="not trained"):
        treetop.XRLinear().update(new, old)
    with pytest.raises(DataError, match="needs the examples that the model was trained on"):
        model.update(new)
    with pytest.raises(DataError, match=r"has 10 examples, but the model was trained on \d+: give exactly"):
        model.update(new, old[:10])
    other = dataclasses.replace(old, Y=old.Y[::-1], labels=Strings.of(reversed(list(old.labels))))
    with pytest.raises(DataError, match="has other labels than the examples that"):
        model.update(new, other)
    with pytest.raises(DataError, match="an update takes a labelled Dataset"):
        model.update(["a text"], old)
    with pytest.raises(DataError, match="none of the 3 examples has a label"):
        model.update(Dataset.from_matrices(new.X[:3]), old)
    with pytest.raises(DataError, match="trained on features but the input has none"):
        model.update(Dataset.from_texts(["a text"], [["x"]]), old)
    with pytest.raises(DataError, match="60 features but the input has 10"):
        model.update(Dataset.from_matrices(new.X[:, :10], new.Y, labels=new.labels), old)
    with pytest.raises(ConfigError, match="an update of xr-linear has no option 'beam'"):
        model.update(new, old, beam=3)
    with pytest.raises(ConfigError, match="new_positives must be at least 0"):
        model.update(new, old, new_positives=-1)
    assert len(model.labels) == 18 and "updates" not in model.statistics

    class Rigid(treetop.XRLinear):
        _update = treetop.methods.Method._update

    with pytest.raises(ModelError, match="xr-linear cannot be updated: retrain it"):
        Rigid(**SMALL).fit(old).update(new, old)

    treetop.XRLinear(keep_data=True, **SMALL).fit(old).update(new).save(tmp_path / "model")
    stored = store.load(tmp_path / "model")
    for name in ("model.data.X.indices", "model.data.Y.indptr", "model.member0.solved0.positives"):
        for damaged in (stored.arrays[name][:-1], np.full_like(stored.arrays[name], -1)):
            changed = dataclasses.replace(stored, arrays=stored.arrays | {name: damaged})
            if name.endswith("positives") and len(damaged) == len(stored.arrays[name]):
                continue  # wrong counts only make the next update solve more or less
            with pytest.raises(ModelError, match=r"damaged|the array model\."):
                treetop.XRLinear.from_stored(changed, "changed").update(new)
