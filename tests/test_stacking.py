"""Stacked ensembles: the curves minimise the loss, and the score follows from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

import treetop
from conftest import planted
from test_ensemble import Fixed, members
from treetop import Dataset, Ensemble, store
from treetop.errors import ConfigError, DataError, ModelError
from treetop.methods import stacking
from treetop.methods.stacking import Curve, Pairs, Stack, _bends, _hats, _newton, _penalty


def ranked(*rows: dict[int, float]):
    indptr = np.cumsum([0, *map(len, rows)])
    ids = [label for row in rows for label in row]
    scores = [score for row in rows for score in row.values()]
    return indptr, np.array(ids, np.int32), np.array(scores, np.float32)


def test_pairs_are_those_of_any_list():
    pairs = Pairs.of([ranked({2: 0.5, 0: 0.4}, {}), ranked({2: 0.1}, {1: 0.9})], 3)
    assert list(zip(pairs.texts, pairs.labels, strict=True)) == [(0, 0), (0, 2), (1, 1)]
    assert np.allclose(pairs.scores, [[0.4, 0.5, 0], [0, 0.1, 0.9]])
    assert [list(known) for known in pairs.known] == [[True, True, False], [False, True, True]]
    truth = sparse.csr_matrix([[0, 0, 1], [0, 1, 1]])
    assert list(pairs.among(truth)) == [False, True, True]


def test_hats_are_piecewise_linear():
    knots = np.array([0.0, 1.0, 3.0])
    expected = [[1, 0, 0], [1, 0, 0], [0.75, 0.25, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]]
    assert np.allclose(_hats(np.array([-5, 0, 0.25, 1, 2, 9.0]), knots), expected)
    values = np.array([2.0, -1.0, 4.0])
    x = np.linspace(-1, 4, 50)
    assert np.allclose(_hats(x, knots) @ values, np.interp(x, knots, values))


def test_newton_finds_the_least_loss(monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 5))
    y = rng.random(300) < 1 / (1 + np.exp(-A @ [1, -2, 0, 0.5, 3]))
    monkeypatch.setattr(stacking, "BLOCK", 70)  # in several parts
    root = rng.normal(size=(5, 5))
    found = _newton(lambda part: A[part], y, root.T @ root)

    def loss(c):
        return np.logaddexp(0, np.where(y, -1, 1) * (A @ c)).sum() + np.sum((root @ c) ** 2) / 2

    best = optimize.minimize(loss, np.zeros(5), tol=1e-12).x
    assert np.allclose(found, best, atol=1e-3)
    assert loss(found) <= loss(best) + 1e-6


def test_bends_of_a_curve():
    """By hand: slopes 2 and -1, knots 1.5 apart on average."""
    assert np.allclose(_bends(np.array([0.0, 1.0, 3.0])) @ [1, 3, 1], [1.5 * (-1 - 2)])
    assert np.allclose(_bends(np.array([0.0, 1.0, 3.0, 3.5])) @ [1, 2, 4, 4.5], 0)
    penalty = _penalty([np.array([0.0, 1.0, 3.0])], 2)
    assert np.allclose(penalty[3:, 3:], stacking.RIDGE * np.eye(2)) and not penalty[:3, 3:].any()
    values = np.array([1.0, 3, 1, 0, 0])
    expected = stacking.SMOOTH * 4.5**2 + stacking.RIDGE * values @ values
    assert values @ penalty @ values == pytest.approx(expected)


def test_a_few_texts_do_not_mislead():
    """The useless member stays useless when the rule is fitted on ten texts."""
    lists, Y, counts = data_of(400, seed=1)
    few = [(indptr[:11], ids[: indptr[10]], scores[: indptr[10]]) for indptr, ids, scores in lists]
    stack = Stack.fit(few, Y[:10], counts)
    found = stack.combine(lists, 1, counts)[1]
    alone = lists[0][1][lists[0][0][:-1]]
    right = [np.mean([Y[text, label] for text, label in enumerate(best)]) for best in (found, alone)]
    assert right[0] > right[1] - 0.05


def data_of(texts: int, seed: int) -> tuple[list, sparse.csr_matrix, np.ndarray]:
    """Two members: one is right with the probability it says, the other is useless."""
    rng = np.random.default_rng(seed)
    labels = 30
    Y = np.zeros((texts, labels))
    rows: list[list[dict[int, float]]] = [[], []]
    for text in range(texts):
        listed = rng.permutation(labels)[:8]
        scores = np.sort(rng.random(8))[::-1]
        Y[text, listed[rng.random(8) < scores]] = 1
        rows[0].append(dict(zip(listed.tolist(), scores.tolist(), strict=True)))
        rows[1].append(
            dict(zip(rng.permutation(labels)[:8].tolist(), np.sort(rng.random(8))[::-1], strict=True))
        )
    return [ranked(*part) for part in rows], sparse.csr_matrix(Y), rng.integers(1, 50, labels)


def test_the_curves_say_what_scores_are_worth():
    lists, Y, counts = data_of(2000, seed=0)
    stack = Stack.fit(lists, Y, counts)
    for score in (0.2, 0.5, 0.8):
        rest = stack.missing[1] + stack.bias + float(np.mean(stack.of_counts(counts)))
        probability = 1 / (1 + np.exp(-(stack.of_member(0, score) + rest)))
        assert probability == pytest.approx(score, abs=0.05)
    worth = [stack.of_member(1, score) for score in (0.1, 0.5, 0.9)]
    assert max(worth) - min(worth) < 0.5  # of the member that says nothing
    found = stack.combine(lists, 3, counts)
    alone = Pairs.of([lists[0]], 30)
    first = [np.argmax(np.where(alone.texts == text, alone.scores[0], -1)) for text in range(50)]
    best = [int(found[1][found[0][text]]) for text in range(50)]
    assert np.mean([alone.labels[at] == label for at, label in zip(first, best, strict=True)]) > 0.8
    assert list(np.diff(found[0])) == [3] * 2000


def test_shares_tell_who_is_heard():
    lists, Y, counts = data_of(500, seed=2)
    shares = Stack.fit(lists, Y, counts).shares()
    assert shares.sum() == pytest.approx(1) and shares[0] > 0.7


def test_counts_have_a_curve_of_their_own():
    """The score says the same of all labels; those that are rare in training are right twice as often."""
    rng = np.random.default_rng(1)
    counts = np.array([1] * 10 + [64] * 10)
    rows = [{int(label): 0.5 for label in rng.permutation(20)[:10]} for _ in range(2000)]
    Y = np.array(
        [
            [label in row and rng.random() < (0.6 if label < 10 else 0.3) for label in range(20)]
            for row in rows
        ]
    )
    lists = [ranked(*rows)]
    stack = Stack.fit(lists, sparse.csr_matrix(Y, dtype=np.float64), counts)
    indptr, labels, scores = stack.combine(lists, 20, counts)
    assert scores[labels < 10] == pytest.approx(0.6, abs=0.03)
    assert scores[labels >= 10] == pytest.approx(0.3, abs=0.03)
    for text in range(20):
        own = scores[indptr[text] : indptr[text + 1]]
        assert (np.diff(own) <= 1e-7).all()


# -- in an ensemble ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset.from_matrices(*planted(600, 20, 60, seed=0))


@pytest.fixture(scope="module")
def model(data) -> Ensemble:
    return Ensemble(members(), rule="stacked").fit(data[:500])


def test_scores_are_probabilities_and_as_good_as_the_members(model, data):
    test = data[500:]
    best = max(member.evaluate(test)["P@1"] for member in model.members)
    assert model.evaluate(test)["P@1"] >= best - 3
    scores = model.predict(test, k=20).scores
    assert (scores > 0).all() and (scores < 1).all()
    assert scores.sum() == pytest.approx(test.Y.nnz, rel=0.15)


def test_it_is_learned_on_a_held_out_part(model, data):
    kept, held_out = data[:500].split(0.1, seed=0)
    expected = Ensemble.learn([member.fit(kept) for member in members()], held_out, rule="stacked")
    for ours, theirs in zip(model.stack.curves, expected.stack.curves, strict=True):
        assert np.array_equal(ours.values, theirs.values)
    assert all(member.statistics["examples"] == 500 for member in model.members)


def test_save_and_load(model, data, tmp_path):
    model.save(tmp_path / "model")
    loaded = treetop.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(data).scores, model.predict(data).scores)
    stored = model.to_stored()
    for name, damaged, message in (
        ("model.stack.curve0.knots", np.zeros(3), "the array model.stack.curve0.knots does not ascend"),
        ("model.stack.missing", np.zeros(5), "the array model.stack.missing has 5 entries, not"),
    ):
        broken = store.Stored(stored.method, stored.config, stored.data, stored.arrays | {name: damaged})
        with pytest.raises(ModelError, match=message):
            Ensemble.from_stored(broken, "here")


def test_an_explanation_adds_up(model, data):
    row = data.X[510]
    for item in model.predict(row, k=3)[0]:
        explained = model.explain(row, item.label)
        assert explained.score == pytest.approx(item.score, abs=1e-6)
        assert [part.name for part in explained.parts][-2:] == ["examples of the label", "bias"]


def test_one_member_is_enough(data):
    alone = Ensemble(members()[:1], rule="stacked").fit(data[:500])
    assert alone.evaluate(data[500:])["P@1"] > 80


def test_scores_of_any_range(data):
    """Margins, and logarithms of probabilities."""
    for settings in ({"transform": "raw"}, {"transform": "log-sigmoid"}):
        member = treetop.XRLinear(leaf_size=4, branching=2, **settings)
        alone = member.blank().fit(data[:500]).evaluate(data[500:])
        stacked = Ensemble([member], rule="stacked").fit(data[:500])
        assert stacked.evaluate(data[500:])["P@5"] >= alone["P@5"] - 1
        assert not stacked.stack.curves[0].bounded


def test_answers_do_not_depend_on_how_many_are_asked_for(data, tmp_path):
    model = Ensemble(members(), rule="stacked", depth=5).fit(data[:500])
    test = data[500:]
    few, many = model.predict(test, k=3), model.predict(test, k=20)
    for short, long in zip(few, many, strict=True):
        assert [(item.label, item.score) for item in short] == [(item.label, item.score) for item in long][:3]


def test_a_stacked_ensemble_grows():
    train = Dataset.from_matrices(*planted(400, 20, 60, seed=0))
    model = Ensemble(members(keep_data=True), rule="stacked").fit(train[:300])
    model.update(train[300:])
    assert model.statistics["examples"] == 400
    assert model.evaluate(train[300:])["P@1"] > 80


def test_settings_of_named_members(data):
    model = Ensemble(methods="xr-linear,neighbours", member_settings=("leaf_size=5", "neighbours=7")).fit(
        data
    )
    assert model.members[0].config.tree.leaf_size == 5
    assert model.members[1].config.vote.neighbours == 7
    with pytest.raises(ConfigError, match="none of xr-linear has a setting 'epochs'"):
        Ensemble(methods="xr-linear", member_settings=("epochs=5",)).fit(data)
    with pytest.raises(ConfigError, match="name=value"):
        Ensemble(member_settings=("epochs",))
    with pytest.raises(ConfigError, match="the seed of the members follow from"):
        Ensemble(member_settings=("seed=3",))
    with pytest.raises(ConfigError, match="for methods given by name"):
        Ensemble(members(), member_settings=("leaf_size=5",))


def test_mistakes():
    member = Fixed("ab", {"a": 0.5})
    with pytest.raises(ConfigError, match="nothing to learn with rule=mean"):
        Ensemble.learn([member], Dataset.from_texts(["x"], ["a"]), rule="mean")
    with pytest.raises(DataError, match="no example has a label to learn the rule from"):
        Ensemble.learn([member], Dataset.from_texts(["x"], ["unknown"]), rule="stacked")
    with pytest.raises(ModelError, match="not been fitted yet"):
        Ensemble([member], rule="stacked").predict("x")


def test_what_no_list_holds_comes_last_in_its_own_order():
    """Behind depth 1: by the odds, here those of frequent labels, not by their numbers."""
    curves = [
        Curve(np.array([0.0, 1.0]), np.array([-3.0, 0.0])),
        Curve(np.array([0.0, 10.0]), np.array([0.0, 5.0])),
    ]
    stack = Stack(curves, np.array([0.0]), 0.0)
    lists = [ranked({1: 0.1, 5: 0.09, 4: 0.08, 3: 0.07})]
    counts = np.array([1, 1, 1, 4, 64, 1024])
    indptr, labels, scores = stack.combine(lists, 6, counts, depth=1)
    assert labels.tolist() == [1, 5, 4, 3] and indptr.tolist() == [0, 4]
    assert (np.diff(scores) <= 0).all()


def test_scores_with_long_tails_are_learned_as_well():
    """A member whose scores are e^(2z), one whose scores are σ(z): the same information, and the same fit."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 8))
    Y = sparse.csr_matrix((rng.random(z.shape) < 1 / (1 + np.exp(1 - 2 * z))).astype(float))
    counts = np.full(8, 10)
    lost = []
    for scores in (np.exp(2 * z), 1 / (1 + np.exp(-z))):
        made = ranked(*(dict(enumerate(row)) for row in scores.tolist()))
        stack = Stack.fit([made], Y[:200], counts)
        indptr, labels, found = stack.combine([made], 8, counts)
        p = sparse.csr_matrix((found, labels, indptr), shape=Y.shape).toarray()[200:]
        lost.append(-np.mean(np.where(Y.toarray()[200:] > 0, np.log(p), np.log1p(-p))))
    assert lost[0] == pytest.approx(lost[1], abs=0.02)
