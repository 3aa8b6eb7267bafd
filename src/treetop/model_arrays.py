"""The arrays of a stored model, checked against each other wherever a part is restored.

Every ``from_state`` says here what its arrays must be: their type and their number of entries, which often
follows from another array, and what small arrays of pointers and ids may hold. A model that passes cannot
lead native code, scipy or torch astray. Arrays that only native code reads are checked in its bindings, and
the bytes of weights where they are used: loading does not read them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ModelError, brief

Arrays = Mapping[str, npt.NDArray]
RETRAIN = "retrain the model, or use another copy of it"
LARGEST_COUNT = 2**31 - 1
"""Features, labels and nodes have 32-bit ids."""


@dataclass(frozen=True)
class Numbers:
    """A one-dimensional array."""

    kind: type[np.generic]
    count: int | None = None
    """The number of entries."""
    each: str = ""
    """What there is an entry for."""
    filled: bool = False
    """Whether it has entries."""
    least: float | None = None
    most: float | None = None
    end: int | None = None
    """For pointers, which ascend from 0: where they end."""
    rising: bool = False
    """Whether every number is larger than the one before."""
    finite: bool = False

    def flaw(self, array: npt.NDArray) -> str | None:
        """What is wrong with an array, as the end of a sentence."""
        if array.dtype != self.kind or array.ndim != 1:
            return f"must be a list of {np.dtype(self.kind)}, not {array.dtype} {array.shape}"
        if self.count is not None and len(array) != self.count:
            owners = self.each and f", one for each of the {self.each}"
            return f"has {len(array):,} entries, not {self.count:,}{owners}"
        if self.filled and not len(array):
            return "has no entries"
        if self.end is not None and not (len(array) and array[0] == 0 and array[-1] == self.end):
            return f"does not lead from 0 to {self.end:,}"
        if self.end is not None and not ascends(array):
            return "does not ascend"
        if self.rising and not (array[1:] > array[:-1]).all():
            return "does not ascend"
        if self.finite and not np.isfinite(array).all():
            return "contains NaN or infinity"
        # Comparisons that NaN fails.
        if self.least is not None and len(array) and not array.min() >= self.least:
            return f"has numbers below {self.least:,}"
        if self.most is not None and len(array) and not array.max() <= self.most:
            return f"has numbers above {self.most:,}"
        return None


def checked(arrays: Arrays, expected: Mapping[str, Numbers]) -> dict[str, npt.NDArray]:
    """The named arrays if they are as expected, and as native code takes them."""
    found = {}
    for name, numbers in expected.items():
        array = present(arrays, name)
        if flaw := numbers.flaw(array):
            raise ModelError(f"the array {full_name(arrays, name)} {flaw}: {RETRAIN}")
        ready = array.flags.c_contiguous and array.flags.aligned
        found[name] = array if ready else np.require(array, requirements=["C", "A"])
    return found


def of_types(arrays: Arrays, types: Mapping[str, type[np.generic]]) -> dict[str, npt.NDArray]:
    """The named arrays, of these types; for those whose sizes native code compares."""
    return checked(arrays, {name: Numbers(kind) for name, kind in types.items()})


def whole_number(arrays: Arrays, name: str, *, most: int = LARGEST_COUNT) -> int:
    """The only entry of an array, from 0 to ``most``."""
    array = present(arrays, name)
    if array.shape != (1,) or array.dtype.kind not in "iu" or not 0 <= int(array[0]) <= most:
        raise ModelError(
            f"the array {full_name(arrays, name)} must be one whole number from 0 to {most:,}: {RETRAIN}"
        )
    return int(array[0])


def matrix(arrays: Arrays, name: str, kind: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray:
    """The named array, of this type and shape."""
    array = present(arrays, name)
    if array.dtype != kind or array.shape != shape:
        raise ModelError(
            f"the array {full_name(arrays, name)} must be {np.dtype(kind)} {shape}, not {array.dtype}"
            f" {array.shape}: {RETRAIN}"
        )
    return array


def check_equal(what: str, count: int, other: str, expected: int) -> None:
    """Two sizes of a model that must be one."""
    if count != expected:
        raise ModelError(f"the model has {count:,} {what}, but {other} {expected:,}: {RETRAIN}")


def check_most(what: str, number: int, most: int) -> None:
    """A number of a model that another part of it limits."""
    if not 0 <= number <= most:
        raise ModelError(f"the {what} of the model is {number:,}, not 0 to {most:,}: {RETRAIN}")


def present(arrays: Arrays, name: str) -> npt.NDArray:
    """The array, if there is one of that name."""
    if name not in arrays:
        raise ModelError(f"the array {full_name(arrays, name)} is missing: {RETRAIN}")
    return arrays[name]


def full_name(arrays: Arrays, name: str) -> str:
    """The name of a part's array in the manifest, where the part came from `under_prefix`."""
    return f"{getattr(arrays, 'prefix', '')}{name}"


@contextlib.contextmanager
def restoring(arrays: Arrays, what: str) -> Iterator[None]:
    """Turns what native code, torch or the part itself says about arrays into an error that names them."""
    try:
        yield
    except ModelError:
        raise
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise ModelError(f"{what}{_in(arrays)}: {brief(error)}: {RETRAIN}") from None


def ascends(array: npt.NDArray[Any]) -> bool:
    """Whether no number is below the one before. Differences could overflow."""
    return bool((array[1:] >= array[:-1]).all())


def _in(arrays: Arrays) -> str:
    prefix = getattr(arrays, "prefix", "").rstrip(".")
    return f" ({prefix})" if prefix else ""
