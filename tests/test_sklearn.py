"""`TreetopClassifier`: what scikit-learn and its users expect of an estimator."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
import warnings

import joblib
import numpy as np
import pandas
import polars
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import treetop
from small_data import TOPICS, same, topic_texts
from treetop.errors import ConfigError, DataError, MissingExtraError
from treetop.sklearn import TreetopClassifier, ranking_scorer

SMALL = {"leaf_size": 4, "branching": 2}
TEXTS, LABELS = topic_texts(120, seed=0)
NEW, TRUE = topic_texts(40, seed=1)
BINARIZER = MultiLabelBinarizer().fit(LABELS)
Y, Y_TRUE = BINARIZER.transform(LABELS), BINARIZER.transform(TRUE)
FIRST = [labels[0] for labels in LABELS]


def classifier(method="xr-linear", **settings) -> TreetopClassifier:
    return TreetopClassifier(method, n_jobs=1, **((SMALL if method == "xr-linear" else {}) | settings))


CALIBRATED = classifier(calibration="isotonic")


def expected_failures(estimator: TreetopClassifier) -> dict[str, str]:
    failing = {
        f"check_sample_weight_equivalence_on_{kind}_data": (
            "the check wants seven equal digits, but solvers stop at a tolerance: see test_weights.py"
        )
        for kind in ("dense", "sparse")
    }
    if estimator.method == "neighbours":
        names = (
            "check_sample_weights_list",
            "check_sample_weights_not_overwritten",
            "check_all_zero_sample_weights_error",
            "check_classifiers_one_label_sample_weights",
        )
        return dict.fromkeys([*failing, *names], "neighbours cannot weigh examples, and say so")
    if "calibration" not in estimator.get_params():
        return failing
    return failing | {
        "check_classifiers_multilabel_output_format_predict_proba": (
            "the check wants probabilities strictly between 0 and 1, and isotonic ones may be either"
        ),
        "check_fit2d_1sample": "a calibration holds examples out; the message says example, not sample",
    }


@parametrize_with_checks(
    [
        *(classifier(name) for name in ("xr-linear", "plt", "neighbours", "hybrid", "dismec", "parabel")),
        CALIBRATED,
    ],
    expected_failed_checks=expected_failures,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# -- parameters ----------------------------------------------------------------------------------------------


def test_settings_are_parameters():
    made = TreetopClassifier("xr-linear", beam=20, tree__leaf_size=50, settings={"linear.cost_positive": 2.0})
    assert made.get_params()["beam"] == 20 and made.get_params()["tree__leaf_size"] == 50
    assert "beam" not in made.get_params(deep=False)
    made.set_params(leaf_size=7, method="xr-linear", k=3)
    assert made.get_params()["leaf_size"] == 7 and made.k == 3
    assert "tree__leaf_size" not in made.get_params()  # another name of the same setting
    config = made._new_model().config
    assert (config.tree.leaf_size, config.linear.beam) == (7, (20,))
    again = clone(made)
    assert again.get_params() == made.get_params() and again.settings is not made.settings
    assert "settings={'beam': 20" in repr(made)


def test_bad_parameters():
    with pytest.raises(ValueError, match="no setting 'beem'; did you mean 'beam'"):
        TreetopClassifier("xr-linear").set_params(beem=3)
    for made, message in (
        (TreetopClassifier("xr-linear", beem=3), "no setting 'beem'"),
        (TreetopClassifier("xr-liner"), "no method 'xr-liner'; did you mean 'xr-linear'"),
        (TreetopClassifier(3), "a method must be a name such as 'xr-linear', not 3"),
        (TreetopClassifier(settings=[1]), "settings must be a dictionary"),
        (TreetopClassifier(k=0), "k must be a whole number of at least 1, not 0"),
        (TreetopClassifier(n_scores=1.5), "n_scores must be a whole number"),
        (TreetopClassifier(n_jobs=0), "n_jobs must be a whole number"),
        (TreetopClassifier(n_jobs=2, threads=1), "n_jobs and the setting threads are the same"),
        (TreetopClassifier(random_state=1, seed=1), "random_state and the setting seed are the same"),
    ):
        with pytest.raises(ConfigError, match=message):
            made.fit(TEXTS, Y)


def test_seeds_and_threads():
    assert TreetopClassifier(random_state=5)._new_model().config.seed == 5
    assert TreetopClassifier()._new_model().config.seed == 0
    state = np.random.RandomState(0)
    assert TreetopClassifier(random_state=state)._new_model().config.seed == np.random.RandomState(0).randint(
        2**31 - 1
    )
    assert TreetopClassifier(n_jobs=3)._new_model().config.threads == 3
    assert TreetopClassifier(n_jobs=-1)._new_model().threads == treetop.XRLinear().threads


def test_a_method_as_it_is_set_up():
    both = treetop.Ensemble([treetop.XRLinear(**SMALL), treetop.NearestNeighbours()])
    for method in (both, treetop.XRLinear(**SMALL)):
        made = clone(TreetopClassifier(method, n_jobs=1)).fit(TEXTS, LABELS)
        assert made.score(NEW, TRUE) > 0.8
        assert method.labels is None
    assert (
        clone(TreetopClassifier(treetop.XRLinear(**SMALL)))
        .set_params(beam=3)
        ._new_model()
        .config.tree.leaf_size
        == 4
    )


def test_weights_of_rows():
    weights = np.arange(120) % 4
    made = classifier().fit(TEXTS, LABELS, sample_weight=pandas.Series(weights))
    expected = treetop.XRLinear(**SMALL, threads=1).fit(TEXTS, LABELS, sample_weight=weights)
    assert same(made.model_.predict(NEW, k=5), expected.predict(NEW, k=5))
    rows = np.flatnonzero(weights == 1)
    some = [0 if weight != 1 else 1 for weight in weights]
    left_out = classifier().fit([TEXTS[row] for row in rows], [LABELS[row] for row in rows])
    assert classifier().fit(TEXTS, LABELS, sample_weight=some).predict(NEW) == left_out.predict(NEW)
    assert classifier().fit(TEXTS, LABELS, sample_weight=1).predict(NEW) == classifier().fit(
        TEXTS, LABELS
    ).predict(NEW)
    with pytest.raises(ConfigError, match="neighbours cannot weigh training examples"):
        classifier("neighbours").fit(TEXTS, LABELS, sample_weight=weights)
    with pytest.raises(DataError, match=r"the weights have the shape \(3,\)"):
        classifier().fit(TEXTS, LABELS, sample_weight=[1, 2, 3])


# -- kinds of labels -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    return classifier(k=2).fit(TEXTS, Y).predict(NEW)


def test_every_kind_of_y_gives_the_same_labels_back_as_its_kind(reference):
    names = list(BINARIZER.classes_)
    made = classifier(k=2)
    assert reference.dtype == Y.dtype and reference.shape == Y_TRUE.shape
    assert f1_score(Y_TRUE, reference, average="samples") > 0.8

    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array, sparse.lil_matrix):
        for dtype in (bool, np.int8, np.int64, np.uint8, np.float32, np.float64):
            found = made.fit(TEXTS, kind(Y.astype(dtype))).predict(NEW)
            assert sparse.issparse(found) and found.dtype == dtype and found.format == "csr"
            assert isinstance(found, sparse.sparray) == issubclass(kind, sparse.sparray)
            assert np.array_equal(found.toarray(), reference)
    for dtype in (bool, np.int8, np.float64):
        found = made.fit(TEXTS, Y.astype(dtype)).predict(NEW)
        assert found.dtype == dtype and np.array_equal(found, reference)
    assert np.array_equal(made.classes_, np.arange(6))

    lists = [names_of.tolist() for names_of in map(BINARIZER.classes_.__getitem__, reference.astype(bool))]
    for rows in (
        LABELS,
        [set(row) for row in LABELS],
        [np.array(row) for row in LABELS],
        pandas.Series(LABELS),
    ):
        found = made.fit(TEXTS, rows).predict(NEW)
        assert [sorted(labels) for labels in found] == lists
        assert found == [
            [item.label for item in best] for best in made.model_.predict(NEW, k=2)
        ]  # best first
        assert made.classes_.tolist() == names

    frame = pandas.DataFrame(Y.astype(np.int8), columns=names)
    found = made.fit(TEXTS, frame).predict(pandas.Series(NEW, index=range(100, 140)))
    assert list(found.columns) == names and list(found.index) == list(range(100, 140))
    assert np.array_equal(found.to_numpy(), reference) and (found.dtypes == np.int8).all()
    assert made.classes_.tolist() == names
    found = made.fit(TEXTS, frame.astype("Int64")).predict(NEW)  # what pandas makes of columns with gaps
    assert np.array_equal(found.to_numpy(), reference) and (found.dtypes == np.int64).all()
    found = made.fit(TEXTS, polars.DataFrame(Y, schema=names)).predict(NEW)
    assert isinstance(found, polars.DataFrame) and found.columns == names
    assert np.array_equal(found.to_numpy(), reference)


def test_stored_zeros_are_no_labels(reference):
    dense = sparse.csr_matrix(Y)
    full = sparse.csr_matrix(np.ones_like(Y))
    full.data = Y.ravel().astype(np.int64)
    assert full.nnz > dense.nnz
    assert np.array_equal(classifier(k=2).fit(TEXTS, full).predict(NEW).toarray(), reference)


def test_whole_numbers_as_labels():
    numbers = [
        [10 * names.index(name) for name in row] for names in [list(BINARIZER.classes_)] for row in LABELS
    ]
    made = classifier(k=2).fit(TEXTS, numbers)
    assert made.classes_.tolist() == [0, 10, 20, 30, 40, 50] and made.classes_.dtype == np.int64
    assert all(type(label) is int for row in made.predict(NEW) for label in row)
    typed = classifier(k=2).fit(TEXTS, [[np.int32(label) for label in row] for row in numbers])
    assert typed.predict(NEW) == made.predict(NEW)


@pytest.mark.parametrize("labels", [FIRST, np.array(FIRST), np.array(FIRST, object), pandas.Series(FIRST)])
def test_one_label_for_each_text(labels):
    made = classifier().fit(TEXTS, labels)
    found = made.predict(NEW)
    assert found.shape == (40,) and set(found) <= set(TOPICS)
    assert made.score(NEW, found) == 1
    assert made.decision_function(NEW).shape == (40, 6)
    assert np.array_equal(made.classes_[made.decision_function(NEW).argmax(1)], found)


def test_two_exclusive_classes():
    y = np.array([int("baking" in labels) for labels in LABELS])
    made = classifier().fit(TEXTS, y)
    lead = made.decision_function(NEW)
    assert lead.shape == (40,) and np.array_equal(lead > 0, made.predict(NEW) == 1)
    with pytest.warns(DataConversionWarning):
        column = classifier().fit(TEXTS, y[:, None])
    assert np.array_equal(column.predict(NEW), made.predict(NEW))


def test_a_matrix_with_one_column_is_one_label_for_each_text():
    has_it = Y[:, :1]
    expected = classifier().fit(TEXTS, has_it.ravel()).predict(NEW)
    assert 0 < expected.sum() < 40
    columns = {"baking": has_it.ravel()}
    for y in (sparse.csr_array(has_it), pandas.DataFrame(columns), polars.DataFrame(columns)):
        made = classifier().fit(TEXTS, y)
        assert made.predict(NEW).shape == (40,) and np.array_equal(made.predict(NEW), expected)
        assert made.score(TEXTS, y) > 0.9
    many = pandas.DataFrame({"target": [len(label) for label in FIRST]})
    assert set(classifier().fit(TEXTS, many).predict(NEW)) <= set(many["target"])


def test_texts_without_labels_and_labels_without_texts():
    holes = [[] if row % 3 == 0 else labels for row, labels in enumerate(LABELS)]
    made = classifier().fit(TEXTS, holes)
    assert made.k_ == 1 and len(made.predict(NEW)) == 40
    empty_column = np.hstack([Y, np.zeros((120, 1), Y.dtype)])
    made = classifier().fit(TEXTS, empty_column)
    assert made.predict(NEW).shape == (40, 7) and not made.predict(NEW)[:, 6].any()
    assert classifier().fit(TEXTS, Y).predict([]).shape == (0, 6)
    assert classifier().fit(TEXTS, LABELS).predict([]) == []
    assert classifier().fit(TEXTS, FIRST).predict([]).shape == (0,)


def test_rows_of_nothing_but_0_and_1_are_a_matrix():
    rows = Y.tolist()
    assert np.array_equal(classifier().fit(TEXTS, rows).predict(NEW), classifier().fit(TEXTS, Y).predict(NEW))
    assert classifier().fit(TEXTS[:3], [[0, 1], [0], [1]]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], None], "labels of row 1 are missing"),
        ([["a"], ["b", None]], "row 1 has the label None; use strings or whole numbers"),
        ([["a"], [1]], "some labels are strings and others numbers"),
        (np.array(["a", 1], object), "some labels are strings and others numbers"),
        (["a", 1], "some labels are strings and others numbers"),
        (["a", None], "the label of row 1 is missing"),
        ([[1.5], [2.5]], "row 0 has the label 1.5"),
        (np.array([[0, 2], [1, 0]]), "a label matrix must have only 0 and 1, but row 0 has 2"),
        (sparse.csr_array([[0, 0.5], [1, 0]]), "a label matrix must have only 0 and 1, but row 0 has 0.5"),
        (np.array([[0, np.nan], [1, 0]]), "NaN|nan"),
        (np.array([["a", "b"], ["c", "d"]]), "not a matrix of numbers"),
        (np.zeros((2, 3)), "none of the 2 examples has a label"),
        ([[], []], "none of the 2 examples has a label"),
        ([["a"]], "inconsistent numbers of samples"),
        ("a", "str is not a list of labels"),
        (
            pandas.DataFrame({"a": ["x", "y"], "b": [1, 0]}),
            "columns of 0 and 1, or one column of label lists",
        ),
        (None, "requires y to be passed"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(["bread and flour", "boat and wind"], y)


# -- kinds of examples ---------------------------------------------------------------------------------------


def test_every_kind_of_texts(reference):
    made = classifier(k=2).fit(TEXTS, Y)
    assert not hasattr(made, "n_features_in_")
    frame = pandas.DataFrame({"text": NEW, "stars": 1})
    for texts in (
        tuple(NEW),
        np.array(NEW),
        np.array(NEW, object)[:, None],
        pandas.Series(NEW),
        polars.Series(NEW),
    ):
        assert np.array_equal(made.predict(texts), reference)
    assert np.array_equal(made.predict(frame), reference)
    assert np.array_equal(made.predict(polars.DataFrame({"text": NEW})), reference)
    titled = classifier(k=2, text="title").fit(pandas.DataFrame({"title": TEXTS}), Y)
    assert np.array_equal(titled.predict(pandas.DataFrame({"title": NEW})), reference)


def test_bad_texts():
    with pytest.raises(DataError, match="row 1 is missing"):
        classifier().fit(["bread", None], ["a", "b"])
    with pytest.raises(DataError, match="a single text; pass a list"):
        classifier().fit("bread", ["a"])
    made = classifier().fit(TEXTS, Y)
    with pytest.raises(DataError, match="row 0 is missing"):
        made.predict([None, "bread"])
    with pytest.raises(DataError, match="trained on texts"):
        made.predict(np.ones((2, 3)))
    with pytest.raises(DataError, match="no column 'text'"):
        made.predict(pandas.DataFrame({"title": NEW}))
    with pytest.raises(NotFittedError):
        classifier().predict(NEW)


def test_features():
    vectors = TfidfVectorizer().fit(TEXTS)
    X, new = vectors.transform(TEXTS), vectors.transform(NEW)
    made = classifier(k=2).fit(X, Y)
    assert made.n_features_in_ == X.shape[1]
    assert np.array_equal(made.predict(new.toarray()), made.predict(new))
    with pytest.raises(ValueError, match=f"expecting {X.shape[1]} features"):
        made.predict(new[:, 1:])
    frame = pandas.DataFrame(X.toarray(), columns=vectors.get_feature_names_out())
    named = classifier().fit(frame, Y)
    assert list(named.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame.rename(columns={frame.columns[0]: "other"}))
    assert not hasattr(made.fit(TEXTS, Y), "n_features_in_")


# -- answers -------------------------------------------------------------------------------------------------


def test_how_many_labels_are_given():
    mean = classifier().fit(TEXTS, Y)
    assert mean.k_ == round(Y.sum() / len(Y)) and set(mean.predict(NEW).sum(1)) == {mean.k_}
    assert set(classifier(k=4).fit(TEXTS, Y).predict(NEW).sum(1)) == {4}
    assert classifier(k=40).fit(TEXTS, Y).k_ == 6
    assert set(mean.set_params(k=3).predict(NEW).sum(1)) == {3}  # needs no other fit
    assert mean.set_params(k=None, threshold=0.0).k_ == 6
    decided = clone(CALIBRATED).set_params(threshold=0.5).fit(TEXTS, Y)
    assert np.array_equal(decided.predict(NEW), (decided.predict_proba(NEW) > 0.5).astype(Y.dtype))


def test_the_score_is_the_f1_of_scikit_learn():
    for made in (classifier(), clone(CALIBRATED).set_params(threshold=0.7)):
        made.fit(TEXTS, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = f1_score(Y_TRUE, made.predict(NEW), average="samples")
        assert made.score(NEW, Y_TRUE) == pytest.approx(expected)
        assert made.score(NEW, sparse.csr_array(Y_TRUE)) == pytest.approx(expected)
        assert made.fit(TEXTS, LABELS).score(NEW, TRUE) == pytest.approx(expected)
    weights = np.arange(40)
    weighted = made.score(NEW, TRUE, sample_weight=weights)
    each = [made.score([text], [labels]) for text, labels in zip(NEW, TRUE, strict=True)]
    assert weighted == pytest.approx(np.average(each, weights=weights))
    single = classifier().fit(TEXTS, FIRST)
    assert single.score(TEXTS, FIRST) == pytest.approx(np.mean(single.predict(TEXTS) == FIRST))


def test_labels_that_training_lacked_count_as_missed():
    made = classifier(k=1).fit(TEXTS, LABELS)
    best = made.predict(NEW)
    assert made.score(NEW, best) == 1
    assert made.score(NEW, [[*labels, "juggling"] for labels in best]) == pytest.approx(2 / 3)
    assert ranking_scorer("R@1")(made, NEW, [[*labels, "juggling"] for labels in best]) == pytest.approx(
        1 / 2
    )
    with pytest.raises(DataError, match="has 7 label columns, but training had 6"):
        classifier().fit(TEXTS, Y).score(NEW, np.ones((40, 7), int))
    with pytest.raises(DataError, match="given as dense in training, and as sets now"):
        classifier().fit(TEXTS, Y).score(NEW, TRUE)


def test_scores_are_dense_or_sparse_as_y_is():
    dense = classifier().fit(TEXTS, Y).decision_function(NEW)
    assert dense.shape == (40, 6) and label_ranking_average_precision_score(Y_TRUE, dense) > 0.9
    for y in (LABELS, sparse.csr_array(Y)):
        some = classifier(n_scores=2).fit(TEXTS, y).decision_function(NEW)
        assert sparse.issparse(some) and some.shape == (40, 6) and np.diff(some.indptr).max() == 2
        kept = some.toarray() > 0
        assert np.allclose(some.toarray()[kept], dense[kept])


def test_probabilities_are_there_where_scores_are_some():
    assert not hasattr(classifier(), "predict_proba")
    assert not hasattr(classifier().fit(TEXTS, Y), "predict_proba")
    for made in (classifier("plt"), clone(CALIBRATED)):
        assert hasattr(made, "predict_proba")
        found = made.fit(TEXTS, Y).predict_proba(NEW)
        assert found.shape == (40, 6) and found.min() >= 0 and found.max() <= 1
        exclusive = made.fit(TEXTS, FIRST).predict_proba(NEW)
        assert np.allclose(exclusive.sum(1), 1)
        assert np.array_equal(made.classes_[exclusive.argmax(1)], made.predict(NEW))
    made = classifier().fit(TEXTS, Y)
    made.model_.calibrate(treetop.Dataset.from_texts(NEW, Y_TRUE))
    assert made.predict_proba(NEW).shape == (40, 6)


# -- tools ---------------------------------------------------------------------------------------------------


def test_cross_validation():
    assert is_classifier(classifier())
    for y in (Y, [frozenset(labels) for labels in LABELS], FIRST):
        scores = cross_val_score(classifier(), TEXTS, y, cv=3)
        assert scores.shape == (3,) and scores.min() > (0.3 if y is FIRST else 0.7)
    lists = cross_val_score(classifier(), TEXTS, LABELS, cv=KFold(3))
    assert np.allclose(lists, cross_val_score(classifier(), TEXTS, Y, cv=3))
    predicted = cross_val_predict(classifier(), TEXTS, Y, cv=3)
    assert predicted.shape == Y.shape
    scored = cross_val_predict(classifier(), TEXTS, Y, cv=3, method="decision_function")
    assert scored.shape == Y.shape


def test_folds_that_lack_labels():
    """Every text has a label of its own: no fold has seen the labels that it is evaluated on."""
    labels = [[*row, f"only {number}"] for number, row in enumerate(LABELS)]
    scores = cross_val_score(classifier(k=2), TEXTS, labels, cv=KFold(4), error_score="raise")
    assert (scores > 0.4).all()
    indicators = MultiLabelBinarizer(sparse_output=True).fit_transform(labels)
    search = GridSearchCV(classifier(k=2), {"beam": [10]}, cv=KFold(4), error_score="raise")
    search.fit(TEXTS, indicators)  # cross_val_score itself takes no sparse y
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(scores.mean())


def test_grid_search_over_settings_and_methods():
    grid = [
        {"method": ["xr-linear"], "leaf_size": [2, 6], "linear__cost_positive": [1.0]},
        {"method": ["neighbours"], "k": [1, 2]},
    ]
    search = GridSearchCV(TreetopClassifier(n_jobs=1), grid, cv=KFold(2), scoring=ranking_scorer("P@1"))
    search.fit(TEXTS, LABELS)
    assert len(search.cv_results_["params"]) == 4 and search.best_score_ > 0.8
    assert search.predict(NEW)[0] == search.best_estimator_.predict(NEW)[0]
    nested = cross_val_score(search, TEXTS, LABELS, cv=KFold(2), error_score="raise")
    assert nested.min() > 0.8


def test_pipelines():
    pipe = make_pipeline(TfidfVectorizer(), classifier())
    search = GridSearchCV(
        pipe, {"treetopclassifier__tree__leaf_size": [2, 6]}, cv=2, scoring=ranking_scorer("nDCG@3")
    )
    assert search.fit(TEXTS, Y).score(NEW, Y_TRUE) > 0.8
    assert search.best_estimator_[-1].n_features_in_ == len(search.best_estimator_[0].vocabulary_)
    assert pipe.fit(TEXTS, LABELS).score(NEW, TRUE) > 0.8


def test_ranking_scorers_agree_with_evaluate():
    model = treetop.XRLinear(**SMALL, threads=1).fit(TEXTS, LABELS)
    metrics = model.evaluate(NEW, TRUE)
    for y, truth in ((LABELS, TRUE), (Y, Y_TRUE), (sparse.csr_matrix(Y), sparse.csr_matrix(Y_TRUE))):
        made = classifier().fit(TEXTS, y)
        for name in ("P@1", "R@3", "nDCG@5", "PSP@3"):
            assert ranking_scorer(name)(made, NEW, truth) == pytest.approx(metrics[name] / 100, abs=1e-6)
    assert pickle.loads(pickle.dumps(ranking_scorer("P@1"))).metric == "P@1"
    assert repr(ranking_scorer("P@1")) == "ranking_scorer('P@1')"
    with pytest.raises(ConfigError, match="metric must be one of"):
        ranking_scorer("accuracy")
    with pytest.raises(ConfigError, match="needs a TreetopClassifier, not TfidfVectorizer"):
        ranking_scorer("P@1")(TfidfVectorizer(), NEW, TRUE)


@pytest.mark.parametrize(
    "y", [Y, LABELS, FIRST, pandas.DataFrame(Y)], ids=["dense", "sets", "single", "frame"]
)
@pytest.mark.parametrize("method", ["xr-linear", "hybrid", "ensemble"])
def test_pickles_and_copies(y, method, tmp_path):
    settings = {"methods": "xr-linear,neighbours"} if method == "ensemble" else {}
    made = classifier(method, **settings).fit(TEXTS, y)
    joblib.dump(made, tmp_path / "model.joblib")
    for again in (
        pickle.loads(pickle.dumps(made)),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(made),
    ):
        assert np.array_equal(np.asarray(again.predict(NEW), object), np.asarray(made.predict(NEW), object))
        assert np.array_equal(again.classes_, made.classes_)


def test_models_themselves_can_be_pickled(tmp_path):
    model = treetop.XRLinear(**SMALL, calibration="platt").fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    mapped = treetop.load(tmp_path / "model")
    for each in (model, mapped):
        again = pickle.loads(pickle.dumps(each))
        assert np.array_equal(again.predict(NEW).scores, model.predict(NEW).scores)
    assert pickle.loads(pickle.dumps(treetop.XRLinear(beam=3))).config == treetop.XRLinear(beam=3).config
    assert copy.copy(model).labels is model.labels


@pytest.mark.process
def test_workers_get_whole_estimators():
    scores = cross_val_score(
        classifier(), TEXTS, LABELS, cv=KFold(2), n_jobs=2, scoring=ranking_scorer("P@1")
    )
    assert np.array_equal(
        scores, cross_val_score(classifier(), TEXTS, LABELS, cv=KFold(2), scoring=ranking_scorer("P@1"))
    )


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    for name in [*sys.modules]:
        if name == "treetop.sklearn" or name.startswith("treetop.sklearn."):
            monkeypatch.delitem(sys.modules, name)
        elif name.partition(".")[0] == "sklearn":
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"^treetop.sklearn needs an extra .*treetop-xmc\[sklearn\]'"):
        importlib.import_module("treetop.sklearn")
