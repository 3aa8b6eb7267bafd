"""The result type: construction, selection, conversion, and its file."""

from __future__ import annotations

import io
import json
import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from treetop import Predictions, Strings
from treetop.errors import ConfigError, DataError, MissingExtraError
from treetop.predictions import Scored

LABELS = Strings.of(["apple", "bread", "cheese", "date"])


def small(ids: list[str] | None = None) -> Predictions:
    """Three examples: three labels, none, one."""
    return Predictions(
        np.array([0, 3, 3, 4]),
        np.array([2, 0, 1, 3]),
        np.array([0.9, 0.5, 0.0, -1.5]),
        LABELS,
        None if ids is None else Strings.of(ids),
    )


def same(a: Predictions, b: Predictions) -> bool:
    return list(a) == list(b) and a.ids == b.ids


def test_rows_and_slices() -> None:
    predictions = small(["x", "y", "z"])
    assert len(predictions) == 3
    assert [item.label for item in predictions[0]] == ["cheese", "apple", "bread"]
    assert predictions[-1] == [("date", -1.5)]
    assert repr(predictions[2]) == "[Scored('date', -1.5)]"
    assert [len(row) for row in predictions] == [3, 0, 1]
    assert predictions[1:].label_sets() == [set(), {"date"}]
    assert list(predictions[1:].ids or []) == ["y", "z"]
    assert predictions[[2, 0, 0]].indices.tolist() == [3, 2, 0, 1, 2, 0, 1]
    assert predictions[np.array([True, False, True])].indptr.tolist() == [0, 3, 4]
    assert len(predictions[:0]) == 0 and len(predictions[[]]) == 0 and predictions[[-1]][0] == predictions[2]
    with pytest.raises(IndexError):
        predictions[3]


def test_selection() -> None:
    predictions = small()
    assert predictions.top(2).indices.tolist() == [2, 0, 3]
    assert predictions.top(9) is predictions
    assert predictions.above(0.5).label_sets() == [{"cheese"}, set(), set()]
    assert predictions.above(-np.inf).indices.tolist() == predictions.indices.tolist()
    assert predictions.ranked(2).tolist() == [[2, 0], [-1, -1], [3, -1]]
    assert predictions.ranked(5).shape == (3, 5)
    with pytest.raises(ConfigError, match="k must be at least 1, not 0"):
        predictions.top(0)


def test_csr_keeps_zero_scores_and_sorts_columns() -> None:
    predictions = small()
    before = predictions.indices.copy()
    matrix = predictions.to_csr()
    assert matrix.nnz == 4 and matrix.has_sorted_indices and matrix.dtype == np.float32
    assert matrix.indices.tolist() == [0, 1, 2, 3]
    assert matrix.toarray()[0].tolist() == pytest.approx([0.5, 0.0, 0.9, 0.0])
    assert np.array_equal(predictions.indices, before)
    assert same(Predictions.from_csr(matrix, LABELS), predictions)


def test_from_csr_breaks_ties_by_smaller_id() -> None:
    scores = np.array([[-1.0, 3.0, 3.0, -0.5], [2.0, 2.0, 2.0, 2.0]])
    predictions = Predictions.from_csr(scores, LABELS, k=3)
    assert predictions.ranked(3).tolist() == [[1, 2, 3], [0, 1, 2]]
    zeros = sparse.csr_matrix((np.array([0.0, -0.0], np.float32), [3, 1], [0, 2]), shape=(1, 4))
    assert Predictions.from_csr(zeros, LABELS).indices.tolist() == [1, 3]
    with pytest.raises(DataError, match="4 score columns but 1 labels"):
        Predictions.from_csr(scores, ["only"])


some_scores = st.floats(-9, 9, width=32) | st.sampled_from([-1.0, -0.0, 0.0, 1.0])


