"""Edits of stored models with correct checksums, tried in a process of its own.

    python tests/model_edits.py PLACE ARCHIVE… --seed 0 --first 0 --tries 100

For each try, one line says what is edited, and one what came of it: a sentence, an answer or a failure. A
crash leaves the second out. `attack` starts such processes and collects the failures.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import faulthandler
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Json = dict[str, Any]
LONGEST = 700
"""Characters of an error message."""
GROWTH = 1 << 30
"""Bytes that a try may take."""
TOTAL = 12 << 30
"""Bytes of address space."""
SECONDS = 60.0
"""A try that takes longer ends its process."""
ODD_NUMBERS = (-1, 0, 1, 2, 255, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, "", "x", "1", [], [1, 2], {}, {"a": 1}, -1, 0, 1, 3, 1.5, 1e308, 10**9, 10**30, -(10**30)),
    *(float("nan"), float("inf"), "\ud800", "\x00", [[[[]]]]),
)


# -- edits of one array --------------------------------------------------------------------------------------


def _at(rng: np.random.Generator, array: np.ndarray, value: Any) -> np.ndarray:
    """One entry replaced."""
    flat = array.reshape(-1).copy()
    if len(flat):
        with np.errstate(all="ignore"):
            flat[rng.integers(len(flat))] = np.asarray(value).astype(array.dtype)
    return flat.reshape(array.shape)


def _retyped(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    kinds = [
        "i1",
        "u1",
        "i4",
        "i8",
        "u4",
        "u8",
        "f2",
        "f4",
        "f8",
        "c8",
        "?",
        "S3",
        "U2",
        "M8[s]",
        ">i8",
        ">f4",
    ]
    kind = rng.choice(kinds)
    with np.errstate(all="ignore"):
        return array.astype(kind)


def _reshaped(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return [
        lambda: array.reshape(1, -1),
        lambda: array.reshape(-1, 1),
        lambda: array.reshape(-1),
        lambda: array.reshape(-1)[:1].reshape(()) if array.size else array,
        lambda: array.reshape(1, -1, 1),
        lambda: array.T,
    ][rng.integers(6)]()


def _number(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f":
        return _at(rng, array, rng.choice([np.nan, np.inf, -np.inf, 1e38, -1.0, 0.0]))
    limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    value = int(rng.choice(np.array(ODD_NUMBERS, object)))
    return _at(rng, array, value if limits is None else min(max(value, limits.min), limits.max))


def _all_numbers(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return np.broadcast_to(_number(rng, array.reshape(-1)[:1]), array.size).reshape(array.shape).copy()


EDITS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "shorter": lambda rng, a: a[: max(len(a) - int(rng.choice([1, 2, 7])), 0)] if a.ndim else a.reshape(1),
    "longer": lambda rng, a: np.concatenate([a, a[-1:]] if len(a) else [a]) if a.ndim else a.reshape(1),
    "twice": lambda rng, a: np.concatenate([a, a]) if a.ndim else a.reshape(1),
    "empty": lambda rng, a: a[:0] if a.ndim else a.reshape(1)[:0],
    "first": lambda rng, a: a[:1] if a.ndim else a.reshape(1),
    "of another type": _retyped,
    "of another shape": _reshaped,
    "with an odd number": _number,
    "with one odd number everywhere": _all_numbers,
    "with a number one higher": lambda rng, a: _at(rng, a, 1) if not a.size else _shifted(rng, a, 1),
    "with a number one lower": lambda rng, a: _at(rng, a, 1) if not a.size else _shifted(rng, a, -1),
    "shuffled": lambda rng, a: rng.permutation(a) if a.ndim else a,
    "reversed": lambda rng, a: a[::-1] if a.ndim else a,
    "sorted": lambda rng, a: np.sort(a, 0) if a.ndim else a,
    "of random bytes": lambda rng, a: np.frombuffer(rng.bytes(a.nbytes), a.dtype).reshape(a.shape),
    "zero": lambda rng, a: np.zeros_like(a),
}


def _shifted(rng: np.random.Generator, array: np.ndarray, by: int) -> np.ndarray:
    flat = array.reshape(-1).copy()
    place = len(flat) - 1 if rng.integers(2) else int(rng.integers(len(flat)))
    with np.errstate(all="ignore"):
        wide = flat[place].item()
        if isinstance(wide, (int, float)) and not isinstance(wide, bool):
            with contextlib.suppress(OverflowError):
                flat[place] = wide + by
    return flat.reshape(array.shape)


def role(name: str) -> str:
    """What the names of an encoder's layers, and of members and levels, have in common."""
    return re.sub(r"\d+", "#", re.sub(r"(?<=\.transformer\.).*\.", "", name))


