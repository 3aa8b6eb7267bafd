"""Label search, compared with a plain search through all names."""

from __future__ import annotations

import re

import numpy as np
import pytest

from treetop.serve.label_search import LabelSearch, normalised
from treetop.strings import Strings


def plain(labels: list[str], texts: list[str] | None, counts: list[int], query: str, limit: int) -> list[str]:
    """Labels in which a word begins with the query, then those that contain it; frequent ones first."""
    wanted = normalised(query).strip()
    order = sorted(range(len(labels)), key=lambda row: (-counts[row], row))
    names = [
        normalised(label) + ("" if texts is None or texts[row] == label else "\n" + normalised(texts[row]))
        for row, label in enumerate(labels)
    ]
    word = r"[a-z0-9\x80-\U0010ffff]"
    begins = [row for row in order if re.search(rf"(?<!{word})(?={word}){re.escape(wanted)}", names[row])]
    inside = [row for row in order if wanted in names[row]]
    return [labels[row] for row in dict.fromkeys([*begins, *inside])][:limit]


def search(labels: list[str], texts: list[str] | None, counts: list[int]) -> LabelSearch:
    readable = None if texts is None else Strings.of(texts)
    return LabelSearch(Strings.of(labels), readable, np.array(counts, np.int64))


@pytest.mark.parametrize("with_texts", [False, True])
def test_finds_what_a_plain_search_finds(with_texts) -> None:
    rng = np.random.default_rng(0)
    pieces = ["py", "thon", "lib", "-", " ", ".", "Ä", "ß", "x11", "dev", "3", "lab", "a", "é", "ab"]
    labels = list(dict.fromkeys("".join(rng.choice(pieces, rng.integers(1, 6))) for _ in range(400)))
    texts = ["".join(rng.choice(pieces, 4)) for _ in labels] if with_texts else None
    counts = rng.integers(0, 30, len(labels)).tolist()
    index = search(labels, texts, counts)
    queries = [
        "a",
        "py",
        "lib",
        "thon",
        "-",
        ".",
        "x11",
        "3",
        "ä",
        "SS",
        "ß",
        "libpy",
        "dev3",
        "ab-",
        "e",
        "zz",
        "onli",
    ]
    queries += ["".join(rng.choice(pieces, 2)) for _ in range(60)]
    for query in queries:
        if not query.strip():
            continue
        for limit in (1, 5, 50):
            found = [item.label for item in index.find(query, limit)]
            assert found == plain(labels, texts, counts, query, limit), (query, limit)


def test_counts_texts_and_the_empty_query() -> None:
    index = search(["q1", "q2", "q3"], ["Cats", "Dogs", "q3"], [1, 5, 3])
    assert [tuple(item) for item in index.find("", 2)] == [("q2", 5, "Dogs"), ("q3", 3, None)]
    assert [tuple(item) for item in index.find("cat", 9)] == [("q1", 1, "Cats")]
    assert index.find("cat dog", 9) == [] and index.find("q\0", 9) == index.find("q\0", 9)


def test_long_names_and_long_queries() -> None:
    start = "a name that is longer than the key by which words are sorted "
    labels = [f"{start}{number}" for number in range(300)]
    index = search(labels, None, list(range(300)))
    assert [item.label for item in index.find(f"{start}29", 20)] == [
        f"{start}{n}" for n in (*range(299, 289, -1), 29)
    ]
    assert index.find("x" * 500, 5) == [] and len(index.find(start, 100)) == 100


def test_one_label_and_odd_names() -> None:
    for name in ("a", "-", "\0", "🐈", " "):
        index = search([name], None, [1])
        assert len(index.find("", 5)) == 1
        assert index.find("nothing", 5) == []