@given(st.lists(st.lists(some_scores, min_size=4, max_size=4), min_size=1, max_size=6))
def test_from_csr_order_is_that_of_a_plain_sort(rows: list[list[float]]) -> None:
    scores = np.array(rows, np.float32)
    bounds = 4 * np.arange(len(rows) + 1)
    matrix = sparse.csr_matrix((scores.ravel(), np.tile(np.arange(4), len(rows)), bounds), (len(rows), 4))
    expected = [[j for _, j in sorted(zip(-row, range(4), strict=True))] for row in scores]
    assert Predictions.from_csr(matrix, LABELS).ranked(4).tolist() == expected


def test_aligned_to_another_vocabulary() -> None:
    moved = small().aligned_to(Strings.of(["zebra", "cheese", "apple"]))
    assert list(moved.labels) == ["zebra", "cheese", "apple", "bread", "date"]
    assert same(moved, small())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": [0, 2, 1, 4]}, "indptr must ascend"),
        ({"indptr": [0, 1, 2, 3]}, "indptr must ascend"),
        ({"scores": [1.0]}, "1 scores but 4 labels"),
        ({"indices": [0, 1, 2, 4]}, "outside 0…3"),
        ({"scores": [1, 0.5, 0.6, 0]}, "row 0 is not ordered by decreasing score"),
        ({"scores": [1, 0.5, 0.5, np.nan]}, "row 2 has a score that is not a finite number"),
        ({"ids": Strings.of(["a"])}, "1 ids but 3 examples"),
    ],
)
def test_bad_parts_are_refused(change: dict, message: str) -> None:
    parts = {"indptr": [0, 3, 3, 4], "indices": [2, 0, 1, 3], "scores": [3, 2, 1, 9], "labels": LABELS}
    with pytest.raises(DataError, match=message):
        Predictions(**(parts | change))


def test_shown() -> None:
    predictions = small(["x", "y", "z"])
    assert repr(predictions) == "Predictions(3 examples, up to 3 of 4 labels each)"
    assert str(predictions).splitlines()[1:] == [
        "  x: cheese 0.900, apple 0.500, bread 0.000",
        "  y: no labels",
        "  z: date -1.500",
    ]
    assert str(predictions[[0] * 6]).endswith("\n  …")
    assert repr(Scored("a", 0.123456)) == "Scored('a', 0.1235)"


def test_frames() -> None:
    columns = ["row", "id", "rank", "label", "score"]
    frame = small(["x", "y", "z"]).to_pandas()
    assert list(frame.columns) == columns
    assert frame.iloc[3].tolist() == [2, "z", 1, "date", -1.5]
    frame = small().to_polars()
    assert frame.columns == columns
    assert frame.row(1) == (0, "0", 2, "apple", 0.5)
    assert small()[:0].to_polars().shape == (0, 5)
    assert small()[1:2].to_pandas().shape == (0, 5)


def test_frames_name_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(MissingExtraError, match=r"treetop-xmc\[frames\]"):
            getattr(small(), f"to_{library}")()


def test_file_holds_the_documented_lines(tmp_path) -> None:
    path = tmp_path / "out.jsonl"
    small(["x", "ÿ", "z"]).write(path)
    assert path.read_text("utf-8").splitlines() == [
        '{"id": "x", "labels": [{"label": "cheese", "score": 0.9}, {"label": "apple", "score": 0.5},'
        ' {"label": "bread", "score": 0.0}]}',
        '{"id": "ÿ", "labels": []}',
        '{"id": "z", "labels": [{"label": "date", "score": -1.5}]}',
    ]
    assert same(Predictions.read(path), small(["x", "ÿ", "z"]))
    small().write(path)
    assert json.loads(path.read_text("utf-8").splitlines()[2])["id"] == 2
    assert Predictions.read(path).ids is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]


