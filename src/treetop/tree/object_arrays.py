"""Lists of lists in ``.npy`` files. Ragged ones are pickled there; nothing that a pickle names is ever run.

`numpy.save` pickles an array of arrays, or of lists, of different lengths. Such a pickle needs few operations
and names four things, for each of which there is a plain stand-in here; numbers and strings are copied from
these.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..arrays import UNREADABLE
from ..errors import DataError, brief, raise_machine_fault

_KINDS = "iuU"
"""Elements: whole numbers, or strings."""
_KIND = re.compile(r"[iu][1248]|U[0-9]{1,7}|O8?")
"""Names of types in a pickle; an array of objects holds the others."""
_PUTS = {"BINPUT", "LONG_BINPUT"}
_OPERATIONS = _PUTS | {
    *("PROTO", "FRAME", "STOP", "MARK", "GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD"),
    *("MEMOIZE", "BINGET", "LONG_BINGET"),
    *("EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
}


def read_lists(path: Path) -> list[list[Any]]:
    """The rows of a two-dimensional ``.npy`` array, or the lists or arrays in a one-dimensional one."""
    try:
        content = path.read_bytes()
        file = io.BytesIO(content)
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("its header is of another version")
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
        rest = content[file.tell() :]
        if kind.hasobject:
            _check_operations(rest)
            rows = _Unpickler(io.BytesIO(rest)).load()
        elif math.prod(shape) * kind.itemsize > len(rest):
            raise ValueError("it is truncated")
        else:
            rows = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        room = _Room(len(content))
        return [_listed(row, room) for row in _items(rows, room)]
    except (*UNREADABLE, pickle.UnpicklingError) as error:
        raise_machine_fault(error, path)
        raise DataError(
            f"{path}: not an array of lists of labels ({brief(error)}); write it with numpy.save"
        ) from None


def _check_operations(content: bytes) -> None:
    """Lengths are checked by ``genops``; a place of the memo takes memory, however high its number is.

    An operation that begins in a frame and ends behind it would be another one to the unpickler, which reads
    on from the end of the frame.
    """
    frame = 0
    for count, (operation, argument, position) in enumerate(pickletools.genops(content)):
        if operation.name not in _OPERATIONS or (operation.name in _PUTS and int(argument or 0) > count):
            raise ValueError(f"its pickle has the operation {operation.name}")
        begin = position or 0
        if begin > frame > 0 or (operation.name == "FRAME" and begin < frame):
            raise ValueError("the frames of its pickle do not match its operations")
        if begin == frame:
            frame = 0
        if operation.name == "FRAME":
            frame = begin + 9 + int(argument or 0)
    if frame > len(content):
        raise ValueError("its pickle is truncated")


class _Room:
    """What may still be made of the file: a pickle can repeat a part of itself with two bytes."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("it has more rows and labels than bytes")


def _items(rows: Any, room: _Room) -> list[Any]:
    items = rows.items() if isinstance(rows, _Array) else rows
    if not isinstance(items, (list, np.ndarray)) or (isinstance(items, np.ndarray) and not items.ndim):
        raise ValueError(f"it holds a {type(rows).__name__}")
    room.take(len(items))
    return list(items)


def _listed(row: Any, room: _Room) -> list[Any]:
    listed = row.items() if isinstance(row, _Array) else row
    if isinstance(listed, np.ndarray):
        if listed.ndim != 1 or listed.dtype.kind not in _KINDS:
            raise ValueError(f"a row is an array of {listed.dtype} with {listed.ndim} dimensions")
        room.take(max(listed.nbytes, len(listed)))
        return list(_readable(listed).tolist())
    if not isinstance(listed, (list, tuple)):
        raise ValueError(f"a row is a {type(row).__name__}")
    room.take(len(listed))
    return [_label(item, room) for item in listed]


def _label(item: Any, room: _Room) -> int | str:
    if isinstance(item, _Scalar):
        item = item.value(room)
    if not isinstance(item, (int, str)):
        raise ValueError(f"a label is a {type(item).__name__}")
    return item


def _readable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same, unless its strings hold numbers that are no characters: Python would fail to make them."""
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise ValueError("a label has characters that do not exist")
    return array


class _Kind:
    """Stands in for `numpy.dtype`."""

    order: Literal["<", ">", "=", "|"] = "<"

    def __init__(self, name: Any, *_: Any) -> None:
        if not isinstance(name, str) or not _KIND.fullmatch(name):
            raise ValueError(
                f"its elements are of the type {name if isinstance(name, str) else type(name).__name__}"
            )
        self.name = name

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def plain(self) -> np.dtype[Any]:
        return np.dtype(self.name).newbyteorder(self.order)


class _Array:
    """Stands in for `numpy.ndarray`: what its state says, as a list or a plain array."""

    shape: tuple[int, ...] = (0,)
    content: Any = ()
    kind: _Kind | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.kind, _, self.content = state

    def items(self) -> list[Any] | np.ndarray[Any, Any]:
        if isinstance(self.content, list):
            if len(self.shape) == 2:  # lists of equal length: rows of objects
                rows, width = self.shape
                return [
                    self.content[row * width : (row + 1) * width]
                    for row in range(min(rows, len(self.content)))
                ]
            return self.content
        if self.kind is None or not isinstance(self.content, bytes):
            raise ValueError("an array in it has no content")
        return np.frombuffer(self.content, self.kind.plain()).reshape(self.shape)


class _Scalar:
    """Stands in for a numpy number."""

    def __init__(self, kind: _Kind, content: bytes) -> None:
        self._kind, self._content = kind, content

    def value(self, room: _Room) -> Any:
        room.take(len(self._content))
        return _readable(np.frombuffer(self._content, self._kind.plain()))[0].item()


def _empty_array(*_: Any) -> _Array:
    return _Array()


_STAND_INS = {"_reconstruct": _empty_array, "ndarray": _Array, "dtype": _Kind, "scalar": _Scalar}
_MODULES = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module not in _MODULES or name not in _STAND_INS:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no array of lists needs")
        return _STAND_INS[name]
