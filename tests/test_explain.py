"""Explanations: what the terms add sums to the raw scores, and the raw scores make the predicted ones."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
import pytest

import treetop
from conftest import planted
from test_cli import sentences, write_lines
from treetop import LabelTree
from treetop.errors import ConfigError, DataError, ModelError
from treetop.features import Tfidf, TfidfConfig
from treetop.features.text_terms import word_spans
from treetop.methods import Method

TREES = ["xr-linear", "parabel", "bonsai", "plt", "dismec"]
SMALL = {"leaf_size": 3, "branching": 2}


@functools.lru_cache
def matrices():
    return planted(200, 20, 60, seed=0)


@functools.lru_cache
def fitted(name: str, **settings) -> Method:
    small = {} if name == "dismec" else {"leaf_size": 3} | ({} if name == "bonsai" else {"branching": 2})
    return treetop.make(name, **(small | settings)).fit(*matrices())


def paths(explanation):
    """The explanations with a path: the whole, or those of the trees."""
    return [part.explanation for part in explanation.parts] if explanation.parts else [explanation]


def models_of(model):
    return [model.model] if model.name == "dismec" else model.forest.models


@pytest.mark.parametrize("name", TREES)
def test_contributions_sum_to_the_native_raw_scores(name):
    model = fitted(name)
    X, _ = matrices()
    weights = [[level.to_csr(60).toarray() for level in tree.levels] for tree in models_of(model)]
    for row in (0, 7):
        dense = np.append(X[row].toarray()[0], 1.0).astype(np.float64)
        for label in range(0, 20, 3):
            for tree, explanation in enumerate(paths(model.explain(X[row], str(label)))):
                for step in explanation.path:
                    if step.raw is None:
                        assert step.terms == () and step.bias == 0
                        continue
                    own = weights[tree][step.level - 1][step.node]
                    assert step.raw == pytest.approx(dense @ own, abs=1e-6)
                    assert math.fsum([step.bias, *(term.contribution for term in step.terms)]) == step.raw
                    assert step.bias == own[-1]
                    for term in step.terms:
                        feature = int(term.name.removeprefix("feature "))
                        assert (term.value, term.weight) == (dense[feature], own[feature])
                        assert term.contribution == term.value * term.weight
                    sizes = [abs(term.contribution) for term in step.terms]
                    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", TREES)
def test_score_is_the_predicted_one(name):
    model = fitted(name)
    X, _ = matrices()
    for row in (0, 7, 100):
        for place, (label, score) in enumerate(model.predict(X[row], k=5)[0], 1):
            explanation = model.explain(X[row], label)
            assert explanation.reached and explanation.label == label
            assert explanation.score == pytest.approx(score, rel=1e-6)
            if explanation.parts:
                total = sum(part.weight * part.value for part in explanation.parts)
                assert explanation.score == pytest.approx(total)
                assert [part.weight for part in explanation.parts] == [pytest.approx(1 / 3)] * 3
            else:
                assert explanation.path[-1].score == pytest.approx(score, rel=1e-5)
                assert explanation.path[-1].place == place


@pytest.mark.parametrize(
    "settings",
    [
        {"transform": name}
        for name in ("raw", "sigmoid", "log-sigmoid", "l1-hinge", "log-l2-hinge", "l2-hinge-noisy-or")
    ]
    + [{"last_transform": "raw"}, {"level_discount": 0.8}],
)
def test_rules_of_all_transforms(settings):
    model = fitted("xr-linear", beam=1000, **settings)
    X, _ = matrices()
    scores = dict(model.predict(X[3], k=20)[0])
    for label, score in scores.items():
        explanation = model.explain(X[3], label)
        assert explanation.path[-1].score == pytest.approx(score, rel=1e-5, abs=1e-30)
        assert explanation.rule
        if settings.get("transform") == "sigmoid":
            product = math.prod(step.transformed for step in explanation.path)
            assert product == pytest.approx(score, rel=1e-5)


def test_a_label_outside_the_beam():
    X, _ = matrices()
    model = fitted("xr-linear")
    wide = dict(model.predict(X[0], k=20, beam=(1000,))[0])
    narrow = {label for label, _ in model.predict(X[0], k=20, beam=(1,))[0]}
    assert 0 < len(narrow) < len(wide) == 20
    dropped_at = set()
    for label, score in wide.items():
        explanation = model.explain(X[0], label, beam=(1,))
        assert explanation.reached == (label in narrow)
        assert explanation.score == pytest.approx(score, rel=1e-5, abs=1e-30)
        if not explanation.reached:
            dropped = explanation.dropped
            assert dropped.beam == 1 and dropped.labels > 1
            assert all(step.place == 1 for step in explanation.path[: dropped.level - 1])
            assert all(step.place is None for step in explanation.path[dropped.level - 1 :])
            dropped_at.add(dropped.level)
    assert len(dropped_at) > 1


def test_an_only_child_has_its_parents_score():
    X, Y = planted(60, 3, 30, seed=1)
    tree = LabelTree((np.array([0, 2]), np.array([0, 1, 3]), np.array([0, 1, 2, 3])), np.arange(3))
    model = treetop.XRLinear().fit(X, Y, tree=tree)
    first, second, third = model.explain(X[0], "0").path
    assert first.raw is not None and third.raw is not None
    assert second.raw is None and second.transformed is None and second.score == first.score
    scores = dict(model.predict(X[0], k=3)[0])
    assert third.score == pytest.approx(scores["0"], rel=1e-5)


def test_weights_of_one_node_are_its_row():
    for name in ("xr-linear", "plt"):
        for tree in fitted(name).forest.models:
            for level in tree.levels:
                rows = level.to_csr(60).toarray()
                for node, expected in enumerate(rows):
                    features, weights, bias = level.node_weights(node)
                    got = np.zeros(61, np.float32)
                    got[features] = weights
                    got[60] = bias
                    np.testing.assert_array_equal(got, expected)


# -- texts ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def records():
    return sentences(200)


@pytest.fixture(scope="module")
def model(records):
    return treetop.XRLinear(**SMALL).fit([r["text"] for r in records], [r["labels"] for r in records])


def test_terms_are_words_with_their_places(model):
    text = "The HORSE sleeps, in the barn; the horse"
    explanation = model.explain(text, "horse")
    last = explanation.path[-1]
    terms = {term.name: term for term in last.terms}
    best = last.terms[0]
    assert best.name == "horse" and best.contribution > 0
    assert [text[a:b] for a, b in best.spans] == ["HORSE", "horse"]
    assert [text[a:b] for a, b in terms["horse sleeps"].spans] == ["HORSE sleeps"]
    assert last.name == "horse" and last.labels == 1
    assert explanation.path[0].name.startswith("[") and explanation.path[0].labels > 1
    assert explanation.score == model.predict(text, k=1)[0][0].score


def test_spans_of_texts_whose_lower_case_is_longer():
    config = TfidfConfig(ngram_max=2)
    text = "İĞDE ΣΟΦΟΣ x_1 日本語 a İzmir"
    found = word_spans(text, config)
    assert {name: [text[a:b] for a, b in places] for name, places in found.items() if " " not in name} == {
        "ğde": ["ĞDE"],
        "σοφος": ["ΣΟΦΟΣ"],
        "x_1": ["x_1"],
        "日本語": ["日本語"],
        "zmir": ["zmir"],  # the dot of the lower-case i̇ is no word character
    }
    assert set(found) == set(Tfidf(config).fit([text]).vocabulary)
    assert word_spans("Ab ab", TfidfConfig(lowercase=False)) == {"Ab": ((0, 2),), "ab": ((3, 5),)}
    assert word_spans("-a  b\tc", TfidfConfig(analyzer="blank")) == {"-a": ((0, 2),), "b\tc": ((4, 7),)}
    assert word_spans(text, TfidfConfig(analyzer="char")) == {}


def test_a_text_of_unknown_words_has_only_biases(model):
    explanation = model.explain("qqq zzz", "cat")
    assert all(step.terms == () and step.raw == step.bias for step in explanation.path)


def test_calibrated_models_also_give_the_probability(model, records, tmp_path):
    model.save(tmp_path / "model")
    calibrated = treetop.load(tmp_path / "model").calibrate(
        treetop.Dataset.from_texts([r["text"] for r in records], [r["labels"] for r in records])
    )
    text = records[5]["text"]
    for label, probability in calibrated.predict(text, k=5)[0]:
        explanation = calibrated.explain(text, label)
        assert explanation.probability == probability
        assert explanation.score == model.explain(text, label).score
    assert model.explain(text, "cat").probability is None


def test_ensembles_are_the_sum_of_their_members(model, records):
    animals = treetop.make("parabel").fit(
        [r["text"] for r in records], [[r["labels"][0], "extra"] for r in records]
    )
    text = records[3]["text"]
    for settings in ({"rule": "weighted", "weights": (3, 1)}, {"rule": "rank"}):
        ensemble = treetop.Ensemble([model, animals], **settings)
        for label, score in ensemble.predict(text, k=5)[0]:
            explanation = ensemble.explain(text, label)
            assert explanation.score == pytest.approx(score, rel=1e-6)
            assert sum(part.weight * part.value for part in explanation.parts) == explanation.score
            knows = [part.explanation is not None for part in explanation.parts]
            assert knows == [label in model.labels.positions, label in animals.labels.positions]
    assert len(ensemble.explain(text, "extra").parts[1].explanation.parts) == 3


def test_votes_of_neighbours_sum_to_the_score():
    X, Y = matrices()
    model = treetop.make("neighbours", neighbours=7).fit(X, Y)
    for label, score in model.predict(X[9], k=4)[0]:
        explanation = model.explain(X[9], label)
        assert explanation.score == pytest.approx(score, rel=1e-6)
        assert len(explanation.votes) == 7
        assert sum(vote.share for vote in explanation.votes) == pytest.approx(1)
        assert math.fsum(v.share for v in explanation.votes if v.agrees) == explanation.score
        squares = sum(vote.similarity**2 for vote in explanation.votes)
        for vote in explanation.votes:
            assert vote.share == pytest.approx(vote.similarity**2 / squares)
            assert vote.labels == tuple(str(column) for column in Y[vote.example].indices)
            assert vote.agrees == (label in vote.labels)
    assert explanation.votes[0].example == 9
    assert model.explain(X[0] * 0, "3").votes == ()


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_hybrid_is_the_sum_of_its_halves(weight):
    X, Y = matrices()
    model = treetop.make("hybrid", weight=weight, **SMALL).fit(X, Y)
    for label, score in model.predict(X[9], k=4)[0]:
        explanation = model.explain(X[9], label)
        assert explanation.score == pytest.approx(score, rel=1e-6)
        if weight == 0:
            assert explanation.path and not explanation.parts
            continue
        linear, votes = explanation.parts
        assert (linear.weight, votes.weight) == (0.7, 0.3)
        assert linear.value == pytest.approx(math.sqrt(linear.explanation.score), rel=1e-4)
        assert votes.value == pytest.approx(votes.explanation.score, rel=1e-6)
        assert linear.explanation.path and votes.explanation.votes


def test_the_trees_of_a_hybrid_list_as_many_labels_as_its_scores_need():
    X, Y = planted(600, 400, 80, seed=0)  # more labels than a tree lists where few are wanted
    model = treetop.make("hybrid", weight=0.5, trees=2, leaf_size=10, branching=8, beam=40).fit(X, Y)
    listed = treetop.make("xr-linear", trees=2, leaf_size=10, branching=8, beam=40).fit(X, Y)
    for label, score in listed.predict(X[39], k=50)[0]:
        linear, _ = model.explain(X[39], label).parts
        assert linear.value == pytest.approx(math.sqrt(score), rel=1e-6)
        assert linear.explanation.score == pytest.approx(score, rel=1e-6)


def test_plain_dictionaries(model):
    facts = model.explain("the cat sings", "cat").to_dict()
    again = json.loads(json.dumps(facts))
    assert again["label"] == "cat" and again["reached"] is True
    assert "votes" not in again and "probability" not in again
    term = again["path"][-1]["terms"][0]
    assert term["contribution"] == term["value"] * term["weight"] and term["spans"] == [[4, 7]]


def test_mistakes(model):
    with pytest.raises(DataError, match="has no label 'zebra'"):
        model.explain("the cat", "zebra")
    with pytest.raises(DataError, match="explain takes one text at a time, not 2"):
        model.explain(["the cat", "the dog"], "cat")
    with pytest.raises(ConfigError, match="an explanation of xr-linear has no option 'k'"):
        model.explain("the cat", "cat", k=5)
    with pytest.raises(ModelError, match="not trained"):
        treetop.XRLinear().explain("the cat", "cat")
    X, Y = matrices()
    wider = np.hstack([Y.toarray(), np.zeros((200, 1))])
    with pytest.raises(DataError, match="the label '20' had no training example"):
        treetop.XRLinear(**SMALL).fit(X, wider).explain(X[0], "20")

    class Silent(treetop.XRLinear):
        _explain = Method._explain

    silent = Silent(**SMALL).fit(X, Y)
    assert not silent.can_explain and model.can_explain
    with pytest.raises(ModelError, match="xr-linear cannot explain its scores"):
        silent.explain(X[0], "1")


# -- the command ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(model, records, tmp_path_factory):
    home = tmp_path_factory.mktemp("explain")
    model.save(home / "model")
    treetop.make("parabel", leaf_size=3).fit(
        [r["text"] for r in records], [r["labels"] for r in records]
    ).save(home / "parabel")
    treetop.make("hybrid", weight=0.3, **SMALL).fit(
        [r["text"] for r in records], [r["labels"] for r in records]
    ).save(home / "hybrid")
    write_lines(home / "texts.jsonl", records[:2])
    return home


def test_command(folder, model, run):
    text = "the horse sleeps in the barn"
    outcome = run("explain", folder / "model", text, "--label", "horse", "--terms", 2)
    assert outcome.code == 0 and outcome.err == ""
    explanation = model.explain(text, "horse")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[0] == ["horse", f"{explanation.score:.4g}"]
    depth = model.tree.depth
    assert lines[1] == ["level", "node", "u", "T(u)", "score", "place"]
    assert [line[0] for line in lines[2 : 2 + depth]] == [str(level + 1) for level in range(depth)]
    words = lines[3 + depth :]
    assert words[0] == ["term", *(part for level in range(depth) for part in ("level", str(level + 1)))]
    assert words[1][0] == "horse" and words[3][1:3] == ["other", "terms)"]
    assert words[-2] == ["u", *(f"{step.raw:+.3f}" for step in explanation.path)]
    assert outcome.out.splitlines()[-1].startswith("score: the product of T(u)")


def test_command_for_files_and_best_labels(folder, model, run):
    facts = json.loads(run("explain", folder / "model", folder / "texts.jsonl", "--k", 2, "--json").out)
    assert [entry["id"] for entry in facts] == ["s0", "s1"]
    for entry in facts:
        expected = [item.label for item in model.predict(entry["text"], k=2)[0]]
        assert [item["label"] for item in entry["explanations"]] == expected
    shown = run("explain", folder / "parabel", folder / "texts.jsonl", "-k", 1).out
    assert shown.count("tree 3") == 4 and "the mean over the trees" in shown


def test_command_for_a_hybrid(folder, run):
    shown = run("explain", folder / "hybrid", "the horse sleeps", "-l", "horse", "--terms", 3).out
    lines = [line.split() for line in shown.splitlines()]
    assert lines[1] == ["part", "weight", "value", "weight", "×", "value"]
    assert lines[2][:2] == ["linear", "0.700"] and lines[3][:2] == ["neighbours", "0.300"]
    assert ["training", "text", "similarity", "share", "its", "labels"] in lines
    assert any(line[1:] and line[1] == "more" for line in lines) and "similarity^2" in shown


def test_command_when_the_search_misses_the_label(folder, tmp_path, records, run):
    narrow = treetop.XRLinear(**SMALL, beam=1).fit(
        [r["text"] for r in records], [r["labels"] for r in records]
    )
    narrow.save(tmp_path / "narrow")
    text = "the cat eats"
    found = {item.label for item in narrow.predict(text, k=12)[0]}
    missed = next(label for label in narrow.labels if label not in found)
    shown = run("explain", tmp_path / "narrow", text, "--label", missed).out
    assert "The beam search does not reach this label: at level" in shown and "not in beam" in shown


def test_command_for_an_empty_text(folder, model, run):
    (entry,) = json.loads(run("explain", folder / "model", "", "--k", 1, "--json").out)
    assert entry["text"] == "" and entry["explanations"][0]["label"] == model.predict("", k=1)[0][0].label


def test_command_mistakes(folder, run):
    run("explain", folder / "model", "the cat", "--label", "zebra").sentence(2, "no label 'zebra'")
    run("explain", folder / "absent", "the cat").sentence(2, "not a model folder")
