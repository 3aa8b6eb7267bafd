"""Vocabularies, numbers of words, pretrained vectors."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest
import torch

from treetop import Strings
from treetop.errors import ConfigError, DataError
from treetop.neural.words import Words, WordsConfig

TEXTS = Strings.of(["The C library", "a library in C, C!", "", "the R tool"])


def rows(words: Words, texts=TEXTS, longest=10) -> list[list[str]]:
    names = ["_", "?", *words.names()]
    indptr, numbers = words.numbers(Strings.of(texts), longest, 1)
    return [[names[n] for n in numbers[a:b]] for a, b in itertools.pairwise(indptr)]


def test_words_in_their_order():
    words = Words.fit(TEXTS, WordsConfig(min_df=1), 1)
    assert words.names() == ["a", "c", "in", "library", "r", "the", "tool"]
    assert len(words) == 9
    assert rows(words) == [
        ["the", "c", "library"],
        ["a", "library", "in", "c", "c"],
        [],
        ["the", "r", "tool"],
    ]
    assert rows(words, longest=2) == [["the", "c"], ["a", "library"], [], ["the", "r"]]


def test_words_outside_the_vocabulary():
    marked = Words.fit(TEXTS, WordsConfig(min_df=2), 1)
    assert marked.names() == ["c", "library", "the"]
    assert rows(marked, ["my C tool library"]) == [["?", "c", "?", "library"]]
    dropped = Words.fit(TEXTS, WordsConfig(min_df=2, unknown="drop"), 1)
    assert rows(dropped, ["my C tool library the"], longest=2) == [["c", "library"]]


def test_a_vocabulary_file(tmp_path):
    (tmp_path / "words.txt").write_text("library\nc\nunheard\n")
    for unknown, wanted in {"mark": ["?", "library", "?"], "drop": ["library", "c", "c"]}.items():
        config = WordsConfig(min_df=1, vocabulary=str(tmp_path / "words.txt"), unknown=unknown)
        words = Words.fit(TEXTS, config, 1)
        assert words.names() == ["c", "library"]
        assert rows(words, longest=3)[1] == wanted
        again = Words.from_state(config, words.state())
        assert rows(again) == rows(words)
    (tmp_path / "words.txt").write_text("unheard")
    with pytest.raises(DataError, match=r"words\.txt: lists none of the words"):
        Words.fit(TEXTS, config, 1)
    with pytest.raises(DataError, match=r"none\.txt: no such file"):
        Words.fit(TEXTS, WordsConfig(vocabulary=str(tmp_path / "none.txt")), 1)


def test_texts_that_share_no_word_keep_their_own():
    words = Words.fit(Strings.of(["one two", "three"]), WordsConfig(min_df=2), 1)
    assert words.names() == ["one", "three", "two"]


def test_limits_that_leave_no_word_are_told():
    for limits in ({"min_df": 5}, {"min_df": 1, "max_df": 0.01}):
        with pytest.raises((DataError, ConfigError), match=r"drops? them all|leave no terms"):
            Words.fit(TEXTS, WordsConfig(**limits), 1)
    with pytest.raises(DataError, match=r"there are no words, or only too short ones$"):
        Words.fit(Strings.of(["", ""]), WordsConfig(), 1)


def test_numbers_do_not_depend_on_threads():
    texts = Strings.of([f"word{i % 7} and word{i % 3}" for i in range(1000)])
    words = Words.fit(texts, WordsConfig(), 1)
    for one, two in zip(words.numbers(texts, 10, 1), words.numbers(texts, 10, 2), strict=True):
        assert np.array_equal(one, two)


GLOVE = "the 1 2 3\nlibrary -1 0.5 2\nunheard 9 9 9\n"


def vectors_file(folder, kind):
    if kind == "glove":
        path = folder / "glove.txt"
        path.write_text(GLOVE)
    elif kind == "word2vec":
        path = folder / "w2v.txt.gz"
        path.write_bytes(gzip.compress(f"3 3\n{GLOVE}".encode()))
    else:
        from safetensors.torch import save_file

        path = folder / "model.safetensors"
        dtype = torch.bfloat16 if kind == "bf16" else torch.float32
        save_file({"embeddings": torch.tensor([[1, 2, 3], [-1, 0.5, 2], [9, 9, 9]], dtype=dtype)}, path)
        (folder / "vocab.txt").write_text("the\nlibrary\nunheard\n")
    return path


@pytest.mark.parametrize("kind", ["glove", "word2vec", "safetensors", "bf16"])
def test_pretrained_vectors(tmp_path, kind):
    config = WordsConfig(dimension=3, vectors=str(vectors_file(tmp_path, kind)), trainable=False)
    words = Words.fit(TEXTS, config, 1)
    torch.manual_seed(0)
    layer = words.embedding()
    vectors = dict(zip(["_", "?", *words.names()], layer.weight.tolist(), strict=True))
    assert vectors["the"] == [1, 2, 3] and vectors["library"] == [-1, 0.5, 2]
    assert vectors["_"] == [0, 0, 0] and any(vectors["c"])
    assert not layer.weight.requires_grad


def test_names_with_spaces_are_no_words(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2 3\nthe . 4 5 6\nlibrary name@example.org 7 8 9\n")
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(path)), 1)
    vectors = dict(zip(words.names(), words.embedding().weight[2:].tolist(), strict=True))
    assert vectors["the"] == [1, 2, 3] and vectors["library"] != [7, 8, 9]


def test_tabs_between_the_numbers(tmp_path):
    path = tmp_path / "vectors.tsv"
    path.write_text("2\t3\nthe\t1\t2\t3\nlibrary\t-1 0.5 2\n")
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(path)), 1)
    vectors = dict(zip(words.names(), words.embedding().weight[2:].tolist(), strict=True))
    assert vectors["the"] == [1, 2, 3] and vectors["library"] == [-1, 0.5, 2]


def test_vectors_that_do_not_fit(tmp_path):
    path = vectors_file(tmp_path, "glove")
    words = Words.fit(TEXTS, WordsConfig(dimension=300, vectors=str(path)), 1)
    with pytest.raises(ConfigError, match="set dimension=3"):
        words.embedding()
    path.write_text("the 1 2 3\nlibrary 1 x 2\n")
    with pytest.raises(DataError, match=r"glove\.txt: line 2 is not a word followed by its numbers"):
        words.embedding()
    path.write_text("the 1 2 3\nlibrary 1 2\n")
    with pytest.raises(DataError, match="line 2 is not"):
        words.embedding()
    path.write_text("the 1 2 nan\n")
    with pytest.raises(DataError, match="line 1 is not"):
        words.embedding()
    path.write_text("unheard 1 2 3\n")
    with pytest.raises(DataError, match="no vector for any of the 3 words"):
        words.embedding()
    tensors = vectors_file(tmp_path, "safetensors")
    (tmp_path / "vocab.txt").unlink()
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(tensors)), 1)
    with pytest.raises(DataError, match=r"no vocab\.txt or tokenizer\.json"):
        words.embedding()
    (tmp_path / "tokenizer.json").write_text('{"model": {"vocab": {"library": 1, "the": 0, "unheard": 2}}}')
    assert words.embedding().weight[2 + words.names().index("library")].tolist() == [-1, 0.5, 2]


def test_words_beside_a_table_that_are_not_utf8(tmp_path):
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(vectors_file(tmp_path, "safetensors"))), 1)
    (tmp_path / "vocab.txt").write_bytes(b"the\nlibrary\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"vocab\.txt line 3: not valid UTF-8"):
        words.embedding()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", ["inf", "3e38", "-1e19", "1e39", "1e999"])
def test_numbers_that_are_too_large(tmp_path, number):
    path = tmp_path / "glove.txt"
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(path)), 1)
    path.write_text(f"the 1 2 3\nlibrary 1 2 {number}\n")
    with pytest.raises(DataError, match=r"glove\.txt: line 2 is not a word followed by its numbers"):
        words.embedding()


def test_tables_that_cannot_be(tmp_path):
    from safetensors.torch import save_file

    path = vectors_file(tmp_path, "safetensors")
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(path)), 1)
    for number in (float("nan"), float("-inf"), 3e38):
        save_file({"embeddings": torch.tensor([[1, 2, 3], [1, number, 3], [9, 9, 9]])}, path)
        with pytest.raises(DataError, match=r"model\.safetensors: has numbers that are not finite"):
            words.embedding()
    save_file({"embeddings": torch.zeros(3, 0)}, path)
    with pytest.raises(DataError, match=r"model\.safetensors: its vectors are empty"):
        words.embedding()


FIRST_LINES = {"blank": "", "spaces": " ", "name with spaces": ". . . 1 2 3", "words of none": "unheard 1 2"}


@pytest.mark.parametrize("first", FIRST_LINES.values(), ids=FIRST_LINES.keys())
def test_the_first_line_does_not_set_the_width(tmp_path, first):
    path = tmp_path / "glove.txt"
    path.write_text(f"{first}\nthe 1 2 3\n\nlibrary -1 0.5 2\n")
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(path)), 1)
    vectors = dict(zip(words.names(), words.embedding().weight[2:].tolist(), strict=True))
    assert vectors["the"] == [1, 2, 3] and vectors["library"] == [-1, 0.5, 2]
    words = Words.fit(TEXTS, WordsConfig(dimension=4, vectors=str(path)), 1)
    with pytest.raises(ConfigError, match="have 3 dimensions: set dimension=3"):
        words.embedding()


def test_the_damaged_line_is_blamed(tmp_path):
    path = tmp_path / "glove.txt"
    words = Words.fit(TEXTS, WordsConfig(dimension=3, vectors=str(path)), 1)
    for lines in (["the 1 2", "library 1 2 3"], ["the 1 2", "unheard 1 2 3"], ["the", "library 1 2 3"]):
        for number, text in enumerate((lines, lines[::-1]), 1):
            path.write_text("\n".join(text))
            with pytest.raises(DataError, match=f"line {number} is not a word followed by its numbers"):
                words.embedding()
