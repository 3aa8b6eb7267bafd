"""What fuzzing found: files that led to an exception of Python, a warning, a wait, or took all memory."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import warnings

import numpy as np
import pytest
import zstandard
from scipy import sparse

import treetop
from pecos_folders import write_ranker, write_text2text
from treetop import Dataset, Predictions, Strings, checkpoints
from treetop.comparison.run_folder import RunFolder
from treetop.data import read, write
from treetop.data.formats.matrix_files import columns_of
from treetop.errors import ConfigError, DataError, ModelError
from treetop.methods.pecos import load_pecos
from treetop.reproduction.differences import size_of
from treetop.reproduction.run import _read, _read_json
from treetop.serve.feedback_data import read_feedback
from treetop.tree.tree_files import read_tree

LONG = "9" * 5000
"""More digits than Python converts."""
LARGE = "9" * 400
"""A whole number beyond floats."""
DEEP = "[" * 100_000


@contextlib.contextmanager
def no_wait():
    """Fails where something waits for a pipe."""

    def stop(*_):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(5)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


def says(words: str, error: type[Exception] = DataError):
    return pytest.raises(error, match=words)


def pecos_folder(folder):
    for name in "XY":
        sparse.save_npz(folder / f"{name}.trn.npz", sparse.eye(2, 2, format="csr"))
    return folder


def archive(path, **parts):
    """Like `scipy.sparse.save_npz`, with other parts."""
    whole = {"format": b"csr", "shape": [2, 2], "data": np.ones(2), "indices": np.arange(2)}
    np.savez(path, **{**whole, "indptr": np.arange(3), **parts})
    return path


def test_messages_are_one_line_of_limited_length():
    message = str(DataError("a\x1b[2Jb\nc\u2028d\x85e\ud800f é ☃"))
    assert message == r"a\x1b[2Jb\nc\u2028d\x85e\ud800f é ☃"
    long = str(DataError(f"file.csv: {'x' * 10**6}; fix it"))
    assert long.startswith("file.csv: x") and long.endswith("x; fix it") and len(long) < 2000


def test_control_characters_of_a_header_stay_out_of_messages(tmp_path):
    (tmp_path / "a.csv").write_text("\x1b[2Jtext,labels\na,b\n")
    with says(r"a\.csv line 1: no column 'text' \(columns: \\x1b\[2Jtext, labels\)"):
        read(tmp_path / "a.csv")


def test_large_numbers_in_json(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "a", "labels": ["b"], "w": {LARGE}}}\n')
    with says(r"a\.jsonl line 1: the weight in 'w' must be a number"):
        read(path, weight="w")
    path.write_text(f'{{"text": "a", "labels": [{LARGE}]}}\n')
    assert list(read(path).labels) == [LARGE]
    (tmp_path / "trn.json").write_text(f'{{"title": "t", "target_ind": [0], "target_rel": [{LARGE}]}}\n')
    (tmp_path / "lbl.json").write_text('{"title": "x"}\n')
    with says(r"trn\.json line 1: field 'target_rel' must be a list of finite numbers"):
        read(tmp_path, format="repository", split="train")


def test_a_large_relevance(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "labels": ["b::1e300"]}\n')
    with warnings.catch_warnings(), says(r"a\.jsonl: relevances must be finite"):
        warnings.simplefilter("error")
        read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("line", [f'{{"id": {LONG}, "labels": []}}', DEEP])
def test_predictions_that_json_cannot_read(tmp_path, line):
    (tmp_path / "p.jsonl").write_text(line)
    with says(r"p\.jsonl, line 1: not valid JSON"):
        Predictions.read(tmp_path / "p.jsonl")


@pytest.mark.parametrize("format", ["xmc", "repository"])
def test_long_numbers_in_a_header(tmp_path, format):
    name = {"xmc": "a.xmc", "repository": "trn_X_Xf.txt"}[format]
    (tmp_path / name).write_text(f"1 {LONG} 1\n0 0:1\n" if format == "xmc" else f"1 {LONG}\n0:1\n")
    with says(f"{name} line 1: the header must be"):
        read(tmp_path / name, format=format, need_labels=False)


def test_times_in_parquet_that_python_lacks(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    late = pyarrow.array([2**62], pyarrow.timestamp("us"))
    write_table(pyarrow.table({"text": pyarrow.array(["a"]), "labels": late}), tmp_path / "a.parquet")
    with says(r"a\.parquet: column 'labels' has a value that cannot be read"):
        read(tmp_path / "a.parquet")


def test_rows_of_parquet_that_take_no_space(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(3_000_000, np.int8), pyarrow.array([""]))
    write_table(pyarrow.table({"text": texts}), tmp_path / "a.parquet")
    monkeypatch.setenv("TREETOP_LIMITS", "rows=1000000")
    with says(r"a\.parquet: declares 3,000,000 rows but has [0-9,]+ bytes.*TREETOP_LIMITS=rows=3000000"):
        read(tmp_path / "a.parquet", need_labels=False)


def test_lines_that_take_no_space(tmp_path, monkeypatch):
    monkeypatch.setenv("TREETOP_LIMITS", "rows=100000")
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"\n" * 200_000))
    with says(r"a\.txt\.zst: decompresses to more than 100,000 lines.*TREETOP_LIMITS=rows="):
        read(path, need_labels=False)
    path.write_bytes(zstandard.ZstdCompressor().compress(b"\n" * 90_000))
    assert len(read(path, need_labels=False)) == 90_000


@pytest.mark.parametrize("content", [DEEP, '{"format": "treetop-arrays", "version": 1, "examples": 1e999}'])
def test_a_manifest_of_arrays(tmp_path, content):
    (tmp_path / "data.json").write_text(content)
    with says(r"data\.json: is damaged: it is not a manifest"):
        read(tmp_path)


def test_arrays_that_are_links_in_a_circle_or_too_large(tmp_path):
    write(Dataset.from_texts(["a"], [["b"]]), tmp_path / "a.arrays")
    entry = json.loads((tmp_path / "a.arrays" / "data.json").read_text())["arrays"]["texts.buffer"]
    file = tmp_path / "a.arrays" / entry["file"]
    file.unlink()
    file.symlink_to(file)
    with says(r"texts\.buffer\.npy"):
        read(tmp_path / "a.arrays")
    file.unlink()
    np.save(file, np.zeros(1, np.uint8))
    file.write_bytes(
        file.read_bytes().replace(b"(1,), }" + b" " * 30, b"(1099511627776, 1099511627776), }    ")
    )
    with warnings.catch_warnings(), says(r"texts\.buffer\.npy is damaged"):
        warnings.simplefilter("error")
        read(tmp_path / "a.arrays")


@needs_pipes
@pytest.mark.parametrize("name", ["X.trn.npy", "X.trn.npz", "Y.trn.npy"])
def test_pipes_in_a_folder_of_pecos(tmp_path, name):
    pecos_folder(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with no_wait(), contextlib.suppress(DataError):
        read(tmp_path)
    with no_wait():
        assert columns_of(tmp_path / name) is None


@needs_pipes
def test_pipes_among_the_files_of_splits_and_of_arrays(tmp_path):
    for name in ("train.jsonl", "test_raw_texts.txt"):
        os.mkfifo(tmp_path / name)
        with no_wait(), says("is a folder, not a file|has no split"):
            read(tmp_path)
        (tmp_path / name).unlink()
    write(Dataset.from_texts(["a"], [["b"]]), tmp_path / "a.arrays")
    file = next((tmp_path / "a.arrays").glob("*/texts.buffer.npy"))
    file.unlink()
    os.mkfifo(file)
    with no_wait(), says(r"texts\.buffer\.npy is damaged"):
        read(tmp_path / "a.arrays")


@needs_pipes
def test_a_tree_and_a_chain_that_are_pipes(tmp_path):
    os.mkfifo(tmp_path / "C0.npz")
    with no_wait(), says(r"C0\.npz: not a sparse matrix saved by scipy \(not a regular file\)"):
        read_tree(tmp_path / "C0.npz", Strings.of(["a"]))
    (tmp_path / "config.json").write_text('{"len": 1}')
    with no_wait(), says(r"C0\.npz: not a sparse matrix"):
        read_tree(tmp_path, Strings.of(["a"]))


@needs_pipes
def test_parquet_through_a_pipe(tmp_path):
    pytest.importorskip("pyarrow")
    write(Dataset.from_texts(["a"], [["b"]]), tmp_path / "a.parquet")
    reading, writing = os.pipe()
    os.write(writing, (tmp_path / "a.parquet").read_bytes())
    os.close(writing)
    with no_wait():
        assert list(read(f"/dev/fd/{reading}", format="parquet")) == [("a", ["b"])]
    os.close(reading)
    with says("/dev/zero: is neither a file nor a pipe"):
        read("/dev/zero", format="parquet")


def test_complex_numbers_in_an_archive(tmp_path):
    pecos_folder(tmp_path)
    for part in ({"shape": np.array([2, 2], np.complex64)}, {"data": np.ones(2, np.complex64)}):
        archive(tmp_path / "X.trn.npz", **part)
        with warnings.catch_warnings(), contextlib.suppress(DataError):
            warnings.simplefilter("error")
            read(tmp_path)


def test_complex_numbers_in_memory():
    for made in (np.ones((2, 2), complex), sparse.csr_matrix(np.ones((2, 2), complex))):
        with says("the features are complex numbers; give real ones"):
            Dataset.from_matrices(made, [["a"], ["b"]])


def test_messages_name_no_objects_in_memory(tmp_path):
    pecos_folder(tmp_path)
    (tmp_path / "X.trn.npz").unlink()
    np.save(tmp_path / "X.trn.npy", np.eye(2))
    content = (tmp_path / "X.trn.npy").read_bytes()
    (tmp_path / "X.trn.npy").write_bytes(content.replace(b"False", b"abcde"))
    with says(r"X\.trn\.npy: not an array saved by numpy \(.*…\); write it with numpy\.save") as caught:
        read(tmp_path)
    assert " at 0x" not in str(caught.value)


def test_an_archive_next_to_it_that_unpacks_to_everything(tmp_path, monkeypatch):
    pecos_folder(tmp_path)
    np.savez_compressed(tmp_path / "X.tst.npz", shape=np.zeros(3_000_000))
    monkeypatch.setenv("TREETOP_LIMITS", "decompressed=1000000")
    assert columns_of(tmp_path / "X.tst.npz") is None
    assert len(read(tmp_path, split="train", need_labels=False)) == 2


def test_clusters_that_only_a_shape_declares(tmp_path):
    archive(tmp_path / "C.npz", shape=[2, 10**10])
    with says(r"C\.npz: has 10,000,000,000 clusters for 2 nodes; leave out empty clusters"):
        read_tree(tmp_path / "C.npz", Strings.of(["a", "b"]))
    archive(tmp_path / "C.npz", format=b"csc", shape=[10**10, 2])
    with says(r"C\.npz: declares 10,000,000,000 rows but has 2 entries"):
        read_tree(tmp_path / "C.npz", Strings.of(["a", "b"]))


def test_a_deep_taxonomy(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("".join(f"{node}\t{node + 1}\n" for node in range(5000)))
    with says(r"t\.tsv: the number of levels above '0' .*limit is 100: .*TREETOP_LIMITS=levels="):
        read_tree(path, Strings.of(["0"]))
    path.write_text("a\tb\nb\ta\n")
    with says(r"t\.tsv: the taxonomy has a cycle"):
        read_tree(path, Strings.of(["a"]))
    path.write_text("".join(f"{node}\t{(node - 1) // 2 or ''}\n" for node in range(1, 64)))
    tree = read_tree(path, Strings.of(map(str, range(31, 64))))
    assert tree.sizes == [2, 4, 8, 16, 32, 33]


@pytest.mark.parametrize("values", [(DEEP, "[]"), ("3", "[]"), ("[1]", "[]"), (None, "[]")])
def test_feedback_that_is_none(tmp_path, values):
    path = tmp_path / "f.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE feedback (id INTEGER PRIMARY KEY, text, accepted, rejected, added)")
        connection.execute("INSERT INTO feedback VALUES (1, 'a', '[\"x\"]', ?, ?)", values)
    with says(r"f\.sqlite: not a feedback file"):
        read_feedback(path)


def test_kept_runs_that_are_damaged_count_as_missing(tmp_path):
    record = dict.fromkeys(treetop.comparison.Run.__dataclass_fields__, 1) | {"metrics": {"P@1": 1.0}}
    record |= {"config": {}, "epochs": []}
    del record["ranked"]
    np.save(tmp_path / "run.npy", np.zeros((3, 1), np.int32))
    whole = json.dumps(record)
    (tmp_path / "run.json").write_text(whole)
    assert RunFolder(tmp_path).find("run", 3) is not None
    for content in (DEEP, whole.replace('{"P@1": 1.0}', "7"), whole.replace('{"P@1": 1.0}', '{"P@1": "a"}')):
        (tmp_path / "run.json").write_text(content)
        assert RunFolder(tmp_path).find("run", 3) is None
    (tmp_path / "run.json").write_text(whole)
    (tmp_path / "run.npy").write_bytes(b"\x93NUMPY\x01\x00\x04\x00'''\n")
    assert RunFolder(tmp_path).find("run", 3) is None


def test_files_of_a_reproduction(tmp_path):
    train = Dataset.from_texts(["a"], [["x", "y"]])
    parts = {"indptr": np.array([0, 1]), "indices": np.zeros(1, np.int32), "scores": np.ones(1, np.float32)}
    path = tmp_path / "m.npz"
    np.savez(path, **parts, seconds=1.5)
    assert _read(path, train) is not None
    for change in ({"scores": np.array(1.0)}, {"scores": np.ones(1, np.complex64)}, {"seconds": np.ones(2)}):
        np.savez(path, **{**parts, "seconds": 1.5, **change})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert _read(path, train) is None
    np.save(tmp_path / "m.npy", np.zeros(1))
    (tmp_path / "m.npy").rename(path)
    assert _read(path, train) is None
    (tmp_path / "config.json").write_text(DEEP)
    with says(r"config\.json: cannot be read"):
        _read_json(tmp_path / "config.json")
    assert size_of(str(tmp_path)) is None
    (tmp_path / "config.json").write_text("30522")
    assert size_of(str(tmp_path)) is None


@needs_pipes
def test_pieces_of_a_checkpoint_that_are_no_files(tmp_path):
    with checkpoints.keeping(tmp_path / "c", resume=False):
        checkpoints.keep("one", {"a": np.arange(3)})
        assert checkpoints.find("one") is not None
        listed = tmp_path / "c" / "one" / "piece.json"
        whole = listed.read_bytes()
        listed.unlink()
        os.mkfifo(listed)
        with no_wait():
            assert checkpoints.find("one") is None
        listed.unlink()
        listed.write_bytes(whole)
        os.mkfifo(tmp_path / "c" / "one" / "b.npy")
        with no_wait():
            checkpoints.find("one")


def test_models_of_pecos_with_odd_numbers(tmp_path):
    folder = write_ranker(tmp_path / "m", post_processors=["l3-hinge"] * 3)
    about = folder / "ranker" / "0.model" / "param.json"
    content = json.loads(about.read_text())
    about.write_text(json.dumps(content | {"bias": int(LARGE)}))
    with says(r"param\.json: has no valid bias", ModelError):
        load_pecos(folder)
    folder = write_text2text(tmp_path / "t")
    words = folder / "preprocessor" / "0.base" / "tokenizer" / "vocab.txt"
    words.write_text(words.read_text().replace("0\t", f"{LONG}\t", 1))
    with says(r"vocab\.txt line 2: expected number", ModelError):
        load_pecos(folder)


def test_words_next_to_word_vectors_are_lines(tmp_path):
    numpy_files = pytest.importorskip("safetensors.numpy")
    from treetop.neural.word_vectors import read_vectors

    numpy_files.save_file({"t": np.ones((2, 3), np.float32)}, tmp_path / "v.safetensors")
    (tmp_path / "vocab.txt").write_text("a\u2028b\nword\n", "utf-8")
    assert read_vectors(tmp_path / "v.safetensors", ["word"], 3)[1].tolist() == [[1, 1, 1]]


def test_a_vocabulary_with_a_byte_order_mark(tmp_path):
    pytest.importorskip("torch")
    from treetop.neural.words import Words, WordsConfig

    (tmp_path / "words.txt").write_text("\ufeffone\n", "utf-8")
    config = WordsConfig(vocabulary=str(tmp_path / "words.txt"), min_df=1)
    assert Words.fit(Strings.of(["one two", "two three"]), config, 1).names() == ["one"]


@pytest.fixture
def encoder(tmp_path):
    """A copy of a tiny encoder."""
    pytest.importorskip("torch")
    from tiny_bert import tiny_bert

    folder = tmp_path / "encoder"
    shutil.copytree(tiny_bert(), folder)
    return folder


def load_encoder(folder):
    from treetop.neural.encoder_config import EncoderConfig
    from treetop.neural.pretrained import pretrained

    return pretrained(EncoderConfig(encoder=str(folder)), 8)


def changed(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_an_encoder_with_an_odd_tokenizer(encoder):
    path = encoder / "tokenizer.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"normalizer": {"type": "none"}}))
    with says(rf"the folder {encoder} does not contain a transformer", ConfigError):
        load_encoder(encoder)
    whole["model"]["vocab"]["rook"] = 2**31 - 1  # tokenizers would list the numbers below it
    path.write_text(json.dumps(whole))
    with says(r"numbers its [0-9]+ tokens up to 2,147,483,647", ConfigError):
        load_encoder(encoder)


def test_an_encoder_with_an_odd_configuration(encoder):
    changed(encoder / "config.json", num_hidden_layers=50_000)
    with says("num_hidden_layers of the encoder is 50,000, and the limit is 1,000", ConfigError):
        load_encoder(encoder)
    changed(encoder / "config.json", num_hidden_layers=2)
    changed(encoder / "tokenizer_config.json", model_max_length=float("nan"))
    with says("does not contain a transformer", ConfigError):
        load_encoder(encoder)


@pytest.mark.parametrize("field", ["attn_implementation", "_attn_implementation", "use_kernels"])
def test_an_encoder_never_downloads_kernels(encoder, field):
    changed(encoder / "config.json", **{field: "someone/kernel"})
    with says(f"has {field}, for which code would be downloaded; remove it", ConfigError):
        load_encoder(encoder)
    changed(encoder / "config.json", **{field: None})
    load_encoder(encoder)


@needs_pipes
def test_an_encoder_with_a_pipe(encoder):
    (encoder / "config.json").unlink()
    os.mkfifo(encoder / "config.json")
    with no_wait(), says(r"config\.json is not a regular file", ConfigError):
        load_encoder(encoder)


def test_cached_vectors_of_another_shape_are_made_again(encoder, tmp_path):
    from treetop.neural.batches import Examples
    from treetop.neural.vector_cache import cached

    made, _ = load_encoder(encoder)
    examples = Examples((np.array([0, 2, 3]), np.array([5, 6, 7], np.int32)))
    right = np.ones((2, made.width), np.float32)
    assert cached(str(tmp_path), made, examples, lambda: right) is right
    (file,) = tmp_path.glob("*.npy")
    for content in (np.zeros((2, 3), np.float32), np.zeros((1, made.width), np.float32), right.astype("f8")):
        np.save(file, content)
        assert cached(str(tmp_path), made, examples, lambda: right) is right
    file.write_bytes(b"\x93NUMPY\x01\x00\x04\x00'''\n")
    assert cached(str(tmp_path), made, examples, lambda: right) is right
