"""TF-IDF: scikit-learn's weights on real and made-up text, on any thread count, stored as plain arrays."""

from __future__ import annotations

import itertools
import json
import lzma
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import treetop
from conftest import SHARED
from treetop.errors import ConfigError, DataError, ModelError
from treetop.features import Tfidf, TfidfConfig
from treetop.strings import Strings

SETTINGS = [
    {},
    {"ngram_max": 2},
    {"ngram_min": 2, "ngram_max": 3, "min_df": 2},
    {"ngram_max": 2, "min_df": 3, "max_df": 0.2, "sublinear_tf": True},
    {"min_df": 0.01, "max_df": 200, "norm": "l1", "smooth_idf": False},
    {"ngram_max": 3, "binary": True, "idf": None},
    {"lowercase": False, "norm": None},
    {"analyzer": "char", "ngram_max": 3, "min_df": 2},
    {"analyzer": "char", "ngram_min": 2, "ngram_max": 4, "max_df": 0.5, "smooth_idf": False},
    {"analyzer": "char_wb", "ngram_min": 3, "ngram_max": 5, "min_df": 2, "sublinear_tf": True},
    {"analyzer": "char_wb", "ngram_min": 6, "ngram_max": 7, "lowercase": False},
]


def sklearn_like(config: TfidfConfig) -> TfidfVectorizer:
    return TfidfVectorizer(
        analyzer=config.analyzer,
        ngram_range=(config.ngram_min, config.ngram_max),
        lowercase=config.lowercase,
        min_df=float(config.min_df) if config.min_df < 1 else config.min_df,
        max_df=float(config.max_df) if config.max_df <= 1 else config.max_df,
        use_idf=config.idf is not None,
        smooth_idf=config.smooth_idf,
        sublinear_tf=config.sublinear_tf,
        binary=config.binary,
        norm=config.norm,
    )


def assert_same_rows(ours, theirs) -> None:
    theirs = theirs.tocsr()
    theirs.sort_indices()
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-6, atol=0)


def assert_equals_sklearn(texts: list[str], config: TfidfConfig, new_texts: list[str]) -> None:
    reference = sklearn_like(config)
    expected = reference.fit_transform(texts)
    tfidf = Tfidf(config)
    assert_same_rows(tfidf.fit_transform(texts, threads=2), expected)
    assert list(tfidf.vocabulary) == sorted(reference.vocabulary_)
    assert_same_rows(tfidf.transform(new_texts), reference.transform(new_texts))


def real_texts(name: str, count: int) -> list[str]:
    file = SHARED / "data" / name / "train.jsonl.xz"
    if not file.exists():
        pytest.skip(f"the data set {name} is not at hand")
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, count)]


@pytest.mark.slow
@pytest.mark.parametrize("changes", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["tib-core", "deb-deps"])
def test_equals_sklearn_on_real_text(name: str, changes: dict) -> None:
    texts = real_texts(name, 500)
    assert_equals_sklearn(texts[:400], TfidfConfig(**changes), texts[300:])


@pytest.mark.parametrize("binary", [False, True])
def test_max_features_keeps_the_most_frequent(binary: bool) -> None:
    texts = real_texts("tib-core", 300)
    config = TfidfConfig(ngram_max=2, max_features=700, min_df=2, binary=binary)
    tfidf = Tfidf(config)
    rows = tfidf.fit_transform(texts, threads=2)
    everything = sklearn_like(config).set_params(use_idf=False, norm=None)
    totals = everything.fit_transform(texts).sum(axis=0).A1
    # The most frequent first, equal ones by alphabet.
    names = everything.get_feature_names_out()
    best = sorted(range(len(names)), key=lambda j: (-totals[j], names[j]))[:700]
    assert list(tfidf.vocabulary) == sorted(names[best])
    reference = sklearn_like(config).set_params(vocabulary=list(tfidf.vocabulary))
    assert_same_rows(rows, reference.fit_transform(texts))


ALPHABET = (
    "abAB09_-.' \t\n"
    "\u00e9\u00df\u1e9e\u0131\u0130\u01c5\u212a\u023a\u00b2\u2163\u2460\u096a"  # é ß ẞ ı İ ǅ K Ⱥ ² Ⅳ ① ४
    "\u03c3\u03c2\u03a3\u0391\u03ac\u0301\u0308\u0345\u00b7\u02b0\u00ad\u200d"  # sigmas, case-ignorable
    "\u6f22\u5b57\u304b\U0001d400\U00010400\u00a0\u2028\u3000"  # CJK, beyond 16 bits, white space
)
texts_of_odd_characters = st.lists(
    st.one_of(st.text(alphabet=ALPHABET, max_size=30), st.text(max_size=15)), min_size=1, max_size=8
)


