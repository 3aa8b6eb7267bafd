"""`Predictions`: the ranked labels of all examples, the result type of every method."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _native
from .data.files import Input, Output
from .errors import ConfigError, DataError, MissingExtraError, not_written
from .sparse import listed
from .strings import Strings, StringsBuilder

Rows = npt.NDArray[np.int64] | slice | Sequence[int]
ROWS_SHOWN = 5
LABELS_SHOWN = 5
LARGEST_SCORE = float(str(np.finfo(np.float32).max))


class Scored(NamedTuple):
    """One predicted label and its score."""

    label: str
    score: float

    def __repr__(self) -> str:
        return f"Scored({self.label!r}, {self.score:.4g})"


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Example ``i`` has the labels ``indices[indptr[i]:indptr[i + 1]]``, best first.

    Scores never increase along a row. Methods break ties by the raw score, then by the smaller label id;
    files keep their own order.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    labels: Strings
    """The label vocabulary: id ``j`` is the label ``labels[j]``."""
    ids: Strings | None = None

    def __post_init__(self) -> None:
        for name, dtype in (("indptr", np.int64), ("indices", np.int32), ("scores", np.float32)):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype))
        if len(self.scores) != len(self.indices):
            raise DataError(f"predictions: {len(self.scores):,} scores but {len(self.indices):,} labels")
        flaw = _native.ranking_flaw(self.indptr, self.indices, self.scores, len(self.labels))
        if flaw is not None:
            raise DataError(f"predictions: {flaw}")
        if self.ids is not None and len(self.ids) != len(self):
            raise DataError(f"predictions: {len(self.ids):,} ids but {len(self):,} examples")

    @classmethod
    def from_csr(
        cls, matrix: Any, labels: Iterable[str], k: int | None = None, *, ids: Strings | None = None
    ) -> Predictions:
        """The ``k`` best stored scores of each row of an examples × labels matrix, or all."""
        csr = sparse.csr_matrix(matrix, dtype=np.float32)
        labels = Strings.of(labels)
        if csr.shape[1] != len(labels):
            raise DataError(f"predictions: {csr.shape[1]:,} score columns but {len(labels):,} labels")
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        # Column ids are sorted within a row and the sort is stable: ties go to the smaller id.
        order = sort_rows(csr.indptr, falling_key(csr.data))
        whole = cls(csr.indptr, csr.indices[order], csr.data[order], labels, ids)
        return whole if k is None else whole.top(k)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @overload
    def __getitem__(self, rows: int) -> list[Scored]: ...
    @overload
    def __getitem__(self, rows: Rows) -> Predictions: ...
    def __getitem__(self, rows: int | Rows) -> list[Scored] | Predictions:
        """``predictions[7]`` is one ranked list; a slice or an index array returns `Predictions`."""
        if isinstance(rows, (int, np.integer)):
            row = range(len(self))[int(rows)]
            span = slice(self.indptr[row], self.indptr[row + 1])
            names = (self.labels[label] for label in self.indices[span].tolist())
            return [Scored(*pair) for pair in zip(names, self.scores[span].tolist(), strict=True)]
        chosen = np.arange(len(self))[rows]
        counts = self.counts[chosen]
        indptr = _indptr(counts)
        # Entry p of output row r comes from its row's start + (p - indptr[r]).
        source = np.repeat(self.indptr[:-1][chosen] - indptr[:-1], counts) + np.arange(indptr[-1])
        ids = None if self.ids is None else self.ids.take(chosen)
        return Predictions(indptr, self.indices[source], self.scores[source], self.labels, ids)

    def __iter__(self) -> Iterator[list[Scored]]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        longest = int(self.counts.max(initial=0))
        return f"Predictions({len(self):,} examples, up to {longest:,} of {len(self.labels):,} labels each)"

    def __str__(self) -> str:
        lines = [repr(self)]
        for row in range(min(len(self), ROWS_SHOWN)):
            best = self[row]
            shown = ", ".join(f"{label} {score:.3f}" for label, score in best[:LABELS_SHOWN]) or "no labels"
            lines.append(f"  {self.id_of(row)}: {shown}{', …' if len(best) > LABELS_SHOWN else ''}")
        if len(self) > ROWS_SHOWN:
            lines.append("  …")
        return "\n".join(lines)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The number of labels of each example."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The example of each entry of `indices`."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """The rank of each entry of `indices` in its row; 0 is the best."""
        return np.arange(len(self.indices)) - np.repeat(self.indptr[:-1], self.counts)

    def id_of(self, row: int) -> str | int:
        """The id of one example, or its row number without ids."""
        return row if self.ids is None else self.ids[row]

    def top(self, k: int) -> Predictions:
        """The ``k`` best labels of each example, or fewer."""
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}")
        return self if k >= self.counts.max(initial=0) else self._keep(self.ranks < k)

    def above(self, threshold: float) -> Predictions:
        """Only labels with a score strictly above ``threshold``."""
        check_threshold(threshold)
        return self._keep(self.scores > threshold)

    def without(self, pairs: sparse.csr_matrix) -> Predictions:
        """The same rankings without the entries of an examples × labels matrix, whose columns ascend."""
        return self._keep(~listed(self.indptr, self.indices, pairs))

    def aligned_to(self, labels: Strings) -> Predictions:
        """The same rankings with the label ids of ``labels``; other labels follow after them."""
        if self.labels is labels or self.labels == labels:
            return dataclasses.replace(self, labels=labels)
        known = labels.positions
        unseen = [name for name in self.labels if name not in known]
        merged = Strings.of([*labels, *unseen]) if unseen else labels
        new_id = np.array([merged.position(name) for name in self.labels], np.int32)
        return dataclasses.replace(self, labels=merged, indices=new_id[self.indices])

    def ranked(self, k: int) -> npt.NDArray[np.int32]:
        """Label ids as an examples × ``k`` array, best first, padded with -1."""
        best = self.top(k)
        table = np.full((len(self), k), -1, np.int32)
        table[best.rows, best.ranks] = best.indices
        return table

    def to_csr(self) -> sparse.csr_matrix:
        """The scores as an examples × labels matrix (float32) with sorted columns; zeros are stored."""
        shape = (len(self), len(self.labels))
        matrix = sparse.csr_matrix((self.scores, self.indices, self.indptr), shape=shape, copy=True)
        matrix.sort_indices()
        return matrix

    def label_sets(self) -> list[set[str]]:
        """The predicted label names of each example, without ranks and scores."""
        names = self._names().tolist()
        bounds = self.indptr.tolist()
        return [set(names[bounds[row] : bounds[row + 1]]) for row in range(len(self))]

    def to_pandas(self) -> Any:
        """A pandas frame with one line per predicted label: row, id, rank (from 1), label, score."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("a pandas frame of predictions", "frames") from None
        return pandas.DataFrame(self._columns())

    def to_polars(self) -> Any:
        """A polars frame with one line per predicted label: row, id, rank (from 1), label, score."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("a polars frame of predictions", "frames") from None
        schema = {
            "row": polars.Int64,
            "id": polars.String,
            "rank": polars.Int64,
            "label": polars.String,
            "score": polars.Float32,
        }
        columns = {
            name: values.tolist() if values.dtype == object else values
            for name, values in self._columns().items()
        }
        return polars.DataFrame(columns, schema=schema)

    def write(self, target: str | os.PathLike[str] | IO[str]) -> None:
        """JSON lines ``{"id": …, "labels": [{"label": …, "score": …}, …]}``, best label first.

        ``target`` is a path (``.gz``, ``.xz``, ``.zst`` and ``.bz2`` compress), ``-`` for standard output, or
        an open text file. Examples without ids are numbered from 0. Scores have enough digits to restore the
        same float32.
        """
        if target == "-":
            target = sys.stdout
        if isinstance(target, (str, os.PathLike)):
            try:
                with Output() as output:
                    output.text(Path(target)).writelines(self._json_lines(ascii_only=False))
            except OSError as error:
                raise not_written(target, error) from None
        else:
            encoding = getattr(target, "encoding", None) or "utf-8"
            target.writelines(self._json_lines(ascii_only=encoding.lower() not in ("utf-8", "utf8")))

    @classmethod
    def read(cls, source: str | os.PathLike[str] | IO[str]) -> Predictions:
        """Reads the output of `write` from a path, ``-`` for standard input, or an open text file.

        The vocabulary is the sorted set of labels in the file; `aligned_to` maps it onto a model's. Labels
        are sorted by decreasing score where necessary. Lines without ids are in the order of the examples.
        """
        if source == "-":
            source = sys.stdin
        if isinstance(source, (str, os.PathLike)):
            with Input(source) as opened:
                return _read_json_lines(cls, (text for _, text in opened.lines()), opened.name)
        return _read_json_lines(cls, source, str(getattr(source, "name", "predictions")))

    def _keep(self, kept: npt.NDArray[np.bool_]) -> Predictions:
        """Only the entries where ``kept`` is true; examples may be left without labels."""
        before = np.zeros(len(kept) + 1, np.int64)
        np.cumsum(kept, out=before[1:])
        return Predictions(before[self.indptr], self.indices[kept], self.scores[kept], self.labels, self.ids)

    def _names(self) -> npt.NDArray[np.object_]:
        """The label name of each entry; names are decoded once per label, not once per entry."""
        used, entry = np.unique(self.indices, return_inverse=True)
        names = np.empty(len(used), object)
        names[:] = list(self.labels.take(used))
        return names[entry]

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        ids = np.empty(len(self), object)
        ids[:] = list(self.ids if self.ids is not None else Strings.numbers(len(self)))
        rows = self.rows
        return {
            "row": rows,
            "id": ids[rows],
            "rank": self.ranks + 1,
            "label": self._names(),
            "score": self.scores,
        }

    def _json_lines(self, ascii_only: bool) -> Iterator[str]:
        used, entry = np.unique(self.indices, return_inverse=True)
        names = [json.dumps(name, ensure_ascii=ascii_only) for name in self.labels.take(used)]
        for row in range(len(self)):
            span = slice(self.indptr[row], self.indptr[row + 1])
            # numpy prints a float32 with the fewest digits that identify it.
            pairs = zip(entry[span].tolist(), self.scores[span].astype(np.str_).tolist(), strict=True)
            listed = ", ".join(f'{{"label": {names[code]}, "score": {score}}}' for code, score in pairs)
            yield f'{{"id": {json.dumps(self.id_of(row), ensure_ascii=ascii_only)}, "labels": [{listed}]}}\n'


def check_threshold(threshold: Any) -> None:
    """Raises if scores cannot be compared with the threshold."""
    if not isinstance(threshold, (int, float, np.integer, np.floating)) or np.isnan(threshold):
        raise ConfigError(f"the threshold must be a number, not {threshold!r}")


def falling_key(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Unsigned integers that increase as the scores decrease, for `sort_rows`.

    The bits of a positive float increase with it. Those of a negative float decrease, and are inverted.
    """
    bits = (scores + np.float32(0)).view(np.uint32)  # -0 becomes 0
    sign = np.uint32(1 << 31)
    return np.where(bits & sign, bits, ~(bits | sign))


