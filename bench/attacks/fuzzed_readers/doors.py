"""The functions of treetop that read files from outside: which files, how they are read and used."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import treetop
from treetop import Dataset
from treetop.data import read, write
from treetop.data.statistics import describe
from treetop.regular_files import read_regular

from . import cases
from .mutations import Case, Mutator, packed

OPTIONS = ".options"
"""The member of a case that holds the options of its reader, as JSON; no file."""
TRAINED = 0.05
"""The share of data sets that a model is trained on."""


@dataclass(frozen=True)
class Door:
    """``read`` gets a folder with the files of a case and options; ``use`` gets what it returns."""

    name: str
    seeds: Callable[[], list[Case]]
    read: Callable[..., Any]
    use: Callable[[Any, Case], None]
    options: tuple[dict[str, Any], ...] = ({},)
    made: Callable[[random.Random], Case] | None = None
    """Makes valid files at random."""
    names_place: bool = True
    """An error names the file; else the reader reports damage by None."""
    waits: bool = False
    """A pipe in place of a file is read when somebody writes into it, as the user names it."""
    slow: bool = False
    """It imports torch, or takes more than milliseconds."""

    @cached_property
    def pool(self) -> list[Case]:
        """All seeds with all options."""
        return [
            seed | {OPTIONS: json.dumps(chosen).encode()} for seed in self.seeds() for chosen in self.options
        ]

    def mutated(self, case: Case, rng: random.Random) -> Case:
        """A mutation of the case, rarely of others or with other options."""
        draw = rng.random()
        if self.made is not None and draw < 0.3:
            case = self.made(rng) | {OPTIONS: case.get(OPTIONS, b"{}")}
        files = {name: content for name, content in case.items() if name != OPTIONS}
        files = Mutator(rng, pipes=not self.waits).mutated(files) if draw < 0.97 else files
        chosen = case.get(OPTIONS, b"{}")
        if rng.random() < 0.1:
            chosen = json.dumps(rng.choice(self.options)).encode()
        return files | {OPTIONS: chosen}

    def run(self, case: Case, folder: Path) -> Any:
        return self.read(folder, **json.loads(case.get(OPTIONS, b"{}")))


def _file(folder: Path) -> Path:
    """The only file of a case, or its folder."""
    found = [path for path in folder.iterdir() if path.name != OPTIONS]
    return found[0] if len(found) == 1 else folder


def _read_file(folder: Path, **options: Any) -> Dataset:
    return read(_file(folder), **options)


def _read_folder(folder: Path, **options: Any) -> Dataset:
    return read(folder, **options)


def _read_named(folder: Path, names: str, **options: Any) -> Dataset:
    return read(folder / "a.jsonl", label_texts=folder / names, **options)


def _read_arrays(folder: Path, stamped: bool, **options: Any) -> Dataset:
    """``stamped``: with the sizes and times that the manifest records."""
    place = folder / "a.arrays"
    if stamped:
        try:
            manifest = json.loads(read_regular(place / "data.json"))
            for entry in manifest["arrays"].values():
                status = (place / entry["file"]).stat()
                entry |= {"bytes": status.st_size, "changed": status.st_mtime_ns}
            (place / "data.json").write_text(json.dumps(manifest))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
    return read(place, **options)


def _use_data(data: Dataset, case: Case) -> None:
    """Looks at all parts; texts and labels must come back from a file as they are."""
    repr(describe(data))
    data.label_counts.sum()
    data[: len(data) // 2 + 1]
    data[-1]
    if data.X is not None:
        assert np.isfinite(data.X.data).all()
        data.X.sum(axis=1)
    if data.texts is not None and data.Y is not None and len(data) < 1000:
        _check_round_trip(data)
    digest = hashlib.sha256(packed(case)).digest()[0]
    if digest < 256 * TRAINED and data.Y is not None and data.Y.nnz and len(data) < 200:
        model = treetop.XRLinear(threads=1).fit(data)
        model.predict(data, k=2)


def _check_round_trip(data: Dataset) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        path = Path(folder) / "a.jsonl"
        write(data, path)
        again = read(path, need_labels=False)
        labels = [sorted(names) for _, names in data]
        assert list(again.texts) == list(data.texts), "texts change when they are written and read"
        assert [sorted(names) for _, names in again] == labels, "labels change when they are written and read"


PLACE: str | None = None
"""Where temporary files are put: memory, if there is such a folder."""


def _read_predictions(folder: Path) -> treetop.Predictions:
    return treetop.Predictions.read(_file(folder))


def _use_predictions(found: treetop.Predictions, case: Case) -> None:
    text = io.StringIO()
    found.write(text)
    again = treetop.Predictions.read(io.StringIO(text.getvalue()))
    assert [list(row) for row in again] == [list(row) for row in found], "predictions change when written"
    found.aligned_to(cases.names()).top(1).to_csr()


def _read_tree(folder: Path) -> Any:
    from treetop.tree.tree_files import read_tree

    return read_tree(_file(folder), cases.names())


def _use_tree(tree: Any, case: Case) -> None:
    assert sorted(tree.labels.tolist()) == list(range(len(cases.WORDS)))
    data = Dataset.from_texts([f"{name} text" for name in cases.WORDS], [[name] for name in cases.WORDS])
    treetop.XRLinear(threads=1).fit(data, tree=tree).predict(["chess text"], k=2)


def _read_vectors(folder: Path, dimension: int) -> Any:
    from treetop.neural.word_vectors import read_vectors

    found = [path for path in folder.iterdir() if path.stem == "v"]
    return read_vectors(found[0] if found else folder / "v.txt", ["flour", "wind", "yeast"], dimension)


def _use_vectors(found: Any, case: Case) -> None:
    places, vectors = found
    assert len(places) == len(vectors) and np.isfinite(vectors).all() and vectors.dtype == np.float32


def _read_vocabulary(folder: Path) -> Any:
    from treetop.neural.words import Words, WordsConfig

    config = WordsConfig(vocabulary=str(_file(folder)), min_df=1)
    return Words.fit(treetop.Strings.of(["flour wind", "wind yeast"]), config, 1)


def _read_feedback(folder: Path, **options: Any) -> Any:
    from treetop.serve.feedback_data import read_feedback

    return read_feedback(folder / "f.sqlite", **options).examples


def _read_run(folder: Path) -> Any:
    from treetop.comparison.run_folder import RunFolder

    return RunFolder(folder).find("run", 3)


def _use_run(found: Any, case: Case) -> None:
    if found is not None:
        found.predictions(cases.names())
        found.value("train_seconds")
        json.dumps(found.to_dict())


def _read_settings(folder: Path) -> Any:
    from treetop.reproduction.run import _read_json

    return _read_json(folder / "member.json")


def _read_kept(folder: Path) -> Any:
    from treetop.reproduction.run import _read

    data = Dataset.from_texts(["a"], [cases.WORDS])
    return _read(folder / "member.npz", data)


def _use_kept(found: Any, case: Case) -> None:
    if found is not None:
        assert len(found[0].top(1)) >= 0 and found[1] == found[1]


def _read_size(folder: Path) -> Any:
    from treetop.reproduction.differences import size_of

    return size_of(str(folder / "encoder"))


def _read_piece(folder: Path, sealed: bool) -> Any:
    """``sealed``: with the checksums of the changed files."""
    from treetop import checkpoints

    if sealed and (folder / "piece" / "piece.json").is_file():
        with contextlib.suppress(OSError):
            (folder / "piece" / "piece.json").write_text(json.dumps(checkpoints._described(folder / "piece")))
    with checkpoints.keeping(folder, resume=True):
        found = checkpoints.find("piece")
        return None if found is None else {name: np.array(array) for name, array in found.items()}


def _read_pecos_model(folder: Path) -> Any:
    from treetop.methods.pecos import load_pecos

    return load_pecos(folder, threads=1)


def _use_model(model: Any, case: Case) -> None:
    if model.takes_texts:
        model.predict(["aa Bb, c-c", ""], k=2)
    else:
        model.predict(np.ones((2, model.features.n_features)), k=2)


def _read_encoder(folder: Path) -> Any:
    from treetop.neural.encoder_config import EncoderConfig
    from treetop.neural.pretrained import pretrained

    return pretrained(EncoderConfig(encoder=str(folder)), 8)


def _nothing(_: Any, case: Case) -> None:
    pass


def _as(name: str, *, need_labels: bool = True) -> tuple[dict[str, Any], ...]:
    """With the format named, and recognised."""
    return ({}, {"format": name}, {"need_labels": False}, {"format": name, "need_labels": False})


_COLUMNS: tuple[dict[str, Any], ...] = (
    {},
    {"need_labels": False},
    {"text": "text,title"},
    {"labels": "1", "text": "0", "id": None},
    {"labels": 0, "text": 1},
    {"group": "g", "weight": "w"},
    {"label_separator": ";"},
    {"label_separator": "ab"},
)

DOORS = (
    Door("jsonl", cases.json_lines, _read_file, _use_data, (*_COLUMNS, {"format": "jsonl"}), waits=True),
    Door("csv", lambda: cases.tables("csv", ","), _read_file, _use_data, _COLUMNS, waits=True),
    Door("tsv", lambda: cases.tables("tsv", "\t"), _read_file, _use_data, _COLUMNS, waits=True),
    Door("parquet", cases.parquet_files, _read_file, _use_data, _COLUMNS, cases.odd_parquet, waits=True),
    Door(
        "fasttext",
        lambda: [cases.written(cases.texts_with_labels(cases.ONE_WORD), "a.ft")],
        _read_file,
        _use_data,
        _as("fasttext"),
        waits=True,
    ),
    Door(
        "annif",
        lambda: [cases.written(cases.texts_with_labels(cases.ONE_WORD), "a.annif")],
        _read_file,
        _use_data,
        _as("annif"),
        waits=True,
    ),
    Door(
        "txt",
        lambda: [{"a.txt": cases.lines("one", "", "two words")}],
        _read_file,
        _use_data,
        _as("txt"),
        waits=True,
    ),
    Door("xmc", lambda: [cases.sparse_texts()], _read_file, _use_data, _as("xmc"), waits=True),
    Door("libsvm", lambda: [cases.libsvm()], _read_file, _use_data, _as("libsvm"), waits=True),
    Door("libmultilabel", cases.libmultilabel, _read_file, _use_data, _as("libmultilabel"), waits=True),
    Door(
        "label-texts",
        lambda: [cases.labels_and_names()],
        _read_named,
        _use_data,
        ({"names": "names.tsv"}, {"names": "names.csv"}),
        waits=True,
    ),
    Door(
        "splits",
        lambda: [cases.splits()],
        _read_folder,
        _use_data,
        ({"split": "train"}, {"split": "test"}, {"split": "valid"}, {}),
    ),
    Door(
        "repository",
        cases.repository,
        _read_folder,
        _use_data,
        (
            {"split": "train"},
            {"format": "repository", "split": "test"},
            {"split": "train", "need_labels": False, "features": "none"},
        ),
    ),
    Door(
        "pecos",
        cases.pecos,
        _read_folder,
        _use_data,
        (
            {"split": "train"},
            {"format": "pecos", "need_labels": False, "split": "trn"},
            {"features": "other", "split": "train"},
        ),
    ),
    Door(
        "arrays",
        cases.arrays,
        _read_arrays,
        _use_data,
        ({"stamped": True}, {"stamped": False}, {"stamped": True, "need_labels": False}),
    ),
    Door(
        "rawtext",
        cases.raw_texts,
        _read_folder,
        _use_data,
        ({}, {"split": "train"}, {"need_labels": False, "format": "rawtext"}, {"features": "none"}),
    ),
    Door("predictions", cases.predictions, _read_predictions, _use_predictions, waits=True),
    Door("tree", cases.trees, _read_tree, _use_tree, waits=True),
    Door(
        "feedback",
        cases.feedback,
        _read_feedback,
        _use_data,
        ({}, {"model": "m", "after": 1}),
        cases.odd_feedback,
    ),
    Door("run", lambda: [cases.kept_run()], _read_run, _use_run, names_place=False),
    Door("reproduced-settings", lambda: [cases.reproduced()], _read_settings, _nothing),
    Door("reproduced-predictions", lambda: [cases.reproduced()], _read_kept, _use_kept, names_place=False),
    Door("encoder-size", lambda: [cases.reproduced()], _read_size, _nothing, names_place=False),
    Door(
        "checkpoint",
        lambda: [cases.pieces()],
        _read_piece,
        _nothing,
        ({"sealed": True}, {"sealed": False}),
        names_place=False,
    ),
    Door("pecos-model", cases.pecos_models, _read_pecos_model, _use_model),
    Door(
        "vectors", cases.word_vectors, _read_vectors, _use_vectors, ({"dimension": 3},), slow=True, waits=True
    ),
    Door(
        "vocabulary",
        lambda: [{"words.txt": cases.lines("flour", "wind")}],
        _read_vocabulary,
        _nothing,
        slow=True,
        waits=True,
    ),
    Door("encoder", cases.encoders, _read_encoder, _nothing, slow=True),
)