@settings(max_examples=100, deadline=None)
@given(texts_of_odd_characters, st.booleans(), st.integers(1, 3))
def test_words_between_blanks(texts: list[str], lowercase: bool, longest: int) -> None:
    def words(text: str) -> list[str]:
        return [word for word in (text.lower() if lowercase else text).split(" ") if word]

    reference = TfidfVectorizer(
        tokenizer=words, token_pattern=None, lowercase=False, ngram_range=(1, longest)
    )
    config = TfidfConfig(analyzer="blank", lowercase=lowercase, shortest_word=1, ngram_max=longest)
    if not any(map(words, texts)):
        with pytest.raises(DataError, match="no terms are left"):
            Tfidf(config).fit(texts)
        return
    tfidf = Tfidf(config)
    assert_same_rows(tfidf.fit_transform(texts), reference.fit_transform(texts))
    assert list(tfidf.vocabulary) == sorted(reference.vocabulary_)


@settings(max_examples=150, deadline=None)
@given(texts_of_odd_characters, st.sampled_from(["word", "char", "char_wb"]), st.booleans(), st.data())
def test_equals_sklearn_on_any_unicode(texts: list[str], analyzer: str, lowercase: bool, data) -> None:
    shortest = data.draw(st.integers(1, 4))
    longest = data.draw(st.integers(shortest, 5))
    config = TfidfConfig(analyzer=analyzer, lowercase=lowercase, ngram_min=shortest, ngram_max=longest)
    texts = list(Strings.of(texts))
    analyze = sklearn_like(config).build_analyzer()
    if not any(analyze(text) for text in texts):
        with pytest.raises(DataError, match="no terms are left"):
            Tfidf(config).fit(texts)
        return
    assert_equals_sklearn(texts, config, [*texts[::-1], "Αὐτός ΣΑΣ. i̇ a"])


def test_the_first_of_several_lines_counts_more():
    """As if it occurred that often; no n-gram reaches over its end."""
    texts = ["\n Red boats\nred sails and\nblue sails", "no second line", "\nempty first", "last one\n"]
    options = {"ngram_max": 2, "idf": None, "norm": None, "shortest_word": 1}
    tfidf = Tfidf(TfidfConfig(first_line=3, **options))
    rows = tfidf.fit_transform(texts)
    assert np.array_equal(tfidf.transform(texts).toarray(), rows.toarray())
    plain = Tfidf(TfidfConfig(**options)).fit(texts)
    assert list(tfidf.vocabulary) == list(plain.vocabulary)
    again = plain.transform(["Red boats", "", "", ""]).toarray()
    assert np.array_equal(rows.toarray(), plain.transform(texts).toarray() + 2 * again)


def test_saturation_by_hand():
    texts = ["bee bee bee ant", "bee ant ant cow"]
    plain = {"idf": None, "norm": None}
    rows = Tfidf(TfidfConfig(saturation=2.0, **plain)).fit_transform(texts).toarray()
    # Four terms each, so n/s = 2: tf 1, 2, 3 become 1/3, 2/4, 3/5. Columns: ant, bee, cow.
    np.testing.assert_allclose(rows, [[1 / 3, 3 / 5, 0], [2 / 4, 1 / 3, 1 / 3]], rtol=1e-6)
    once = Tfidf(TfidfConfig(saturation=2.0, binary=True, **plain)).fit_transform(texts).toarray()
    np.testing.assert_allclose(once, [[1 / 2, 1 / 2, 0], [1 / 2.5] * 3], rtol=1e-6)


@pytest.mark.slow
def test_every_code_point_is_read_as_python_reads_it() -> None:
    characters = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    # In a word; before, after and between cased letters and a capital sigma, which tell the case properties.
    for pattern in ("x{}y", "AΣ{}", "A{}Σ", "{}Σ", "AΣ{}B"):
        text = " ".join(map(pattern.format, characters))
        expected = sorted(set(re.findall(r"\w\w+", text.lower())))
        assert list(Tfidf().fit([text]).vocabulary) == expected, pattern
    # As white space, which char_wb leaves out.
    vocabulary = Tfidf(TfidfConfig(analyzer="char_wb", lowercase=False)).fit(["".join(characters)]).vocabulary
    assert list(vocabulary) == [c for c in characters if not c.isspace() or c == " "]


def test_weights_by_hand() -> None:
    texts = ["red red apple", "green apple", "green tea"]
    tfidf = Tfidf(TfidfConfig(norm=None))
    rows = tfidf.fit_transform(texts).toarray()
    assert list(tfidf.vocabulary) == ["apple", "green", "red", "tea"]
    common, rare = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    np.testing.assert_allclose(tfidf.idf, [common, common, rare, rare], rtol=1e-6)
    expected = [[common, 0, 2 * rare, 0], [common, common, 0, 0], [0, common, 0, rare]]
    np.testing.assert_allclose(rows, expected, rtol=1e-6)
    np.testing.assert_array_equal(
        Tfidf().fit(texts).transform(["", "unknown", "tea!"]).toarray()[:, 3], [0, 0, 1]
    )


