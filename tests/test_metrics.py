"""Metrics: by hand, by plain loops on random data, and against scikit-learn."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import f1_score, ndcg_score, precision_score, recall_score

from conftest import SHARED
from treetop import Dataset, Predictions, Strings, evaluate
from treetop.errors import ConfigError, DataError
from treetop.metrics import (
    BUCKETS,
    PROPENSITY,
    Metrics,
    by_frequency,
    compare,
    confidence_intervals,
    document_scores,
    inverse_propensity,
    label_report,
    reliability,
)

Ranking = list[list[str]]


def ranked(rows: Ranking, labels: list[str] | None = None) -> Predictions:
    """Predictions with the given labels in the given order; the j-th scores 1/(j+1)."""
    vocabulary = Strings.of(labels or sorted({label for row in rows for label in row}))
    return Predictions(
        np.cumsum([0, *map(len, rows)]),
        np.array([vocabulary.position(label) for row in rows for label in row], np.int32),
        np.array([1 / (rank + 1) for row in rows for rank in range(len(row))]),
        vocabulary,
    )


def true(rows: Ranking) -> Dataset:
    return Dataset.from_texts([""] * len(rows), rows)


# Document 1: a right, b wrong, c right of a, c, d. Document 2: nothing right. Document 3: no prediction.
PREDICTED = [["a", "b", "c"], ["b", "a", "d"], []]
TRUTH = [["a", "c", "d"], ["c"], ["a", "unseen"]]


def test_ranking_metrics_by_hand() -> None:
    metrics = evaluate(ranked(PREDICTED), true(TRUTH))
    third = 100 / 3
    dcg = 1 + 1 / 2
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    expected = {
        "P@1": third,
        "P@3": third * 2 / 3,
        "P@5": third * 2 / 5,
        "R@1": third * 1 / 3,
        "R@3": third * 2 / 3,
        "F1@1": third * 2 / 4,
        "F1@5": third * 4 / 8,
        "RP@1": third,
        "RP@5": third * 2 / 3,
        "nDCG@1": third,
        "nDCG@3": third * dcg / ideal,
        "nDCG@5": third * dcg / ideal,
        "coverage@1": 25.0,  # a of a, c, d, unseen
        "coverage@3": 50.0,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert not any(name.startswith("PS") for name in metrics)


def test_propensity_scored_metrics_by_hand() -> None:
    counts = np.array([50, 3, 2, 0])
    predictions = ranked(PREDICTED, ["a", "b", "c", "d"])
    families = ("PSP", "PSnDCG", "PSR", "PSPraw")
    metrics = evaluate(predictions, true(TRUTH), train_counts=counts, n_train=60, metrics=families)
    a, _, c, d = inverse_propensity(counts, 60).tolist()
    unseen = d
    second, third = 1 / math.log2(3), 1 / 2
    three = 1 + second + third  # the ideal DCG of three labels
    expected = {
        "PSP@1": a / (d + c + unseen),
        "PSP@3": (a + c) / ((d + c + a) + c + (unseen + a)),
        "PSP@5": (a + c) / ((d + c + a) + c + (unseen + a)),
        "PSnDCG@1": a / (d + c + unseen),
        "PSnDCG@3": (a + c * third)
        / three
        / ((d + c * second + a * third) / three + c + (unseen + a * second) / (1 + second)),
        "PSR@1": a / (a + c + d + c + a + unseen),
        "PSR@3": (a + c) / (a + c + d + c + a + unseen),
        "PSPraw@1": a / 3,
        "PSPraw@3": (a + c) / 9,
    }
    assert {name: metrics[name] / 100 for name in expected} == pytest.approx(expected)


GOLDEN = [
    # Truths, rankings, counts in 1000 training texts, and PSnDCG@1…k of xclib (5d13086) and napkinXC 0.7.2.
    # The second has equal counts, unseen labels, and rows without labels or predictions.
    (
        [["a"], ["a", "b", "c"]],
        [["a", "b", "c"], ["b", "c"]],
        {"a": 50, "b": 5, "c": 1},
        [73.24762934, 93.24722893, 87.26459481],
    ),
    (
        [["a"], ["a", "b", "d"], ["b", "c", "e", "u"], [], ["c", "u"], ["d"]],
        [["a", "b", "c"], ["b", "d"], ["a", "c", "b", "d", "e"], ["a", "b"], [], ["c", "b", "a", "e", "d"]],
        {"a": 50, "b": 5, "c": 5, "d": 1, "e": 0},
        [19.68811203, 29.9747893, 29.79826405, 28.97419186, 43.02899529],
    ),
]


@pytest.mark.parametrize(("truth", "rows", "counts", "values"), GOLDEN)
def test_psndcg_as_published(
    truth: Ranking, rows: Ranking, counts: dict[str, int], values: list[float]
) -> None:
    metrics = evaluate(
        ranked(rows, list(counts)),
        true(truth),
        train_counts=list(counts.values()),
        n_train=1000,
        ks=range(1, len(values) + 1),
        metrics=("PSnDCG",),
    )
    assert list(metrics.values()) == pytest.approx(values, abs=1e-6)


def test_oracle_by_propensity_scores_one_hundred() -> None:
    """Ranking the true labels by decreasing 1/p gives 100 % in every normalised metric."""
    counts = {"a": 9, "b": 4, "c": 1, "d": 0}
    truth = [["a", "b", "c", "d"], ["a", "c"], ["b"]]
    rows = [sorted(row, key=counts.__getitem__) for row in truth]
    metrics = evaluate(
        ranked(rows, list(counts)),
        true(truth),
        train_counts=list(counts.values()),
        n_train=20,
        metrics=("PSP", "PSnDCG", "nDCG", "RP"),
    )
    assert metrics.to_dict() == pytest.approx(dict.fromkeys(metrics, 100.0))


def test_documents_without_labels_are_zero_in_precision_and_left_out_of_recall() -> None:
    metrics = evaluate(ranked([["a"], ["a"]]), true([["a"], []]), ks=(1,), train_counts=[1], n_train=9)
    assert metrics["P@1"] == 50 and metrics["F1@1"] == 50
    for name in ("R@1", "RP@1", "nDCG@1", "PSP@1", "PSnDCG@1", "PSR@1", "coverage@1"):
        assert metrics[name] == pytest.approx(100)


@pytest.mark.parametrize(
    ("predictions", "truth"),
    [
        (ranked([["a"], ["b"]]), true([[], []])),
        (ranked([[], []]), true([["a"], ["b"]])),
        (ranked([[], []]), true([[], []])),
        (ranked([])[:0], true([])),
    ],
)
def test_nothing_right_is_zero_everywhere(predictions: Predictions, truth: Dataset) -> None:
    counts = np.zeros(len(predictions.labels))
    metrics = evaluate(predictions, truth, train_counts=counts, n_train=1, threshold=0.0)
    assert len(metrics) == 10 * 3 + 6
    assert {value for name, value in metrics.items() if not name.startswith("ECE")} == {0.0}


letters = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


def loops(predicted: Ranking, truth: Ranking, weight: dict[str, float], k: int) -> dict[str, float]:
    """The table of `treetop.metrics.documents`, one document at a time."""
    sums: dict[str, list[float]] = {}

    def add(name: str, numerator: float, denominator: float) -> None:
        entry = sums.setdefault(f"{name}@{k}", [0.0, 0.0])
        entry[0] += numerator
        entry[1] += denominator

    for row, labels in zip(predicted, truth, strict=True):
        found = [(rank, label) for rank, label in enumerate(row[:k], 1) if label in labels]
        ideal = sorted((weight[label] for label in labels), reverse=True)[:k]
        discount = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
        gain = sum(weight[label] for _, label in found)
        add("P", len(found) / k, 1)
        add("F1", 2 * len(found) / (k + len(labels)), 1)
        add("PSP", gain, sum(ideal))
        add("PSR", gain, sum(weight[label] for label in labels))
        add("PSPraw", gain / k, 1)
        add("PSnDCG", 0, 0)
        if labels:
            add("R", len(found) / len(labels), 1)
            add("RP", len(found) / min(k, len(labels)), 1)
            best = sum(discount[: len(labels)])
            add(
                "PSnDCG",
                sum(weight[label] / math.log2(rank + 1) for rank, label in found) / best,
                sum(value * factor for value, factor in zip(ideal, discount, strict=False)) / best,
            )
            add("nDCG", sum(1 / math.log2(rank + 1) for rank, _ in found) / best, 1)
    hit = {
        label for row, labels in zip(predicted, truth, strict=True) for label in row[:k] if label in labels
    }
    add("coverage", len(hit), len({label for labels in truth for label in labels}))
    return {name: 100 * top / bottom if bottom else 0.0 for name, (top, bottom) in sums.items()}


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(letters, letters), min_size=1, max_size=8),
    st.lists(st.integers(0, 40), min_size=6, max_size=6),
    st.integers(1, 8),
)
def test_against_plain_loops(pairs: list[tuple[list[str], list[str]]], counts: list[int], k: int) -> None:
    predicted, truth = [row for row, _ in pairs], [row for _, row in pairs]
    predictions = ranked(predicted, list("abcd") + [x for x in "ef" if any(x in row for row in predicted)])
    counts = counts[: len(predictions.labels)]
    known = dict(zip(predictions.labels, counts, strict=True))
    names = [label for label in "abcdef" if label not in known]
    padded = {**known, **dict.fromkeys(names, 0)}
    weights = dict(zip(padded, inverse_propensity(list(padded.values()), 50, 0.6, 2.6).tolist(), strict=True))
    metrics = evaluate(
        predictions,
        true(truth),
        train_counts=counts,
        n_train=50,
        propensity=(0.6, 2.6),
        ks=(k,),
        metrics=("P", "R", "F1", "RP", "nDCG", "PSP", "PSnDCG", "PSR", "PSPraw", "coverage"),
    )
    expected = loops(predicted, truth, weights, k)
    assert metrics.to_dict() == pytest.approx({name: expected.get(name, 0.0) for name in metrics})


def random_problem(
    seed: int, documents: int = 60, labels: int = 12
) -> tuple[Predictions, Dataset, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random((documents, labels)).astype(np.float32)
    Y = (rng.random((documents, labels)) < 0.25).astype(np.float32)
    Y[Y.sum(axis=1) == 0, 0] = 1
    scores += 0.4 * Y
    names = [f"label {j:02}" for j in range(labels)]
    truth = Dataset.from_matrices(np.ones((documents, 1)), Y, labels=names)
    return Predictions.from_csr(sparse.csr_matrix(scores), names), truth, scores


def test_ndcg_against_scikit_learn() -> None:
    predictions, truth, scores = random_problem(0)
    metrics = evaluate(predictions, truth, ks=(1, 3, 5, 20))
    for k in (1, 3, 5, 20):
        assert metrics[f"nDCG@{k}"] == pytest.approx(100 * ndcg_score(truth.Y.toarray(), scores, k=k))


def test_f1_against_scikit_learn() -> None:
    predictions, truth, scores = random_problem(1)
    truth = truth[np.arange(8)]  # few documents: some labels are never true
    metrics = evaluate(predictions[:8], truth, threshold=0.9)
    y, d = truth.Y.toarray() > 0, scores[:8] > 0.9
    options = {"zero_division": 0}
    assert metrics["micro-P"] == pytest.approx(100 * precision_score(y, d, average="micro", **options))
    assert metrics["micro-R"] == pytest.approx(100 * recall_score(y, d, average="micro", **options))
    for average in ("micro", "macro"):
        assert metrics[f"{average}-F1"] == pytest.approx(100 * f1_score(y, d, average=average, **options))
    assert metrics["sample-F1"] == pytest.approx(100 * f1_score(y, d, average="samples", **options))
    p = precision_score(y, d, average="macro", **options)
    r = recall_score(y, d, average="macro", **options)
    assert metrics["macro-F1-of-means"] == pytest.approx(100 * 2 * p * r / (p + r))


def scored(scores: list[list[float]], hits: list[str]) -> tuple[Predictions, Dataset]:
    """Labels "0", "1", … of each row with these scores; ``hits`` marks the true ones with x."""
    names = [str(column) for column in range(max(map(len, scores)))]
    predictions = Predictions(
        np.cumsum([0, *map(len, scores)]),
        np.concatenate([np.arange(len(row)) for row in scores]).astype(np.int32),
        np.concatenate(scores),
        Strings.of(names),
    )
    return predictions, true([[names[j] for j, mark in enumerate(row) if mark == "x"] for row in hits])


def test_calibration_error_by_hand() -> None:
    # In fifteenths, (0.9333, 1] holds 1, 1 and 0.95 (two of three right), (0.4667, 0.5333] holds 0.5 (right),
    # [0, 0.0667] holds 0 and 0.05 (wrong).
    predictions, truth = scored([[1.0, 0.5, 0.0], [1.0, 0.05], [0.95]], ["xx.", "..", "x"])
    bins = reliability(predictions, truth)
    assert [(item.pairs, round(item.score, 6), round(item.hits, 6)) for item in bins] == [
        (2, 0.025, 0.0),
        (1, 0.5, 1.0),
        (3, 0.983333, 0.666667),
    ]
    assert (bins[1].low, bins[1].high) == pytest.approx((7 / 15, 8 / 15))
    metrics = evaluate(predictions, truth)
    assert metrics["ECE@5"] == pytest.approx(100 * (2 * 0.025 + 0.5 + 0.95) / 6)
    assert metrics["ECE@1"] == pytest.approx(100 * 0.95 / 3)
    halves = reliability(predictions, truth, bins=2)  # a border belongs to the bin below it
    assert [(item.pairs, item.low, item.high) for item in halves] == [(3, 0.0, 0.5), (3, 0.5, 1.0)]
    assert len(reliability(predictions, truth, k=1)) == 1


def test_calibration_error_needs_scores_in_range() -> None:
    predictions, truth = scored([[1.5, 0.5, -0.5]], ["x.."])
    assert not any(name.startswith("ECE") for name in evaluate(predictions, truth))
    with pytest.raises(DataError, match="between 0 and 1"):
        reliability(predictions, truth)
    with pytest.raises(ConfigError, match="at least 1"):
        reliability(predictions, truth, bins=0)


def test_labels_are_matched_by_name() -> None:
    """The order of either vocabulary, and labels only one side has, change nothing but the misses."""
    predictions = ranked(PREDICTED, ["d", "zz", "c", "b", "a"])
    metrics = evaluate(predictions, true(TRUTH))
    assert metrics.to_dict() == pytest.approx(evaluate(ranked(PREDICTED), true(TRUTH)).to_dict())
    assert evaluate(ranked([["a"]]), true([["a", "new"]]), ks=(1,))["R@1"] == 50


def test_training_set_gives_the_counts_by_name() -> None:
    """A vocabulary read from a file lacks labels that were never predicted; their counts still matter."""
    train = true([["a"], ["a", "b"], ["c"], ["d", "a"], ["d", "unpredicted"]])
    truth = true([["a", "d"], ["unpredicted", "new"]])
    full = ranked([["a", "b"], ["c"]], ["a", "b", "c", "d", "unpredicted"])
    by_set = evaluate(ranked([["a", "b"], ["c"]]), truth, train=train, threshold=0.0)
    by_counts = evaluate(full, truth, train_counts=[3, 1, 1, 2, 1], n_train=5, threshold=0.0)
    assert by_set.to_dict() == pytest.approx(by_counts.to_dict())


def test_inverse_propensity_matches_the_published_figures() -> None:
    path = SHARED / "data" / "golden" / "eurlex-inv-propensity.tsv"
    if not path.exists():
        pytest.skip(f"no reference data at {path}")
    table = np.loadtxt(path, skiprows=1)
    ours = inverse_propensity(table[:, 1], 15_539, *PROPENSITY["eurlex-4k"])
    assert np.allclose(ours, table[:, 2], rtol=5e-5, atol=0)  # printed with five digits


def test_inverse_propensity_by_hand() -> None:
    C = (math.log(100) - 1) * 2.5**0.55
    assert inverse_propensity([0, 7], 100).tolist() == pytest.approx([1 + C / 1.5**0.55, 1 + C / 8.5**0.55])
    assert inverse_propensity([0, 1], 2).tolist() == [1, 1]


def test_buckets_sum_to_precision_and_count_every_occurrence() -> None:
    predictions, truth, _ = random_problem(2)
    counts = [0, 1, 5, 6, 50, 51, 900, 3, 3, 0, 7, 60]
    buckets = by_frequency(predictions, truth, train_counts=counts)
    metrics = evaluate(predictions, truth)
    assert [bucket.name for bucket in buckets] == list(BUCKETS)
    assert [(bucket.low, bucket.high) for bucket in buckets] == [(0, 0), (1, 5), (6, 50), (51, None)]
    assert [bucket.labels for bucket in buckets] == [2, 4, 3, 3]
    assert sum(bucket.occurrences for bucket in buckets) == truth.Y.nnz
    for k in (1, 3, 5):
        assert sum(bucket.precision[k] for bucket in buckets) == pytest.approx(metrics[f"P@{k}"])


def test_bucket_recall_by_hand() -> None:
    train = true([["a"], ["a"], ["b"]])
    buckets = by_frequency(
        ranked(PREDICTED), true(TRUTH), train=train, ks=(3,), buckets={"none": 0, "one": 1, "more": None}
    )
    assert [(bucket.name, bucket.labels, bucket.occurrences) for bucket in buckets] == [
        ("none", 3, 4),  # c, c, d, unseen
        ("one", 1, 0),
        ("more", 1, 2),
    ]
    assert [bucket.recall[3] for bucket in buckets] == [25, 0, 50]


def test_label_report_by_hand() -> None:
    report = label_report(ranked(PREDICTED), true(TRUTH), k=2, train_counts=[5, 4, 3, 2])
    assert [tuple(row) for row in report.rows] == [
        ("a", 5, 2, 2, 1, 50, 50, 50),
        ("c", 3, 2, 0, 0, 0, 0, 0),
        ("d", 2, 1, 0, 0, 0, 0, 0),
        ("unseen", 0, 1, 0, 0, 0, 0, 0),
        ("b", 4, 0, 2, 0, 0, 0, 0),
    ]
    assert report.to_pandas().shape == report.to_polars().shape == (len(report), 8)
    assert label_report(ranked(PREDICTED), true(TRUTH)).rows[0].train_count is None


def test_document_scores_give_the_values() -> None:
    predictions, truth, _ = random_problem(3)
    options = {"train_counts": np.arange(12), "n_train": 60, "threshold": 0.8}
    scores = document_scores(predictions, truth, **options)
    metrics = evaluate(predictions, truth, **options)
    assert {name: score.value for name, score in scores.items()} == {name: metrics[name] for name in scores}
    assert set(metrics) - set(scores) == {
        *(f"coverage@{k}" for k in (1, 3, 5)),
        "macro-F1",
        "macro-F1-of-means",
    }


def test_confidence_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    predictions, truth, _ = random_problem(4, documents=400)
    options = {"train_counts": np.arange(12), "n_train": 60, "threshold": 0.8}
    intervals = confidence_intervals(predictions, truth, samples=400, **options)
    scores = document_scores(predictions, truth, **options)
    for name, (value, low, high) in intervals.items():
        assert low < value < high, name
        # Delta method for a ratio of means: var = Σ (num − R·den)² / (Σ den)².
        numerator, denominator = scores[name].numerator, scores[name].denominator
        residual = numerator - numerator.sum() / denominator.sum() * denominator
        error = 100 * math.sqrt((residual**2).sum()) / denominator.sum()
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.2), name
    again = confidence_intervals(predictions, truth, samples=400, **options)
    assert again == intervals
    monkeypatch.setattr("treetop.metrics.intervals.BLOCK_BYTES", 8 * 400 * 7)
    blocked = confidence_intervals(predictions, truth, samples=400, **options)
    assert np.allclose(list(blocked.values()), list(intervals.values()))
    assert str(intervals["P@1"]).count(".") == 3


def test_comparison_of_a_model_with_itself_and_with_a_better_one() -> None:
    predictions, truth, scores = random_problem(5, documents=200)
    options = {"train_counts": np.arange(12), "n_train": 60, "threshold": 0.8, "samples": 200}
    for difference in compare(predictions, predictions, truth, **options).values():
        assert difference[2:] == (0, 0, 0, 1)
    better = Predictions.from_csr(sparse.csr_matrix(scores + 0.5 * truth.Y.toarray()), truth.labels)
    result = compare(better, predictions, truth, **options)
    reverse = compare(predictions, better, truth, **options)
    evaluated = evaluate(better, truth, train_counts=np.arange(12), n_train=60, threshold=0.8)
    for name in ("P@1", "nDCG@3", "PSP@5", "micro-F1"):
        assert result[name].first == evaluated[name]
        assert 0 < result[name].low < result[name].difference < result[name].high
        assert result[name].p_value == pytest.approx(1 / 201)
        assert reverse[name].difference == -result[name].difference


def test_permutation_p_value_is_exact_enough() -> None:
    """Four documents that differ by (1, 1, 1, −1): of the 16 swaps, 10 give a difference as large."""
    right, wrong = ["a"], ["b"]
    first, second = [right] * 3 + [wrong], [wrong] * 3 + [right]
    result = compare(ranked(first), ranked(second), true([["a"]] * 4), ks=(1,), samples=4000)
    assert result["P@1"].difference == 50
    assert result["P@1"].p_value == pytest.approx(10 / 16, abs=0.03)


def test_comparison_matches_vocabularies_by_name() -> None:
    truth = true([["a", "d"], ["c"], ["b"]])
    first, second = ranked([["a"], ["c"], ["a"]], list("abcd")), ranked([["d"], ["c"], ["b"]])
    result = compare(first, second, truth, train_counts=[9, 2, 3, 1], n_train=20, ks=(1,), samples=10)
    reordered = ranked([["d"], ["c"], ["b"]], list("abcd"))
    expected = evaluate(reordered, truth, train_counts=[9, 2, 3, 1], n_train=20, ks=(1,))
    assert result["PSP@1"].second == pytest.approx(expected["PSP@1"])
    train = true([["a"]] * 9 + [["b"]] * 2 + [["c"]] * 3 + [["d"]])
    assert "PSP@1" in compare(first, second, truth, train=train, ks=(1,), samples=10)


def test_metrics_read_like_a_mapping() -> None:
    metrics = evaluate(ranked(PREDICTED), true(TRUTH), ks=(1, 3), metrics=("P", "nDCG"), threshold=0.4)
    assert json.loads(json.dumps(metrics.to_dict())) == metrics.to_dict() == dict(metrics)
    assert metrics.table().splitlines()[:3] == [
        "                       @1      @3",
        "P                   33.33   22.22",
        "nDCG                33.33   23.46",
    ]
    assert str(metrics) == metrics.table() and "micro-F1 " in metrics.table()
    assert repr(Metrics({"P@1": 12.345})) == "Metrics(P@1 12.35)"
    assert "P@9" not in metrics


def test_bad_input_is_refused_in_one_sentence() -> None:
    predictions, truth = ranked([["a"]]), true([["a"]])
    refused = [
        (DataError, "no labels to evaluate", {"truth": Dataset.from_texts([""])}),
        (DataError, "1 predictions but 2 examples", {"truth": true([["a"], ["a"]])}),
        (ConfigError, "ks must be", {"ks": ()}),
        (ConfigError, "ks must be", {"ks": (0,)}),
        (ConfigError, "no metric 'MAP'", {"metrics": ("MAP",)}),
        (ConfigError, "train_counts needs n_train", {"train_counts": [1]}),
        (ConfigError, "n_train needs train_counts", {"n_train": 1}),
        (ConfigError, "each of the 1 labels", {"train_counts": [1, 2], "n_train": 5}),
        (ConfigError, "must not be negative", {"train_counts": [-1], "n_train": 5}),
        (ConfigError, "n_train must be at least 1", {"train_counts": [1], "n_train": 0}),
        (ConfigError, "A ≥ 0 and B > 0", {"train_counts": [1], "n_train": 5, "propensity": (0.5, 0)}),
        (ConfigError, "either train", {"train": truth, "n_train": 1}),
    ]
    for kind, message, options in refused:
        with pytest.raises(kind, match=message):
            evaluate(predictions, **({"truth": truth} | options))
    with pytest.raises(DataError, match="row 1 is 'y', but the prediction there is for 'z'"):
        evaluate(
            Predictions([0, 0, 0], [], [], Strings.of(["a"]), Strings.of(["x", "z"])),
            Dataset.from_texts(["", ""], [["a"], ["a"]], ids=["x", "y"]),
        )
    for options in ({"level": 1.0}, {"samples": 0}):
        with pytest.raises(ConfigError):
            confidence_intervals(predictions, truth, **options)
    with pytest.raises(DataError, match="at least one document"):
        confidence_intervals(predictions[:0], true([]))
    with pytest.raises(ConfigError, match="needs train"):
        by_frequency(predictions, truth)
    for borders in ({"tail": 5}, {"tail": 5, "head": 3, "rest": None}, {"all": None, "none": None}):
        with pytest.raises(ConfigError, match="must increase and end with None"):
            by_frequency(predictions, truth, train_counts=[1], buckets=borders)
