"""`Strings` behaves like a list of strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetop import Strings
from treetop.errors import ModelError

TEXTS = st.lists(st.text(max_size=8), max_size=12)


@given(TEXTS, st.slices(12), st.randoms())
def test_same_as_a_list(texts, cut, random):
    strings = Strings.of(texts)
    assert list(strings) == texts
    assert len(strings) == len(texts)
    assert list(strings[cut]) == texts[cut]
    assert [strings[i] for i in range(-len(texts), len(texts))] == texts + texts
    rows = [random.randrange(len(texts)) for _ in range(5)] if texts else []
    assert list(strings.take(rows)) == [texts[i] for i in rows]
    assert strings[cut].compact() == Strings.of(texts[cut])
    assert Strings.from_state(strings.state()) == strings
    for text in texts:
        assert texts[strings.position(text)] == text
    assert strings.position("not there at all") == -1


def test_lone_surrogates_become_replacement_characters():
    assert list(Strings.of(["a\ud800b", "\ud83d\ude00"])) == ["a\ufffdb", "\U0001f600"]


def test_numbers():
    assert list(Strings.numbers(12)) == [str(i) for i in range(12)]
    assert len(Strings.numbers(0)) == 0


def test_slices_share_the_buffer():
    strings = Strings.of(["one", "two", "three"])
    assert np.shares_memory(strings[1:].buffer, strings.buffer)
    assert repr(strings[1:]) == "Strings(['two', 'three'], 2 strings)"


def test_stored_offsets_must_fit_the_buffer():
    state = Strings.of(["one", "two"]).state()
    for offsets in ([0, 9, 6], [0, 3, 7], [-1, 3, 6], []):
        with pytest.raises(ModelError, match="offsets do not match the buffer"):
            Strings.from_state(state | {"offsets": np.array(offsets, np.int64)})
    foreign = Strings.from_state(state | {"buffer": np.full(6, 255, np.uint8)})
    assert foreign[0] == "\ufffd" * 3 and list(foreign) == ["\ufffd" * 3] * 2
