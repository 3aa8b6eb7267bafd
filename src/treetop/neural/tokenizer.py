"""`Tokenizer`: texts → ids of word pieces for a pretrained encoder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers

from ..errors import ModelError, brief
from ..model_arrays import RETRAIN, of_types
from ..progress import step
from ..strings import Strings

BLOCK = 4096
"""Texts tokenized at a time."""
MANY = 20_000
"""Texts from which on there is a progress bar."""
LONG = 12
"""Characters that hardly any word piece has: only the start of a long text is tokenized."""


class Tokenizer:
    """Word pieces of a text with the special tokens around them, at most ``longest`` in all."""

    def __init__(self, described: str, padding: int) -> None:
        """``described``: the JSON of a fast tokenizer; ``padding``: the id of its padding token."""
        with _readable("the tokenizer cannot be read"):
            self._fast = tokenizers.Tokenizer.from_str(described)
            self._fast.no_padding()
        self.described = described
        self.padding = padding

    def numbers(self, texts: Strings, longest: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """``indptr, ids`` of the word pieces of every text."""
        with _readable(f"texts cannot be cut to {longest} word pieces"):
            self._fast.enable_truncation(longest)
        rows: list[npt.NDArray[np.int32]] = []
        counts = np.zeros(len(texts) + 1, np.int64)
        with step("Word pieces") if len(texts) >= MANY else contextlib.nullcontext() as report:
            for first in range(0, len(texts), BLOCK):
                for at, row in enumerate(self._rows(texts[first : first + BLOCK], longest), first + 1):
                    rows.append(row)
                    counts[at] = len(row)
                if report is not None:
                    report(min(first + BLOCK, len(texts)), len(texts))
        flat = np.concatenate(rows) if rows else np.zeros(0, np.int32)
        return np.cumsum(counts), flat

    def _rows(self, texts: Strings, longest: int) -> list[npt.NDArray[np.int32]]:
        """Tokenizes the start of each text, or all of it where spaces or long words leave too few pieces."""
        whole, most = list(texts), LONG * longest
        rows = self._pieces([text[:most] for text in whole])
        again = [at for at, row in enumerate(rows) if len(row) < longest and len(whole[at]) > most]
        for at, row in zip(again, self._pieces([whole[at] for at in again]), strict=True):
            rows[at] = row
        return rows

    def _pieces(self, texts: list[str]) -> list[npt.NDArray[np.int32]]:
        with _readable("the tokenizer cannot read these texts"):
            return [np.array(cut.ids, np.int32) for cut in self._fast.encode_batch_fast(texts)]

    def state(self) -> dict[str, npt.NDArray]:
        metadata = json.dumps({"tokenizer": self.described, "padding": self.padding})
        return {"tokenizer": np.frombuffer(metadata.encode(), np.uint8)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray]) -> Tokenizer:
        """The inverse of `state`."""
        content = of_types(arrays, {"tokenizer": np.uint8})["tokenizer"].tobytes()
        with _readable("the tokenizer is damaged"):
            metadata: dict[str, Any] = json.loads(content)
            return cls(metadata["tokenizer"], int(metadata["padding"]))


@contextlib.contextmanager
def _readable(fault: str) -> Iterator[None]:
    """Names the fault of a tokenizer: its library raises plain exceptions, and others for its own panics."""
    try:
        yield
    except (ModelError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise ModelError(f"{fault} ({brief(error)}): {RETRAIN}") from None
