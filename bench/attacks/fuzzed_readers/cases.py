"""Valid files of every format that readers take, small and made up, as starting points of mutations."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import treetop
from treetop import Dataset, Strings
from treetop.data import write

from .mutations import Case, npy, zip_of

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

TEXTS = [
    "flour and yeast",
    "wind, anchor; sail",
    'a "rook" takes',
    "snow\u00e9 \u2603 \U0001f3bf",
    "",
    "soil 12:0.5",
]
LABELS = [["baking", "x"], ["sailing"], ["chess", "a b"], [], ["x"], ["baking", "chess"]]
WORDS = ["baking", "chess", "sailing", "x"]
"""Labels without white space."""
ONE_WORD = [[name for name in names if " " not in name] for names in LABELS]


def texts_with_labels(labels: list[list[str]]) -> Dataset:
    return Dataset.from_texts(TEXTS, labels, ids=[f"id{row}" for row in range(len(TEXTS))])


def matrices() -> Dataset:
    X = sparse.csr_matrix(np.arange(30).reshape(6, 5) % 4 / 2, dtype=np.float32)
    Y = sparse.csr_matrix(np.arange(24).reshape(6, 4) % 3 == 1, dtype=np.float32)
    return Dataset.from_matrices(X, Y, texts=TEXTS)


def written(dataset: Dataset, name: str, **options: Any) -> Case:
    """What treetop writes."""
    with tempfile.TemporaryDirectory() as folder:
        write(dataset, Path(folder) / name, **options)
        return folder_case(Path(folder))


def folder_case(folder: Path) -> Case:
    """All files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def lines(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def json_lines() -> list[Case]:
    rows = [
        {"id": 7, "text": "a", "labels": ["x", 1, 2.5], "w": 0.5, "g": "one"},
        {"id": "8", "text": "b", "labels": "x;y::0.5", "w": "2", "g": 3, "title": "c"},
        {"id": 9.5, "text": "c", "labels": None, "w": 0, "g": "one", "title": None},
    ]
    return [
        written(texts_with_labels(LABELS), "a.jsonl"),
        {"a.jsonl": lines(*map(json.dumps, rows))},
        {"a": lines(*map(json.dumps, rows))},
    ]


def tables(suffix: str, separator: str) -> list[Case]:
    rows = ["text,labels,id,w,g", "one,a;b,1,0.5,p", "two,b::2.0,2,1,p", 'three,"[""a"", 1]",3,0,q']
    arrays = ["labels,text", '"[""a"", ""b""]",one', '"[1, 2.5]",two', '"[]",three']
    plain = ["1,red boots,a b", "2,sugar bowl,c", "12,x,d"]
    return [
        written(texts_with_labels(LABELS), f"a.{suffix}"),
        *(
            {f"a.{suffix}": lines(*(row.replace(",", separator) for row in each))}
            for each in (rows, arrays, plain)
        ),
    ]


def sparse_texts() -> Case:
    return {"a.xmc": written(matrices(), "a.xmc")["a.xmc"]}


def libsvm() -> Case:
    return {"a.libsvm": lines("0,3 1:0.5 7:1", "2 3:1e-3", "1 9:-2 10:3", " 4:1")}


def libmultilabel() -> list[Case]:
    return [
        {"a.txt": lines("1\tx y\tred boots", "2\tz\tsugar", "3\t\tbowl")},
        {"a.txt": lines("x y\tred boots", "z\tb")},
    ]


def labels_and_names() -> Case:
    return {
        **written(texts_with_labels(LABELS), "a.jsonl"),
        "names.tsv": lines("baking\tBaking bread", "x\t\tnote", '"a b"\t"A ""B"""'),
        "names.csv": lines('baking,"Baking, bread"', "x,", "chess,Chess,more"),
    }


def splits() -> Case:
    data = texts_with_labels(LABELS)
    return {
        "train.jsonl": written(data, "a.jsonl")["a.jsonl"],
        "test.csv": written(data, "a.csv")["a.csv"],
        "valid.txt": lines("0,1 0:1", "1 1:2"),
    }


def repository() -> list[Case]:
    X, Y = lines("3 4", "0:1 3:0.5", "", "2:1e-2"), lines("3 2", "0:1", "1:1", "0:1 1:0.5")
    examples = [
        {
            "uid": f"B{row}",
            "title": "t",
            "content": "c",
            "target_ind": [row % 2],
            "target_rel": [1.0 - row / 4],
        }
        for row in range(3)
    ]
    named = {"uid": "L", "title": "label"}
    return [
        {
            "trn_X_Xf.txt": X,
            "trn_X_Y.txt": Y,
            "tst_X_Xf.txt": X,
            "tst_X_Y.txt": Y,
            "lbl_X_Xf.txt": lines("2 4", "0:1", "1:1"),
            "filter_labels_train.txt": lines("0 1", "2 0"),
            "Y.txt": lines("first", "second"),
            "trn_X.txt": lines("a", "b", "c"),
        },
        {
            "trn.json": lines(*map(json.dumps, examples)),
            "lbl.json": lines(json.dumps(named), json.dumps(named)),
            "filter_labels_train.txt": lines("0 1.0", "2 0e0"),
        },
        {"train.txt": lines("2 3 2", "0 0:1", "0,1 2:1"), "trn_X.txt": lines("a", "b")},
        {"a_X_Xf.txt": X, "trn_X_Xf.txt": X},
    ]


def pecos() -> list[Case]:
    data = matrices()
    assert data.X is not None and data.Y is not None
    own = written(data, "p", format="pecos")
    own = {name.removeprefix("p/"): content for name, content in own.items()}
    own |= {"labels.txt": lines("a", "b", "c", "d"), "output-items.txt": lines("A", "B", "C", "D")}
    R = data.Y.copy()
    R.data[:] = 0.5
    held = {
        "Y.trn.npz": own["Y.trn.npz"],
        "X.trn.txt": own["X.trn.txt"],
        "label_map.txt": lines("A", "B", "C", "\u00e9"),
    }
    return [
        own | {"R.trn.npz": npz(R), "filter_labels_train.txt": lines("0 1")},
        held | {"tfidf-attnxml/X.trn.npz": npz(data.X), "other/X.trn.npz": npz(data.X.tocsc())},
        {
            "X.trn.npy": npy(data.X.toarray()),
            "Y.trn.npz": npz(data.Y.tocoo()),
            "X.tst.npy": npy(data.X.toarray()),
        },
        {
            "X.trn.npy": npy(np.asfortranarray(data.X.toarray())),
            "Y.trn.npy": npy(data.Y.toarray().astype("?")),
        },
        {"X.trn.npz": npz(data.X.tobsr((2, 5))), "Y.trn.npz": npz(data.Y.todia())},
    ]


def npz(matrix: Any) -> bytes:
    """What `scipy.sparse.save_npz` writes, not compressed."""
    file = io.BytesIO()
    sparse.save_npz(file, matrix, compressed=False)
    return file.getvalue()


def arrays() -> list[Case]:
    data = matrices()
    relevance = data.Y.copy()
    relevance.data[:] = 0.5
    whole = data.with_weights(relevance=relevance, weights=np.arange(6) / 2)
    cases = []
    for each in (whole, texts_with_labels(LABELS)):
        case = written(each, "a.arrays")
        (place,) = {name.split("/")[1] for name in case if name.count("/") == 2}
        cases.append(
            {
                name.replace(place, "arrays-0"): content.replace(place.encode(), b"arrays-0")
                if name.endswith("data.json")
                else content
                for name, content in case.items()
            }
        )
    return cases


def raw_texts() -> list[Case]:
    texts = {"train_raw_texts.txt": lines("a", "b", "c")}
    X, Y = sparse.eye(3, 4, format="csr", dtype=np.float32), sparse.eye(3, 2, format="csr", dtype=np.float32)
    return [
        texts
        | {"train_labels.txt": lines("x y", "", "z::0.5"), "train_v1.txt": lines("0 0:1", "1 3:2", "0 1:1")},
        texts | {"Y.trn.npz": npz(Y), "X.trn.npz": npz(X)},
        {"test_texts.txt": lines("a"), "test_labels.txt": lines("x"), "test.txt": lines("1 2 1", "0 0:1")},
    ]


def parquet_files() -> list[Case]:
    data = texts_with_labels(LABELS)
    return [written(data, "a.parquet"), *(odd_parquet(random.Random(seed)) for seed in range(6))]


def odd_parquet(rng: random.Random) -> Case:
    """A table that is valid as such, with columns of any type."""
    import pyarrow
    from pyarrow import parquet

    rows = rng.choice((0, 1, 3, 50))
    makers: list[Callable[[], Any]] = [
        lambda: pyarrow.array([rng.choice(("a", "b;c", "", None, "\ud7ff", "[1]")) for _ in range(rows)]),
        lambda: pyarrow.array(
            [rng.choice((["a"], ["a", "b"], [], None)) for _ in range(rows)], pyarrow.list_(pyarrow.string())
        ),
        lambda: pyarrow.array(
            [rng.choice(([1], [2, None], None)) for _ in range(rows)], pyarrow.list_(pyarrow.int64())
        ),
        lambda: pyarrow.array(
            [rng.choice((1.0, -1.0, 1e300, float("nan"), None)) for _ in range(rows)], pyarrow.float64()
        ),
        lambda: pyarrow.array([rng.choice((0, 1, -5, 2**62, None)) for _ in range(rows)], pyarrow.int64()),
        lambda: pyarrow.array([rng.choice((b"a", b"\xff", None)) for _ in range(rows)], pyarrow.binary()),
        lambda: pyarrow.array(
            [rng.choice(({"a": 1}, None)) for _ in range(rows)], pyarrow.struct([("a", pyarrow.int32())])
        ),
        lambda: pyarrow.array(
            [rng.choice(([("k", 1)], None)) for _ in range(rows)],
            pyarrow.map_(pyarrow.string(), pyarrow.int32()),
        ),
        lambda: pyarrow.array([[["a"], None]] * rows, pyarrow.list_(pyarrow.list_(pyarrow.string()))),
        lambda: pyarrow.array(
            [rng.choice((0, 1, None)) for _ in range(rows)], pyarrow.timestamp("ns", tz="UTC")
        ),
        lambda: pyarrow.array([2**62] * rows, pyarrow.timestamp("s")),
        lambda: pyarrow.array([2**62] * rows, pyarrow.duration("s")),
        lambda: pyarrow.array([-(2**31)] * rows, pyarrow.date32()),
        lambda: pyarrow.nulls(rows),
        lambda: pyarrow.array(["a"] * rows, pyarrow.string()).dictionary_encode(),
        lambda: pyarrow.array([True] * rows),
        lambda: pyarrow.array([b"ab"] * rows, pyarrow.binary(2)),
        lambda: pyarrow.array([["a", "b"]] * rows, pyarrow.list_(pyarrow.string(), 2)),
    ]
    names = [
        rng.choice(("text", "labels", "text", "labels", "id", "title", "")) for _ in range(rng.randrange(5))
    ]
    columns = [rng.choice(makers[:2] * 4 + makers)() for _ in range(len(names) + 2)]
    file = io.BytesIO()
    try:
        table = pyarrow.table(columns, names=["text", "labels", *names])
        parquet.write_table(
            table,
            file,
            compression=rng.choice(("none", "snappy", "zstd")),
            row_group_size=rng.choice((1, 100)),
        )
    except (pyarrow.ArrowException, ValueError, OverflowError):  # a type that Parquet does not have
        return {"a.parquet": b"PAR1PAR1"}
    return {"a.parquet": file.getvalue()}


def predictions() -> list[Case]:
    found = treetop.Predictions.from_csr(np.arange(12).reshape(3, 4) / 12, WORDS)
    text = io.StringIO()
    found.write(text)
    return [
        {"a.jsonl": text.getvalue().encode()},
        {"a.jsonl": lines('{"labels": []}', '{"labels": [{"label": "x", "score": -1e30}]}')},
    ]


def trees() -> list[Case]:
    C = sparse.csr_matrix(np.array([[1, 0], [0, 1], [1, 0], [0, 1]], np.float32))
    return [
        {"t.tsv": lines("baking\tgames", "chess\tgames", "sailing\tall", "x\tgames", "games\tall", "all\t")},
        {"t.npz": npz(C.tocsc())},
        {
            "t/config.json": b'{"len": 2}',
            "t/C0.npz": npz(sparse.csc_matrix(np.ones((2, 1)))),
            "t/C1.npz": npz(C),
        },
    ]


def word_vectors() -> list[Case]:
    rows = ["flour 0.1 0.2 -1e-3", "yeast 1 2 3", ". . . 1 2 3", "wind 0 0 1"]
    return [
        {"v.txt": lines(*rows)},
        {"v.txt": lines("4 3", *rows)},
        {
            "v.safetensors": tensors(np.arange(9, dtype=np.float32).reshape(3, 3)),
            "vocab.txt": lines("flour", "yeast", "wind"),
        },
        {
            "v.safetensors": tensors(np.arange(9, dtype=np.float16).reshape(3, 3), "F16"),
            "tokenizer.json": b'{"model": {"vocab": {"flour": 0, "yeast": 1, "wind": 2}}}',
        },
    ]


def tensors(array: Any, kind: str = "F32") -> bytes:
    body = array.tobytes()
    header = json.dumps(
        {"table": {"dtype": kind, "shape": array.shape, "data_offsets": [0, len(body)]}}
    ).encode()
    return struct.pack("<Q", len(header)) + header + body


def feedback() -> list[Case]:
    return [{"f.sqlite": database(("text", '["x"]', "[]", '["y"]'), ("other", "[]", '["x"]', "[]"))}]


def odd_feedback(rng: random.Random) -> Case:
    """A database with any values in its columns."""
    values = (
        "",
        "[]",
        '["a"]',
        "{}",
        "null",
        "3",
        "[1, null]",
        '[["a"]]',
        "[" * 3000,
        "9" * 5000,
        None,
        7,
        1.5,
        b"\xff",
        '["\\ud800"]',
    )
    rows = [tuple(rng.choice(values) for _ in range(4)) for _ in range(rng.choice((0, 1, 3)))]
    return {"f.sqlite": database(("text", '["x"]', "[]", "[]"), *rows)}


def database(*rows: tuple[Any, ...]) -> bytes:
    """The columns that readers of feedback look at."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.sqlite"
        connection = sqlite3.connect(path)
        connection.execute(
            "CREATE TABLE feedback"
            " (id INTEGER PRIMARY KEY, created REAL, model, text, accepted, rejected, added)"
        )
        for row in rows:
            connection.execute("INSERT INTO feedback VALUES (NULL, 0, 'm', ?, ?, ?, ?)", row)
        connection.commit()
        connection.close()
        return path.read_bytes()


def kept_run() -> Case:
    record = {
        **{"method": "xr-linear", "config": {}, "seed": 0, "metrics": {"P@1": 50.0}, "train_seconds": 1.0},
        **{"predict_milliseconds": 1.0, "bytes": 10, "gpu_bytes": 0, "parameters": None, "epochs": []},
        **{"best_epoch": None, "device": None, "precision": None, "threads": 1, "jobs": 1, "treetop": "0"},
    }
    return {
        "run.json": json.dumps(record).encode(),
        "run.npy": npy(np.array([[0, 1], [2, -1], [3, 0]], np.int32)),
    }


def reproduced() -> Case:
    parts = {
        "indptr": np.array([0, 2, 3]),
        "indices": np.array([0, 2, 1], np.int32),
        "scores": np.array([0.9, 0.5, 0.1], np.float32),
    }
    return {
        "member.json": b'{"seed": "1", "linear.cost": "2.0"}',
        "member.npz": zip_of(
            {f"{name}.npy": npy(part) for name, part in {**parts, "seconds": np.array(1.5)}.items()}
        ),
        "encoder/config.json": b'{"hidden_size": 768, "num_hidden_layers": 12, "vocab_size": 30522}',
    }


def pieces() -> Case:
    with tempfile.TemporaryDirectory() as folder:
        from treetop import checkpoints

        with checkpoints.keeping(folder, resume=False):
            checkpoints.keep("piece", {"a": np.arange(5), "b": np.zeros((2, 2), np.float32)})
            return {
                name: content
                for name, content in folder_case(Path(folder)).items()
                if name.startswith("piece/")
            }


def pecos_models() -> list[Case]:
    from pecos_folders import write_ranker, write_text2text

    cases = []
    for make in (lambda place: write_ranker(place, post_processors=["l3-hinge"] * 3), write_text2text):
        with tempfile.TemporaryDirectory() as folder:
            cases.append(folder_case(make(Path(folder) / "m")))
    return cases


def encoders() -> list[Case]:
    from tiny_bert import tiny_bert

    return [folder_case(Path(tiny_bert(layers=1, longest=16)))]


def names() -> Strings:
    return Strings.of(WORDS)