def _chosen(rng: np.random.Generator, arrays: Arrays) -> str:
    """An array; each role is as likely, however many arrays have it."""
    roles: dict[str, list[str]] = {}
    for name in arrays:
        roles.setdefault(role(name), []).append(name)
    return str(rng.choice(roles[str(rng.choice(sorted(roles)))]))


# -- edits of several arrays, or of the manifest -------------------------------------------------------------


def edit_one(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    name, edit = _chosen(rng, arrays), str(rng.choice(list(EDITS)))
    arrays[name] = EDITS[edit](rng, arrays[name])
    return f"{name} {edit}"


def edit_several(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    return "; ".join(edit_one(rng, arrays, config, data, other) for _ in range(rng.integers(2, 5)))


def edit_alike(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """Arrays of one length become shorter or longer together, or are shuffled alike."""
    first = arrays[_chosen(rng, arrays)]
    if not first.ndim:
        return edit_one(rng, arrays, config, data, other)
    near = int(rng.integers(2))  # pointers have one more entry
    same = [n for n, a in arrays.items() if a.ndim and 0 <= len(a) - len(first) + near <= 2 * near]
    same = [name for name in same if rng.random() < 0.8]
    kind, order = str(rng.choice(["shorter", "longer", "shuffled", "reversed"])), rng.permutation(len(first))
    for name in same:
        a = arrays[name]
        if kind == "shuffled":
            arrays[name] = a[order[order < len(a)]]
        else:
            arrays[name] = EDITS[kind](np.random.default_rng(0), a)
    return f"{', '.join(same[:6])} {kind} together"


def edit_swap(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """Two arrays change places; most often two of one type."""
    name = _chosen(rng, arrays)
    alike = [n for n, a in arrays.items() if n != name and a.dtype == arrays[name].dtype]
    with_whom = str(rng.choice(alike)) if alike and rng.random() < 0.7 else _chosen(rng, arrays)
    arrays[name], arrays[with_whom] = arrays[with_whom], arrays[name]
    return f"{name} and {with_whom} swapped"


def edit_parts(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """A part, or one array, of another model."""
    shared = [name for name in arrays if name in other]
    if not shared:
        return edit_swap(rng, arrays, config, data, other)
    name = str(rng.choice(shared))
    pieces = name.split(".")
    prefix = ".".join(pieces[: rng.integers(1, len(pieces) + 1)])
    taken = [each for each in shared if each == prefix or each.startswith(f"{prefix}.")]
    for each in taken:
        arrays[each] = other[each]
    return f"{prefix} of another model"


def edit_names(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """An array is missing, has another name, or is there twice."""
    name = _chosen(rng, arrays)
    kind = str(rng.choice(["missing", "renamed", "twice"]))
    if kind == "missing":
        del arrays[name]
        return f"{name} missing"
    numbers = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), name)
    fresh = numbers if numbers != name and rng.random() < 0.7 else f"{name}.{rng.choice(['x', '0', '7'])}"
    arrays[fresh] = arrays[name] if kind == "twice" else arrays.pop(name)
    return f"{name} {kind} as {fresh}"


def edit_features(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """The number of features, with pointers that follow it."""
    counts = [name for name in arrays if name.endswith(("n_features", "given_features"))]
    if not counts:
        return edit_one(rng, arrays, config, data, other)
    name = str(rng.choice(counts))
    was = int(arrays[name].reshape(-1)[0]) if arrays[name].size else 0
    now = int(rng.choice([0, 1, max(was - 1, 0), was + 1, was // 2, 2 * was, 10**6, 2**31 - 1, 2**40]))
    arrays[name] = np.array([now])
    done = [f"{name} {was} → {now}"]
    for each, a in list(arrays.items()):
        if (
            each.endswith(("starts", "idf"))
            and len(a) in (was, was + 1)
            and now < 10**7
            and rng.random() < 0.9
        ):
            arrays[each] = np.resize(a, now + len(a) - was) if len(a) else a
            if each.endswith("starts") and rng.random() < 0.7:
                arrays[each] = np.minimum(np.sort(arrays[each]), a[-1])
                arrays[each][-1:] = a[-1]
            done.append(f"{each} to match")
        if each.startswith("level") and rng.random() < 0.2:
            arrays[each] = np.zeros_like(a)
            done.append(f"{each} blank")
    return ", ".join(done)


def edit_labels(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """Fewer or more labels, in some of the places that have one entry per label."""
    offsets = [name for name in arrays if name.endswith("labels.offsets")]
    if not offsets:
        return edit_one(rng, arrays, config, data, other)
    name = str(rng.choice(offsets))
    count, by = len(arrays[name]) - 1, int(rng.choice([-2, -1, 1]))
    done = []
    for each, a in list(arrays.items()):
        if a.ndim != 1 or len(a) not in (count, count + 1) or rng.random() < 0.3:
            continue
        if by < 0:
            arrays[each] = a[:by]
        else:
            arrays[each] = np.append(a, a[-1:] if rng.random() < 0.5 else a[-1:] + 1).astype(a.dtype)
        done.append(each)
    return f"{by:+d} labels in {', '.join(done)}"


def edit_config(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    return _edit_json(rng, config, "config")


def edit_data(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    return _edit_json(rng, data, "data")


def edit_text(rng: np.random.Generator, arrays: Arrays, config: Json, data: Json, other: Arrays) -> str:
    """The JSON inside an array: a tokenizer, or the configuration of an encoder."""
    texts = [name for name in arrays if name.endswith(("tokenizer", ".config"))]
    if not texts:
        return edit_data(rng, arrays, config, data, other)
    name = str(rng.choice(texts))
    try:
        value = json.loads(arrays[name].tobytes())
    except ValueError:
        return edit_one(rng, arrays, config, data, other)
    inner = json.loads(value["tokenizer"]) if "tokenizer" in value and rng.random() < 0.8 else None
    what = _edit_json(rng, value if inner is None else inner, name)
    if inner is not None:
        value["tokenizer"] = json.dumps(inner)
    arrays[name] = np.frombuffer(json.dumps(value).encode(), np.uint8)
    return what


def _edit_json(rng: np.random.Generator, value: Json, where: str) -> str:
    """One value somewhere inside is replaced, removed or repeated."""
    places = list(_places(value))
    if not places:
        value["x"] = 1
        return f"{where}.x added"
    holder, key = places[rng.integers(len(places))]
    old = holder[key]
    if rng.random() < 0.15:
        del holder[key]
        return f"{where} without {key!r}"
    if rng.random() < 0.5 and isinstance(old, (int, float)) and not isinstance(old, bool):
        fresh: Any = [old + 1, old - 1, -old, 2 * old, 1000 * old, 10**6 * old + 1, 10**12 * old][
            rng.integers(7)
        ]
    elif rng.random() < 0.05:
        fresh = None
        for _ in range(400):
            fresh = [fresh]
    else:
        fresh = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
    holder[key] = fresh
    return f"{where}: {key!r} {str(old)[:40]!r} → {str(fresh)[:40]!r}"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        yield value, key
        yield from _places(inside)


KINDS = (
    *(edit_one,) * 6,
    *(edit_several, edit_alike, edit_alike, edit_swap, edit_parts, edit_names, edit_features, edit_features),
    *(edit_labels, edit_config, edit_config, edit_data, edit_text),
)


# -- trying one ----------------------------------------------------------------------------------------------


def _use(folder: Path, again: Path, old: Any, new: Any, texts: list[str]) -> str:
    """Everything that can be done with a model; raises what is not a sentence."""
    import treetop
    from treetop.errors import TreetopError

    sentences: list[str] = []

    @contextlib.contextmanager
    def sentence() -> Iterator[None]:
        try:
            yield
        except TreetopError as error:
            text = str(error)
            if "\n" in text.strip() or len(text) > LONGEST or "internal error" in text or not text.strip():
                raise AssertionError(f"not a sentence: {text[:2000]!r}") from error
            sentences.append(text)

    model: Any = None
    with sentence():
        model = treetop.load(folder)
    if model is None:
        return sentences[0]
    features = model.needs_features
    inputs: Any = old.X[:8] if features and not model.takes_texts else texts
    one: Any = old.X[:1] if features and not model.takes_texts else texts[0]
    if features and model.takes_texts:
        inputs, one = old[:8], old[:1]
    with sentence():
        list(model.predict(inputs, k=min(4, len(model.known_labels))))
    with sentence():
        list(model.predict(one))
    with sentence():
        _information(model, folder)
    with sentence():
        model.evaluate(old[:20])
    if model.can_explain:
        for label in model.known_labels[:2]:
            with sentence():
                str(model.explain(one, label).to_dict())
    with sentence():
        model.save(again)
        treetop.load(again)
    if model.can_update:
        with sentence():
            model.update(new, None if getattr(model.config, "keep_data", False) else old)
            list(model.predict(inputs))
    return sentences[0] if sentences else "an answer"


def _information(model: Any, folder: Path) -> None:
    """What the command ``info`` and the server show of a model."""
    import io

    from treetop.cli import info as command
    from treetop.cli.output import show_json
    from treetop.serve.card import card_of
    from treetop.serve.served_model import ServedModel

    with contextlib.redirect_stdout(io.StringIO()):
        command.info(folder, tree=True, json=True)
        command.info(folder, tree=True)
    served = ServedModel("m", folder, model, "v")
    json.dumps(card_of(served), allow_nan=False).encode()
    json.dumps(served.describe(), allow_nan=False).encode()
    str(served.search)
    assert show_json


class Tried:
    """The models, and the data that they were trained on."""

    def __init__(self, place: Path, archives: list[Path]) -> None:
        import treetop
        from small_data import topic_texts
        from treetop import Dataset, store

        self.place = place
        self.models = []
        for number, archive in enumerate(archives):
            folder = place / f"model{number}"
            if archive.is_dir():
                folder = archive
            else:
                with zipfile.ZipFile(archive) as opened:
                    opened.extractall(folder)
                folder = folder / "model"
            stored = store.load(folder)
            arrays = {name: np.array(array) for name, array in stored.arrays.items()}
            self.models.append((archive.stem, stored, arrays))
        texts, labels = topic_texts(60, seed=0)
        self.texts = topic_texts(8, seed=1)[0]
        self.old = Dataset.from_texts(texts, labels, source="train")
        self.new = Dataset.from_texts(*topic_texts(6, seed=2), source="new")
        self.treetop = treetop

    def describe(self, rng: np.random.Generator, only: str) -> tuple[str, Any, Arrays]:
        from dataclasses import replace

        number = int(rng.integers(len(self.models)))
        stem, stored, arrays = self.models[number]
        other = self.models[int(rng.integers(len(self.models)))][2]
        arrays, config, data = dict(arrays), copy.deepcopy(stored.config), copy.deepcopy(stored.data)
        kinds = [kind for kind in KINDS if only in kind.__name__]
        kind = kinds[rng.integers(len(kinds))]
        what = kind(rng, arrays, config, data, other)
        return f"{stem}: {what}", replace(stored, config=config, data=data), arrays

    def run(self, stored: Any, arrays: Arrays, misaligned: str) -> str:
        from dataclasses import replace

        from treetop import Dataset, store

        folder, again = self.place / "edited", self.place / "again"
        for each in (folder, again):
            shutil.rmtree(each, ignore_errors=True)
        store.save(folder, replace(stored, arrays=arrays))
        manifest = json.loads((folder / store.MANIFEST).read_text("utf-8"))
        if misaligned:
            _misalign(folder, misaligned, manifest["arrays"])
        manifest |= {"config": stored.config, "data": stored.data}
        (folder / store.MANIFEST).write_text(json.dumps(manifest))
        old, new = self.old, self.new
        if stored.data.get("input") == "features" or "features" in stored.data:
            old = given_features(old)
            new = given_features(new)
        assert isinstance(old, Dataset)
        return _use(folder, again, old, new, self.texts)


def save_others(place: Path) -> list[Path]:
    """Models that `stored_models` lacks: of given features, with label texts, updated, with kept examples."""
    from dataclasses import replace

    import treetop
    from small_data import TOPICS, topic_texts
    from treetop import Dataset, Strings

    texts = Dataset.from_texts(*topic_texts(60, seed=0), source="train")
    more = Dataset.from_texts(*topic_texts(20, seed=3), source="new")
    named = replace(texts, label_texts=Strings.of(TOPICS[label] for label in texts.labels))
    small = {"leaf_size": 2, "branching": 2, "threads": 1}
    made = {
        "features": treetop.XRLinear(**small, keep_data=True).fit(given_features(texts)),
        "features-neighbours": treetop.NearestNeighbours(threads=1).fit(given_features(texts)),
        "features-hybrid": treetop.Hybrid(**small, weight=0.3).fit(given_features(texts)),
        "named": treetop.XRLinear(**small, calibration="isotonic").fit(named),
        "updated": treetop.Parabel(leaf_size=2, trees=2, threads=1).fit(texts).update(more, texts),
        "kept": treetop.DiSMEC(keep_data=True, threads=1).fit(texts),
    }
    for name, model in made.items():
        model.save(place / name)
    return [place / name for name in made]


def given_features(data: Any) -> Any:
    """The same examples, with features in place of texts: hashed words."""
    import zlib
    from dataclasses import replace

    from scipy import sparse

    X = np.zeros((len(data), 40), np.float32)
    for row, text in enumerate(data.texts):
        for word in text.split():
            X[row, zlib.crc32(word.encode()) % 40] += 1
    return replace(data, texts=None, X=sparse.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True)))


def _misalign(folder: Path, name: str, entries: dict[str, dict[str, str]]) -> None:
    """The numbers of an array no longer begin at a multiple of their size."""
    from treetop.digests import file_digest

    path = folder / entries[name]["file"]
    content = path.read_bytes()
    length = int.from_bytes(content[8:10], "little")
    longer = content[10 : 9 + length] + b"   \n"
    path.write_bytes(content[:8] + (length + 3).to_bytes(2, "little") + longer + content[10 + length :])
    for entry in entries.values():
        if entry["file"] == entries[name]["file"]:
            entry["checksum"] = file_digest(path)


def _resident() -> int:
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


def _say(entry: Json) -> None:
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("place", type=Path)
    parser.add_argument("archives", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e6)
    parser.add_argument("--only", default="", help="edits whose names have this part")
    chosen = parser.parse_args()
    end = time.monotonic() + chosen.seconds
    os.fsync = lambda *_: None  # type: ignore[assignment]
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (TOTAL, TOTAL))
    with tempfile.TemporaryDirectory(dir=chosen.place) as place:
        tried = Tried(Path(place), chosen.archives)
        for number in range(chosen.first, chosen.first + chosen.tries):
            if time.monotonic() > end:
                break
            rng = np.random.default_rng([chosen.seed, number])
            what, stored, arrays = tried.describe(rng, chosen.only)
            misaligned = "" if rng.random() < 0.9 else _chosen(rng, arrays)
            what += misaligned and f"; {misaligned} misaligned"
            _say({"number": number, "try": what})
            before, failure, answer = _resident(), None, ""
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                answer = tried.run(stored, arrays, misaligned)
            except BaseException:
                failure = traceback.format_exc()[-3000:]
            faulthandler.cancel_dump_traceback_later()
            grown = _resident() - before
            if failure is None and grown > GROWTH:
                failure = f"took {grown / 1e6:.0f} MB"
            _say({"number": number, "failure": failure, "answer": answer})


# -- many ----------------------------------------------------------------------------------------------------


class Result:
    """What came of the tries."""

    def __init__(self) -> None:
        self.tried = 0
        self.failures: list[tuple[int, str, str]] = []
        self.answers: list[tuple[str, str]] = []


def attack(
    place: Path, archives: list[Path], *, seed: int, tries: int, seconds: float = 1e6, only: str = ""
) -> Result:
    """Runs so many tries, or as many as fit into ``seconds``.

    A process that dies is a failure, and the next continues after it.
    """
    result, first, end = Result(), 0, time.monotonic() + seconds
    while first < tries and (left := end - time.monotonic()) > 0:
        command = [sys.executable, __file__, str(place), *map(str, archives)]
        command += ["--seed", str(seed), "--first", str(first), "--tries", str(tries - first)]
        command += ["--seconds", str(left), "--only", only]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "OMP_NUM_THREADS": "1"}
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            ) as process,
        ):
            now: Json | None = None
            assert process.stdout is not None
            for line in process.stdout:
                entry = json.loads(line)
                if "try" in entry:
                    now = entry
                    continue
                assert now is not None
                result.tried += 1
                if entry["failure"]:
                    result.failures.append((entry["number"], now["try"], entry["failure"]))
                else:
                    result.answers.append((now["try"], entry["answer"]))
                first, now = entry["number"] + 1, None
            process.wait()
            errors.seek(0)
            error = errors.read()
        if now is not None:
            result.tried += 1
            result.failures.append(
                (now["number"], now["try"], f"died ({process.returncode}): {error[-2000:]}")
            )
            first = now["number"] + 1
        elif process.returncode:
            raise RuntimeError(error)
    return result


if __name__ == "__main__":
    main()