def sort_rows(indptr: npt.NDArray[Any], keys: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """The stable permutation that sorts the entries of each CSR row by increasing key."""
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.uint64), np.diff(indptr))
    return np.argsort((rows << np.uint64(32)) | keys, kind="stable")


def _indptr(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def _read_json_lines(cls: type[Predictions], lines: Iterable[str], source: str) -> Predictions:
    codes: dict[str, int] = {}
    ids, numbered, unnamed = StringsBuilder(), True, False
    counts: Any = array("q")
    indices: Any = array("i")
    scores: Any = array("f")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{source}, line {number}"
        identity, labels = _parse_line(line, place)
        unnamed = unnamed if len(ids) else identity is None
        if (identity is None) != unnamed:
            raise DataError(f"{place}, field id: all lines need one, or none; add or remove it")
        numbered = numbered and (unnamed or (identity == len(ids) and isinstance(identity, int)))
        ids.append(str(identity))
        for label, score in labels:
            indices.append(codes.setdefault(label, len(codes)))
            scores.append(score)
        counts.append(len(labels))
    names = sorted(codes)
    new_code = np.empty(len(names), np.int32)
    new_code[[codes[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    indptr = _indptr(np.array(counts, np.int64))
    values = np.array(scores, np.float32)
    order = sort_rows(indptr, falling_key(values))
    return cls(
        indptr,
        new_code[np.array(indices, np.int32)][order],
        values[order],
        Strings.of(names),
        None if numbered else ids.build(),
    )


def _parse_line(line: str, place: str) -> tuple[str | int | None, list[tuple[str, float]]]:
    """The id, or None, and the labels with their scores."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{place}: not valid JSON ({error}); give a file written by treetop predict"
        ) from None
    if not isinstance(record, dict):
        raise DataError(
            f'{place}: expected {{"id": …, "labels": […]}} as written by treetop predict,'
            f" not {line.strip()[:40]}"
        )
    identity = record.get("id")
    if isinstance(identity, bool) or ("id" in record and not isinstance(identity, (str, int))):
        raise DataError(f"{place}, field id: expected a string or a number, not {identity!r}")
    labels = record.get("labels")
    if not isinstance(labels, list):
        raise DataError(f"{place}, field labels: expected a list, not {labels!r}")
    pairs = []
    for item in labels:
        label, score = (item.get("label"), item.get("score")) if isinstance(item, dict) else (None, None)
        if not isinstance(label, str) or isinstance(score, bool) or not isinstance(score, (int, float)):
            raise DataError(
                f'{place}, field labels: expected {{"label": text, "score": number}}, not {item!r}'
            )
        if not abs(score) <= LARGEST_SCORE:
            raise DataError(f"{place}, field labels: the score of {label!r} must be a finite number")
        pairs.append((label, float(score)))
    if len({label for label, _ in pairs}) < len(pairs):
        raise DataError(f"{place}, field labels: a label is listed twice; remove one of them")
    return identity, pairs
