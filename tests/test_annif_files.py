"""Annif's corpora and vocabularies: URIs in angle brackets."""

from __future__ import annotations

import pytest

from treetop import Dataset
from treetop.data import read, write

URIS = ["http://x.org/1", "http://x.org/2,3"]
CORPUS = [("red shoes", ["http://x.org/1", "http://x.org/2,3"]), ("a hat", ["http://x.org/1"]), ("none", [])]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_uris_in_cells(tmp_path, name):
    path, tab = tmp_path / name, "," if name.endswith("csv") else "\t"
    first = f'"<{URIS[0]}>  <{URIS[1]}>"' if tab == "," else f"<{URIS[0]}>  <{URIS[1]}>"
    rows = [f"text{tab}subject_uris", f"red shoes{tab}{first}", f"a hat{tab}<{URIS[0]}>", f"none{tab}"]
    path.write_text("\n".join(rows) + "\n")
    assert list(read(path, labels="subject_uris")) == CORPUS
    path.write_text("\n".join([*rows, f"more{tab}plain"]) + "\n")
    assert f"<{URIS[0]}>" in list(read(path, labels="subject_uris").labels)


def test_labels_in_brackets_come_back(tmp_path):
    data = Dataset.from_texts(["a", "b"], [["<u>", "<v>"], ["<u>"]])
    write(data, tmp_path / "a.csv")
    assert list(read(tmp_path / "a.csv")) == list(data)


@pytest.mark.parametrize(("suffix", "separator"), [("tsv", "\t"), ("csv", ",")])
def test_vocabularies(tmp_path, suffix, separator):
    corpus = "".join(f"{text}\t{' '.join(f'<{uri}>' for uri in uris)}\n" for text, uris in CORPUS)
    (tmp_path / "corpus.tsv").write_text(corpus)
    vocabulary = tmp_path / f"names.{suffix}"
    vocabulary.write_text(f'<{URIS[0]}>{separator}footwear\n"<{URIS[1]}>"{separator}"hats"\n')
    data = read(tmp_path / "corpus.tsv", label_texts=vocabulary)
    assert list(data.labels) == URIS and list(data.label_texts) == ["footwear", "hats"]


def test_the_names_of_labels_that_are_in_brackets_themselves(tmp_path):
    write(Dataset.from_texts(["a", "b"], [["<u>"], ["u"]]), tmp_path / "a.jsonl")
    (tmp_path / "names.tsv").write_text("<u>\tbracketed\nu\tplain\n")
    data = read(tmp_path / "a.jsonl", label_texts=tmp_path / "names.tsv")
    assert list(data.label_texts) == ["bracketed", "plain"]
