"""Parquet tables: a text column (or several), labels as a list of strings or numbers, or as one string."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import DataError, MissingExtraError, raise_machine_fault
from ...limits import ROWS, check_declared, check_decompressed
from ..dataset import Dataset
from ..files import Input, Output
from .examples import Examples, label_sets
from .fields import is_name, join_texts, missing_field, text_fields, weight_of
from .label_cells import LabelCells
from .options import Column, ReadOptions, WriteOptions

_BATCH = 4096


def read(source: Input, options: ReadOptions) -> Dataset:
    pyarrow, parquet = _pyarrow()
    content = source.unpacked()
    size = content.stat().st_size if isinstance(content, Path) else content.getbuffer().nbytes
    try:
        with parquet.ParquetFile(content) as file:
            return _read(source.name, file, options, size)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source.name}: a string is not valid UTF-8 ({error.reason}); write it as UTF-8"
        ) from None
    except (pyarrow.ArrowException, OSError) as error:
        raise_machine_fault(error, source.name)
        reason = " ".join(str(error).split())
        raise DataError(f"{source.name}: not a readable Parquet file ({reason})") from None


def write(dataset: Dataset, path: Path, options: WriteOptions, output: Output) -> None:
    pyarrow, parquet = _pyarrow()
    string, strings = pyarrow.string(), pyarrow.list_(pyarrow.string())
    columns: list[tuple[str, Any, Iterator[Any]]] = []
    if dataset.ids is not None:
        columns.append((options.id, string, iter(dataset.ids)))
    columns.append((options.text, string, iter(dataset.texts or ())))
    if dataset.Y is not None:
        columns.append((options.labels, strings, label_sets(dataset)))
    if dataset.groups is not None:
        columns.append((options.group, string, iter(dataset.groups)))
    if dataset.weights is not None:
        columns.append((options.weight, pyarrow.float32(), iter(dataset.weights)))
    schema = pyarrow.schema([(name, kind) for name, kind, _ in columns])
    with parquet.ParquetWriter(output.binary(path), schema) as file:
        for _ in range(0, len(dataset), _BATCH):
            arrays = [pyarrow.array(list(islice(values, _BATCH)), kind) for _, kind, values in columns]
            file.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _read(name: str, file: Any, options: ReadOptions, size: int) -> Dataset:
    there = file.schema_arrow.names
    columns = _Columns(name, there, options)
    for column in columns.all:
        if there.count(column) > 1:
            raise DataError(
                f"{name}: has {there.count(column)} columns named {column!r}; rename all but one of them"
            )
    labels_type = None if columns.labels is None else file.schema_arrow.field(columns.labels).type
    cells = LabelCells(name) if _holds_strings(labels_type) else None
    examples = Examples(name, options.need_labels, unit="row")
    check_declared(ROWS, file.metadata.num_rows, size, name, "bytes")
    row = decoded = 0
    for batch in file.iter_batches(_BATCH, columns=columns.all):
        decoded += batch.nbytes
        check_decompressed(decoded, size, name)
        values = {column: _values(batch.column(column), column, name) for column in columns.all}
        for at in range(batch.num_rows):
            row += 1
            examples.append(
                row,
                _text(values, columns.text, at, examples.place(row)),
                _scalar(values, columns.id, at),
                _scalar(values, columns.group, at),
                None
                if columns.weight is None
                else weight_of(values[columns.weight][at], examples.place(row), columns.weight),
            )
            if columns.labels is not None:
                found = values[columns.labels][at]
                if cells is not None:
                    cells.append(found or "")
                else:
                    examples.labels.append(_label_names(found, columns.labels, examples.place(row)))
    if cells is not None:
        for names in cells.label_sets(options.label_separator):
            examples.labels.append(names)
    return examples.build()


class _Columns:
    """The names of the wanted columns."""

    def __init__(self, name: str, there: list[str], options: ReadOptions) -> None:
        def find(column: Column | None, option: str, needed: bool) -> str | None:
            if column is None or str(column) in there:
                return None if column is None else str(column)
            if str(column).isdecimal() and int(column) < len(there):
                return there[int(column)]
            if needed:
                raise missing_field(name, column, there, option, kind="column")
            return None

        texts = text_fields(options.text, there)
        self.text = [found for text in texts if (found := find(text, "--text", needed=True))]
        self.labels = find(options.labels, "--labels", options.need_labels)
        self.id = find(options.id, "--id", options.id != "id")
        self.group = find(options.group, "--group", needed=True)
        self.weight = find(options.weight, "--weight", needed=True)
        wanted = (*self.text, self.labels, self.id, self.group, self.weight)
        self.all = list(dict.fromkeys(filter(None, wanted)))


_STRINGS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def _holds_strings(kind: Any) -> bool:
    """Whether values are strings, or their bytes, as writers without a type of strings leave them."""
    pyarrow, _ = _pyarrow()
    if kind is None:
        return False
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return any(_is(kind, name) for name in _STRINGS) or pyarrow.types.is_fixed_size_binary(kind)


def _is(kind: Any, name: str) -> bool:
    pyarrow, _ = _pyarrow()
    check = getattr(pyarrow.types, f"is_{name}", None)  # older versions lack views
    return check is not None and bool(check(kind))


def _values(column: Any, name: str, file: str) -> list[Any]:
    """The values as Python objects, bytes as text."""
    try:
        values = column.to_pylist()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError) as error:  # times that Python does not have
        raise DataError(
            f"{file}: column {name!r} has a value that cannot be read ({error}); write strings or numbers"
        ) from None
    return list(map(_text_of, values))


def _text_of(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return list(map(_text_of, value)) if isinstance(value, list) else value


def _text(values: dict[str, list[Any]], columns: list[str], at: int, place: str) -> str:
    parts = [values[column][at] for column in columns]
    if len(parts) > 1:
        parts = [part for part in parts if part is not None] or [None]
    for part in parts:
        if not isinstance(part, str):
            found = "null" if part is None else f"a value of type {type(part).__name__}"
            raise DataError(f"{place}: column {','.join(columns)!r} must hold strings, not {found}")
    return parts[0] if len(columns) == 1 else join_texts(parts)


def _scalar(values: dict[str, list[Any]], column: str | None, at: int) -> str | None:
    value = None if column is None else values[column][at]
    return None if value is None else str(value)


def _label_names(found: Any, column: str, place: str) -> list[str]:
    names = [] if found is None else found if isinstance(found, list) else [found]
    for name in names:
        if not is_name(name):
            raise DataError(
                f"{place}: column {column!r} must hold lists of strings, not {type(name).__name__}"
            )
    return [str(name) for name in names if name != ""]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Parquet", "parquet") from None
    return pyarrow, parquet
