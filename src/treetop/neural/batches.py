"""Examples as ragged arrays, and the batches cut from them.

Tokens and labels of all examples stay on the device as flat arrays, if they fit. A batch is then gathered
there from its row numbers: the device never waits for Python, and nothing is copied while it computes.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

Ints = npt.NDArray[np.int64]
PADDING = 0
"""The padding token."""
POOL = 50
"""Batches whose rows are sorted by length together: texts of a batch are similarly long, yet well mixed."""
STEPS = 8
"""Widths of batches are rounded up to an eighth of the power of two below them: at most 12 % of padding."""
AHEAD = 4
"""Batches prepared ahead where the CPU makes them."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths: row ``i`` is ``values[starts[i] : starts[i] + lengths[i]]``."""

    values: Tensor
    starts: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, indptr: Ints, values: npt.NDArray) -> Ragged:
        pointers = torch.from_numpy(np.ascontiguousarray(indptr))
        padded = np.append(values, values.dtype.type(0))  # so that every place points to an entry
        return cls(torch.from_numpy(padded), pointers[:-1], pointers.diff())

    def to(self, device: torch.device) -> Ragged:
        return Ragged(*(getattr(self, field.name).to(device) for field in fields(self)))

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def padded(self, rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """The values of some rows, cut or padded with zeros to ``width``, and their lengths."""
        lengths = self.lengths[rows].clamp(max=width)
        steps = torch.arange(width, device=rows.device)
        inside = steps < lengths[:, None]
        places = torch.where(inside, self.starts[rows][:, None] + steps, 0)
        return torch.where(inside, self.values[places], 0), lengths

    def flat(self, rows: Tensor, room: int) -> tuple[Tensor, Tensor, Tensor]:
        """``number, value, valid``: the entries of some rows one after another, in ``room`` places.

        ``number``: which of the rows an entry belongs to. Unused places are not valid.
        """
        ends = self.lengths[rows].cumsum(0)
        places = torch.arange(room, device=rows.device)
        number = torch.searchsorted(ends, places, right=True).clamp(max=len(rows) - 1)
        valid = places < ends[-1]
        inside = places - (ends[number] - self.lengths[rows][number])
        at = torch.where(valid, self.starts[rows][number] + inside, 0)
        return number, torch.where(valid, self.values[at], 0), valid


@dataclass(frozen=True, eq=False)
class Positives:
    """The labels of a batch: text ``texts[i]`` has ``labels[i]`` with ``weights[i]``; weight 0: no entry."""

    texts: Tensor
    labels: Tensor
    weights: Tensor
    text_weights: Tensor | None = None
    """What the loss of each text is multiplied by; None: 1."""

    def moved(self, move: Callable[[Tensor], Tensor]) -> Positives:
        """The same in another memory."""
        text_weights = None if self.text_weights is None else move(self.text_weights)
        return Positives(move(self.texts), move(self.labels), move(self.weights), text_weights)


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of examples, ready for a network."""

    tokens: Tensor
    """Texts × longest of them, padded with `PADDING`."""
    lengths: Tensor
    rows: Tensor
    """Row numbers of the examples."""
    positives: Positives | None = None
    parents: Tensor | None = None
    """Texts × places: 1 + the number of each parent on a text's shortlist, padded with 0."""

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> Batch:
        positives = None
        if self.positives is not None:
            positives = self.positives.moved(lambda part: part.to(device, non_blocking=True))
        tokens, lengths, rows = (
            part.to(device, non_blocking=True) for part in (self.tokens, self.lengths, self.rows)
        )
        parents = None if self.parents is None else self.parents.to(device, non_blocking=True)
        return Batch(tokens, lengths, rows, positives, parents)


@dataclass(frozen=True)
class Shape:
    """Size of a batch: tokens per text, and places for labels."""

    width: int
    room: int


class Examples:
    """Tokens of a data set, and its labels if it has any."""

    def __init__(
        self,
        tokens: tuple[Ints, npt.NDArray[np.int32]],
        Y: sparse.csr_matrix | None = None,
        *,
        width: int | None = None,
        shortlist: sparse.csr_matrix | None = None,
        weights: npt.NDArray[np.float32] | None = None,
    ) -> None:
        """``width`` of every batch; None: that of its longest text.

        ``shortlist``: texts × parents whose children enter the loss of a text. ``weights`` of the texts
        multiply their losses.
        """
        self.token_counts = np.diff(tokens[0])
        self.label_counts = None if Y is None else np.diff(Y.indptr)
        self.width = width
        self.parts = {"tokens": Ragged.of(*tokens)}
        if Y is not None:
            indptr = np.asarray(Y.indptr, np.int64)
            self.parts["labels"] = Ragged.of(indptr, np.asarray(Y.indices, np.int32))
            self.parts["weights"] = Ragged.of(indptr, np.asarray(Y.data, np.float32))
        self.weights = weights
        if weights is not None:
            self.parts["text_weights"] = Ragged.of(np.arange(len(weights) + 1), weights)
        self.longest_shortlist = 0
        if shortlist is not None:
            indptr = np.asarray(shortlist.indptr, np.int64)
            self.parts["parents"] = Ragged.of(indptr, np.asarray(shortlist.indices, np.int32) + 1)
            self.longest_shortlist = max(int(np.diff(indptr).max(initial=1)), 1)

    def __len__(self) -> int:
        return len(self.token_counts)

    def shape_of(self, rows: Ints, *, exact: bool = False) -> Shape:
        """A shape that holds these rows; rounded up, so that few shapes occur, unless ``exact``."""
        width = self.width
        if width is None:
            width = max(int(self.token_counts[rows].max(initial=1)), 1)
            width = width if exact else _rounded(width)
        room = 0
        if self.label_counts is not None:
            room = 1 << max(int(self.label_counts[rows].sum()) - 1, len(rows), STEPS).bit_length()
        return Shape(width, room)

    def gather(self, parts: dict[str, Ragged], rows: Tensor, shape: Shape) -> Batch:
        """A batch from parts on the same device as ``rows``."""
        tokens, lengths = parts["tokens"].padded(rows, shape.width)
        if "labels" not in parts:
            return Batch(tokens, lengths, rows)
        texts, labels, valid = parts["labels"].flat(rows, shape.room)
        _, weights, _ = parts["weights"].flat(rows, shape.room)
        text_weights = None
        if "text_weights" in parts:
            text_weights = parts["text_weights"].padded(rows, 1)[0].squeeze(1)
        positives = Positives(texts, labels.long(), torch.where(valid, weights, 0), text_weights)
        parents = None
        if "parents" in parts:
            parents, _ = parts["parents"].padded(rows, self.longest_shortlist)
        return Batch(tokens, lengths, rows, positives, parents)

    def batches(self, plan: list[Ints], device: torch.device) -> Iterator[Batch]:
        """The batches of a plan, on the device."""
        parts = self.parts_on(device)
        if parts is None:
            yield from _made_ahead([self._maker(rows, device) for rows in plan])
            return
        together = np.concatenate(plan) if plan else np.zeros(0, np.int64)
        order = torch.from_numpy(together).to(device)
        at = 0
        exact = device.type == "cpu"  # which records no shapes
        for rows in plan:
            yield self.gather(parts, order[at : at + len(rows)], self.shape_of(rows, exact=exact))
            at += len(rows)

    def _maker(self, rows: Ints, device: torch.device) -> Callable[[], Batch]:
        def make() -> Batch:
            shape = self.shape_of(rows, exact=device.type == "cpu")
            batch = self.gather(self.parts, torch.from_numpy(rows), shape)
            return batch if device.type == "cpu" else _pinned(batch).to(device)

        return make

    def parts_on(self, device: torch.device) -> dict[str, Ragged] | None:
        """The parts on the device; None if they would take more than half of its free memory."""
        kept: dict[torch.device, dict[str, Ragged]] = self.__dict__.setdefault("_kept", {})
        if device.type == "cpu":
            return self.parts
        if device not in kept:
            needed = sum(part.nbytes for part in self.parts.values())
            if device.type == "cuda" and 2 * needed > torch.cuda.mem_get_info(device)[0]:
                return None
            kept[device] = {name: part.to(device) for name, part in self.parts.items()}
        return kept[device]


def _rounded(number: int) -> int:
    step = max((1 << (number.bit_length() - 1)) // STEPS, STEPS)
    return max(-(-number // step) * step, step)


def _pinned(batch: Batch) -> Batch:
    positives = None if batch.positives is None else batch.positives.moved(Tensor.pin_memory)
    parents = None if batch.parents is None else batch.parents.pin_memory()
    return Batch(
        batch.tokens.pin_memory(), batch.lengths.pin_memory(), batch.rows.pin_memory(), positives, parents
    )


def _made_ahead(makers: list[Callable[[], Batch]]) -> Iterator[Batch]:
    """The batches in order, made a few batches ahead in a thread."""
    ready: queue.Queue[Any] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def work() -> None:
        try:
            for make in makers:
                if stopped.is_set():
                    return
                ready.put(make())
        except BaseException as error:  # raised in the waiting thread
            ready.put(error)
        else:
            ready.put(None)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (made := ready.get()) is not None:
            if isinstance(made, BaseException):
                raise made
            yield made
    finally:
        stopped.set()
        while thread.is_alive():  # the queue may be full
            try:
                ready.get(timeout=0.05)
            except queue.Empty:
                thread.join(timeout=0.05)


def mixed_plan(lengths: Ints, batch_size: int, seed: int, epoch: int) -> list[Ints]:
    """Batches of all rows in random order, each of texts of similar length."""
    rng = np.random.default_rng((seed, epoch))
    order = rng.permutation(len(lengths))
    batches: list[Ints] = []
    for first in range(0, len(order), POOL * batch_size):
        pool = order[first : first + POOL * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
    return [batches[number] for number in rng.permutation(len(batches))]


def sorted_plan(lengths: Ints, batch_size: int) -> list[Ints]:
    """Batches of all rows by length: the least padding."""
    order = np.argsort(lengths, kind="stable")
    return [order[at : at + batch_size] for at in range(0, len(order), batch_size)]
