"""`Tokenizer`: texts → ids of word pieces for a pretrained encoder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers

from ..errors import ModelError
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
        try:
            self._fast = tokenizers.Tokenizer.from_str(described)
        except Exception as error:  # the library raises plain exceptions
            raise ModelError(f"the tokenizer cannot be read ({error})") from None
        self._fast.no_padding()
        self.described = described
        self.padding = padding

    def numbers(self, texts: Strings, longest: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """``indptr, ids`` of the word pieces of every text."""
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
        return [np.array(cut.ids, np.int32) for cut in self._fast.encode_batch_fast(texts)]

    def state(self) -> dict[str, npt.NDArray]:
        metadata = json.dumps({"tokenizer": self.described, "padding": self.padding})
        return {"tokenizer": np.frombuffer(metadata.encode(), np.uint8)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, npt.NDArray]) -> Tokenizer:
        try:
            metadata: dict[str, Any] = json.loads(np.ascontiguousarray(arrays["tokenizer"]).tobytes())
            return cls(metadata["tokenizer"], int(metadata["padding"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"the tokenizer is damaged ({error}): retrain the model") from None