def test_streams(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    small().write("-")
    written = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(written))
    assert same(Predictions.read("-"), small())
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    Predictions([0, 1], [0], [1.0], Strings.of(["śnieg"])).write(latin)
    latin.seek(0)
    assert Predictions.read(latin)[0] == [("śnieg", 1.0)]


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@settings(deadline=None)
@given(st.lists(st.dictionaries(names, finite, max_size=6), max_size=6))
def test_write_then_read_gives_the_same(rows: list[dict[str, float]]) -> None:
    labels = Strings.of(sorted({name for row in rows for name in row}))
    matrix = sparse.csr_matrix(
        (
            np.array([score for row in rows for score in row.values()], np.float32),
            np.array([labels.position(name) for row in rows for name in row], np.int32),
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(len(rows), len(labels)),
    )
    predictions = Predictions.from_csr(matrix, labels)
    stream = io.StringIO()
    predictions.write(stream)
    stream.seek(0)
    assert same(Predictions.read(stream), predictions)


def test_read_keeps_the_order_of_ties_and_mends_the_rest(tmp_path) -> None:
    path = tmp_path / "p.jsonl"
    listed = [{"label": label, "score": score} for label, score in [("b", 1), ("a", 1), ("c", 2)]]
    path.write_text(json.dumps({"id": 7, "labels": listed}) + "\n\n")
    predictions = Predictions.read(path)
    assert [label for label, _ in predictions[0]] == ["c", "b", "a"]
    assert list(predictions.ids or []) == ["7"]


def test_lines_without_ids_are_in_the_order_of_the_examples(tmp_path) -> None:
    path = tmp_path / "p.jsonl"
    lines = [{"labels": [{"label": label, "score": 1}]} for label in "ab"]
    path.write_text("\n".join(map(json.dumps, lines)))
    predictions = Predictions.read(path)
    assert predictions.ids is None and [row[0].label for row in predictions] == ["a", "b"]
    path.write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1] | {"id": "b"}))
    with pytest.raises(DataError, match="line 2, field id: all lines need one, or none"):
        Predictions.read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not valid JSON"),
        ('{"id": null, "labels": []}', "line 2, field id: expected"),
        ("[]", "line 2: expected"),
        ('{"labels": []}', "line 2, field id"),
        ('{"id": 1}', "line 2, field labels: expected a list"),
        ('{"id": 1, "labels": ["a"]}', "line 2, field labels: expected"),
        ('{"id": 1, "labels": [{"label": "a", "score": true}]}', "line 2, field labels: expected"),
        ('{"id": 1, "labels": [{"label": "a", "score": 1e99}]}', "score of 'a' must be a finite number"),
        ('{"id": 1, "labels": [{"label": "a", "score": NaN}]}', "score of 'a' must be a finite number"),
        (
            '{"id": 1, "labels": [{"label": "a", "score": 1}, {"label": "a", "score": 0}]}',
            "line 2, field labels: a label is listed twice",
        ),
    ],
)
def test_bad_lines_are_named(tmp_path, line: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": 0, "labels": []}\n' + line + "\n")
    with pytest.raises(DataError, match=message) as caught:
        Predictions.read(path)
    assert str(caught.value).startswith(str(path))


def test_unusable_files(tmp_path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Predictions.read(tmp_path / "absent.jsonl")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not valid UTF-8"):
        Predictions.read(tmp_path / "bytes.jsonl")
    with pytest.raises(DataError, match="does not exist"):
        small().write(tmp_path / "absent" / "p.jsonl")
    with pytest.raises(DataError, match="is a folder"):
        small().write(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_compressed_files_links_and_pipes(tmp_path) -> None:
    small().write(tmp_path / "p.jsonl.gz")
    assert (tmp_path / "p.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert Predictions.read(tmp_path / "p.jsonl.gz").labels == small().labels
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "p.jsonl")
    small().write(tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink() and (tmp_path / "p.jsonl").is_file()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    small().write(tmp_path / "pipe")
    assert os.read(reader, 1 << 16) == (tmp_path / "p.jsonl").read_bytes()
    os.close(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.jsonl", "p.jsonl", "p.jsonl.gz", "pipe"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("old")

    def broken(self: Predictions, ascii_only: bool):
        yield "new"
        raise KeyboardInterrupt

    monkeypatch.setattr(Predictions, "_json_lines", broken)
    with pytest.raises(KeyboardInterrupt):
        small().write(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1
