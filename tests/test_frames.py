"""pandas and polars wherever texts, labels and features go in."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
from scipy import sparse

import treetop
from conftest import planted
from small_data import same, topic_texts
from treetop import Dataset
from treetop.errors import DataError
from treetop.report.build import write_report

SMALL = {"leaf_size": 4, "branching": 2, "threads": 1}
BOTH = pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])


@pytest.fixture(scope="module")
def plain() -> Dataset:
    return Dataset.from_texts(*topic_texts(60, seed=0))


@pytest.fixture(scope="module")
def model(plain) -> treetop.XRLinear:
    return treetop.XRLinear(**SMALL).fit(plain)


def frame_of(library, dataset: Dataset, text: str = "text", labels: str = "labels"):
    rows = range(len(dataset))
    return library.DataFrame(
        {text: list(dataset.texts), labels: [dataset.labels_of(row) for row in rows], "stars": list(rows)}
    )


def equal(a: Dataset, b: Dataset) -> bool:
    return a.texts == b.texts and a.labels == b.labels and (a.Y != b.Y).nnz == 0


@BOTH
def test_a_frame_is_the_same_data(library, plain):
    assert equal(Dataset.from_frame(frame_of(library, plain)), plain)
    named = Dataset.from_frame(frame_of(library, plain, "title", "tags"), text="title", labels="tags")
    assert equal(named, plain)
    assert named.ids is None and named.source == "the frame"


@BOTH
def test_every_verb_takes_frames(library, plain, model):
    frame = frame_of(library, plain)
    expected = model.predict(plain, k=3)
    fitted = treetop.XRLinear(**SMALL).fit(frame)
    assert same(fitted.predict(frame, k=3), expected)
    assert same(fitted.predict(frame["text"], k=3), expected)
    assert fitted.evaluate(frame) == model.evaluate(plain)
    assert fitted.evaluate(frame["text"], frame["labels"]) == model.evaluate(plain)
    assert treetop.evaluate(expected, frame) == treetop.evaluate(expected, plain)
    assert treetop.evaluate(expected, frame, train=frame) == treetop.evaluate(expected, plain, train=plain)

    other = frame_of(library, plain, "title", "tags")
    fitted = treetop.XRLinear(**SMALL).fit(other, "tags", text="title")
    assert same(fitted.predict(other, k=3, text="title"), expected)
    assert fitted.evaluate(other, "tags", text="title") == model.evaluate(plain)
    fitted.calibrate(other, text="title", labels="tags")
    assert fitted.calibration is not None
    fitted.update(other[:5], other, text="title", labels="tags")
    assert fitted.statistics["updates"]["examples"] == 5

    series = treetop.XRLinear(**SMALL).fit(other["title"], other["tags"])
    assert same(series.predict(other["title"], k=3), expected)


@BOTH
def test_tuning_comparing_and_ensembles_take_frames(library, plain, model):
    frame = frame_of(library, plain)
    found = treetop.tune("xr-linear", frame, trials=1, settings=SMALL, validation=frame)
    assert len(found.trials) == 1
    compared = treetop.compare([treetop.Variant("one", "xr-linear", SMALL)], frame, frame, seeds=1)
    assert len(compared.runs["one"]) == 1
    assert len(treetop.Ensemble.learn([model, model], frame).members) == 2


@BOTH
def test_frames_are_written_and_reported_on(library, plain, model, tmp_path):
    frame = frame_of(library, plain)
    treetop.write(frame, tmp_path / "all.jsonl")
    assert equal(treetop.read(tmp_path / "all.jsonl"), plain)
    treetop.write(frame[["text"]], tmp_path / "texts.jsonl")
    assert treetop.read(tmp_path / "texts.jsonl", need_labels=False).texts == plain.texts
    write_report({"model": model}, frame, tmp_path / "report.html")
    assert f"{len(plain):,} test texts" in (tmp_path / "report.html").read_text("utf-8")
    with pytest.raises(DataError, match="no labels to evaluate against"):
        write_report({"model": model}, Dataset.from_texts(["a"], [[]]), tmp_path / "none.html")


@BOTH
def test_kinds_of_label_columns(library):
    def labels_of(column, **options):
        frame = library.DataFrame({"text": ["a b", "c d", "e f"][: len(column)], "labels": column})
        dataset = Dataset.from_frame(frame, **options)
        return [dataset.labels_of(row) for row in range(len(dataset))]

    assert labels_of([["x", "y"], [], ["y"]]) == [["x", "y"], [], ["y"]]
    assert labels_of(["x;y", "", "y"]) == [["x", "y"], [], ["y"]]
    assert labels_of(["x / y", "", "y"], label_separator="/") == [["x", "y"], [], ["y"]]
    assert labels_of(['["x", "y"]', "[]", '["y"]']) == [["x", "y"], [], ["y"]]
    assert labels_of([7, 12, 7]) == [["7"], ["12"], ["7"]]
    assert labels_of([[7, 12], [], [7]]) == [["12", "7"], [], ["7"]]


@BOTH
def test_a_column_for_each_label(library):
    frame = library.DataFrame({"text": ["a", "b"], "spam": [1, 0], "urgent": [True, True], "other": [5, 6]})
    dataset = Dataset.from_frame(frame, labels=["urgent", "spam"])
    assert list(dataset.labels) == ["urgent", "spam"]
    assert dataset.Y.toarray().tolist() == [[1, 1], [1, 0]]
    beside = Dataset.from_texts(frame["text"], frame[["urgent", "spam"]])
    assert equal(beside, dataset)
    assert equal(
        Dataset.from_texts(frame["text"], dataset.Y), Dataset.from_texts(["a", "b"], [["0", "1"], "0"])
    )


@BOTH
def test_joined_texts_ids_and_groups(library):
    frame = library.DataFrame(
        {
            "id": [7, 8],
            "title": ["Bread", "Boat"],
            "body": ["crust", None],
            "labels": [["x"], ["y"]],
            "who": ["p", "q"],
        }
    )
    dataset = Dataset.from_frame(frame, text="title,body", group="who")
    assert list(dataset.texts) == ["Bread\ncrust", "Boat"]
    assert list(dataset.ids) == ["7", "8"] and list(dataset.groups) == ["p", "q"]
    assert list(Dataset.from_frame(frame, text=["body", "title"], id=None).texts) == ["crust\nBread", "Boat"]
    predictions = treetop.XRLinear(**SMALL).fit(dataset).predict(frame, text="title", k=1)
    assert list(predictions.ids) == ["7", "8"]


@BOTH
def test_frames_of_features(library):
    X, Y = planted(40, 6, 30, seed=0)
    names = [f"label {column}" for column in range(6)]
    features = library.DataFrame({f"f{column}": values for column, values in enumerate(X.toarray().T)})
    indicators = library.DataFrame(dict(zip(names, Y.toarray().astype(bool).T, strict=True)))
    expected = treetop.XRLinear(**SMALL).fit(Dataset.from_matrices(X, Y, labels=names))
    model = treetop.XRLinear(**SMALL).fit(features, indicators)
    assert same(model.predict(features), expected.predict(X))
    assert list(model.labels) == names


def test_sparse_pandas_columns():
    X, Y = planted(40, 6, 30, seed=0)
    made = Dataset.from_matrices(
        pandas.DataFrame.sparse.from_spmatrix(X),
        pandas.DataFrame.sparse.from_spmatrix(Y, columns=list("abcdef")),
    )
    assert (made.X != X).nnz == 0 and (made.Y != Y).nnz == 0 and list(made.labels) == list("abcdef")


def test_names_beside_features():
    X = np.eye(2, dtype=np.float32)
    assert list(Dataset.from_matrices(X, [["b", "a"], []]).labels) == ["a", "b"]
    assert list(Dataset.from_matrices(X, [[0, 1], [1, 0]]).Y.indices) == [1, 0]  # still a matrix


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a", None], "labels": ["x", "y"]}, "row 1: the text in 'text' is missing"),
        (
            {"text": ["a", "b"], "labels": [["x"], None]},
            "row 1: 'labels' is missing; an example without labels",
        ),
        ({"text": ["a"], "labels": [["x", None]]}, "the labels of row 0 contain a missing value"),
        ({"text": ["a"], "tags": ["x"]}, "no column 'labels'.*columns: tags"),
        ({"texts": ["a"], "labels": ["x"]}, "did you mean 'texts'. Name it with text="),
        ({"text": [1], "labels": ["x"]}, "row 0: 'text' has type int"),
        ({"id": ["1", None], "text": ["a", "b"], "labels": ["a", "b"]}, "row 1: 'id' is missing"),
        ({"text": ["a"], "labels": ["[x]"]}, "row 0: the labels '.x.' are not"),
    ],
)
@BOTH
def test_bad_frames(library, columns, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_frame(library.DataFrame(columns))
    with pytest.raises(DataError, match=message):
        treetop.XRLinear().fit(library.DataFrame(columns))


@BOTH
def test_bad_columns(library):
    gaps = library.DataFrame({"text": ["sea", None], "labels": [["x"], None], "spam": [1.0, None]})
    with pytest.raises(DataError, match=r"row 1 is missing"):
        Dataset.from_texts(gaps["text"])
    with pytest.raises(DataError, match=r"labels of row 1 are missing"):
        Dataset.from_texts(["sea", "land"], gaps["labels"])
    with pytest.raises(DataError, match="row 1 has nan"):
        Dataset.from_texts(["sea", "land"], gaps[["spam"]])
    with pytest.raises(DataError, match="the labels are a DataFrame"):
        Dataset.from_texts(["sea", "land"], gaps[["text", "spam"]])
    with pytest.raises(DataError, match="features are a frame with non-numeric columns"):
        Dataset.from_matrices(gaps[["text", "spam"]])
    with pytest.raises(DataError, match="no column 'text'"):
        treetop.XRLinear().fit(["sea"], [["x"]]).predict(library.DataFrame({"title": ["sea"]}))


def test_what_is_no_frame():
    with pytest.raises(DataError, match="list is not a pandas or polars frame"):
        Dataset.from_frame(["a"])
    with pytest.raises(DataError, match="text= names columns of a frame"):
        treetop.XRLinear().fit(["a"], [["x"]], text="title")
    with pytest.raises(DataError, match="text= and labels= name the columns of a frame"):
        treetop.XRLinear().fit(["sea"], [["x"]]).calibrate(Dataset.from_texts(["sea"], ["x"]), labels="tags")


def test_pandas_says_its_index():
    frame = pandas.DataFrame({"text": ["a", None], "labels": ["x", "y"]}, index=["first", "second"])
    with pytest.raises(
        DataError, match=r"the frame, row 1 \(index 'second'\): the text in 'text' is missing"
    ):
        Dataset.from_frame(frame)
    with pytest.raises(DataError, match=r"row 1 \(index 'second'\) is missing"):
        treetop.XRLinear().fit(frame["text"], frame["labels"])


def test_missing_values_of_every_kind():
    for gap in (None, float("nan"), pandas.NA, pandas.NaT, np.nan):
        with pytest.raises(DataError, match="row 1 is missing"):
            Dataset.from_texts(["a", gap])


def test_a_name_that_two_columns_have():
    frame = pandas.DataFrame([["a", "b", "x"]], columns=["text", "text", "labels"])
    with pytest.raises(DataError, match="2 columns are named 'text'"):
        Dataset.from_frame(frame)


def test_lazy_frames_are_collected_first():
    lazy = polars.LazyFrame({"text": ["a"], "labels": [["x"]]})
    with pytest.raises(DataError, match=r"pass frame.collect\(\)"):
        treetop.XRLinear().fit(lazy)


def test_matrices_of_labels_beside_texts():
    Y = sparse.csr_array(np.array([[0, 1], [1, 0]], bool))
    texts = ["flour bread", "boat wind"]
    model = treetop.XRLinear(**SMALL).fit(texts, Y)
    assert [ranked[0].label for ranked in model.predict(texts)] == ["1", "0"]
    with pytest.raises(DataError, match="row 1 has -1"):
        treetop.XRLinear().fit(texts, np.array([[1, 0], [0, -1]]))