@pytest.mark.parametrize("smooth", [False, True])
def test_pecos_idf_drops_terms_without_weight(smooth: bool) -> None:
    texts = ["all most one", "all most", "all most", "all"]
    tfidf = Tfidf(TfidfConfig(idf="pecos", smooth_idf=smooth)).fit(texts)
    if smooth:  # ln(4/(1+1)); "most" has ln(4/(3+1)) = 0
        assert dict(zip(tfidf.vocabulary, tfidf.idf, strict=True)) == {"one": pytest.approx(math.log(2))}
    else:
        expected = {"most": pytest.approx(math.log(4 / 3)), "one": pytest.approx(math.log(4))}
        assert dict(zip(tfidf.vocabulary, tfidf.idf, strict=True)) == expected


def test_threads_do_not_change_a_bit() -> None:
    words = [f"w{i * i % 97}é" for i in range(400)]
    texts = Strings.of(" ".join(words[i % 50 : i % 350]) for i in range(1000))[7:]
    config = TfidfConfig(ngram_max=3, min_df=2, max_features=5000)
    one, many = Tfidf(config), Tfidf(config)
    expected = one.fit_transform(texts, threads=1)
    calls = []
    rows = many.fit_transform(texts, threads=5, progress=lambda done, total: calls.append((done, total)))
    assert all(done <= total for done, total in calls)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, many.state()[name], err_msg=name)
    for got in (rows, many.transform(texts, threads=3), Tfidf(config).fit(texts, threads=2).transform(texts)):
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(got, part), getattr(expected, part), err_msg=part)
    assert rows.dtype == np.float32
    assert rows.has_canonical_format


def test_state_is_used_where_it_lies(tmp_path: Path) -> None:
    texts = ["one two three", "two three", "İstanbul ΣΑΣ"]
    config = TfidfConfig(ngram_min=2, ngram_max=3)
    tfidf = Tfidf(config)
    rows = tfidf.fit_transform(texts)
    for name, array in tfidf.state().items():
        np.save(tmp_path / f"{name}.npy", array)
    stored = {file.stem: np.load(file, mmap_mode="r") for file in tmp_path.glob("*.npy")}
    again = Tfidf.from_state(config, stored)
    assert again.vocabulary == tfidf.vocabulary
    assert (again.transform(texts) != rows).nnz == 0


def test_damaged_state_is_refused() -> None:
    tfidf = Tfidf(TfidfConfig(ngram_max=2)).fit(["one two three"])
    state = tfidf.state()
    with pytest.raises(ModelError, match="word_slots is missing"):
        Tfidf.from_state(tfidf.config, {k: v for k, v in state.items() if k != "word_slots"})
    with pytest.raises(ModelError, match="idf must be a list of float32"):
        Tfidf.from_state(tfidf.config, {**state, "idf": state["idf"].astype(float)})
    with pytest.raises(ModelError, match="are inconsistent"):
        Tfidf.from_state(tfidf.config, {**state, "gram_slots": state["gram_slots"][3:]})
    for name in ("word_offsets", "word_slots", "word_nodes", "gram_slots"):
        rng = np.random.default_rng(0)
        for _ in range(50):
            values = state[name].copy()
            values[rng.integers(len(values))] = rng.integers(1 << 31)
            values = np.where(rng.random(len(values)) < 0.3, values ^ values.dtype.type(9), values)
            bad = Tfidf.from_state(tfidf.config, {**state, name: values})
            for use in (lambda: bad.transform(["one two three one"]), lambda: bad.vocabulary):  # noqa: B023
                try:
                    use()
                except ModelError as error:
                    assert "damaged" in str(error)


@pytest.mark.parametrize("texts", [1, 60])
def test_texts_without_words_are_not_blamed_on_limits(texts: int) -> None:
    """They are tried with each term of few texts too, which is not what the settings say."""
    with pytest.raises(DataError, match=r"there are no words, or only too short ones$"):
        treetop.make("xr-linear").fit([""] * texts, ["a"] * texts)


def test_bad_input_is_named() -> None:
    with pytest.raises(ModelError, match="not fitted"):
        Tfidf().transform(["a"])
    with pytest.raises(DataError, match="at least one text"):
        Tfidf().fit([])
    with pytest.raises(DataError, match=r"from 2 texts: there are no words, or only too short ones$"):
        Tfidf().fit(["", "a b c"])
    with pytest.raises(DataError, match=r"ones, or min_df 2 drops them all$"):
        Tfidf(TfidfConfig(min_df=2)).fit(["aa", "bb"])
    with pytest.raises(DataError, match=r"ones, or min_df 2 and max_df 2 drop them all$"):
        Tfidf(TfidfConfig(min_df=2, max_df=2)).fit(["aa"] * 3)
    with pytest.raises(ConfigError, match="leave no terms"):
        Tfidf(TfidfConfig(min_df=3, max_df=0.5)).fit(["aa", "bb"])
    with pytest.raises(ConfigError, match="ngram_min is 3 but ngram_max only 2"):
        TfidfConfig(ngram_min=3, ngram_max=2)
    with pytest.raises(ConfigError, match="min_df must be a share below 1 or a whole number"):
        TfidfConfig(min_df=2.5)
    with pytest.raises(ConfigError, match="analyzer must be one of"):
        TfidfConfig(analyzer="words")
