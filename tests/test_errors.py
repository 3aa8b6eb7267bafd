"""The tree of exceptions, as a caller sees it."""

from __future__ import annotations

import pytest

import treetop
from small_data import topic_texts


def test_bad_input_and_bad_settings_are_value_errors():
    with pytest.raises(ValueError, match="no setting 'beem'") as bad:
        treetop.XRLinear(beem=3)
    assert type(bad.value) is treetop.ConfigError
    with pytest.raises(ValueError, match="none of the 1 examples has a label") as bad:
        treetop.XRLinear().fit(["a text"], [[]])
    assert type(bad.value) is treetop.DataError
    assert not issubclass(treetop.ModelError, ValueError)


def test_a_bad_setting_for_a_good_folder_is_no_damage(tmp_path):
    treetop.XRLinear(threads=1).fit(*topic_texts(20, seed=0)).save(tmp_path / "model")
    with pytest.raises(treetop.ConfigError, match="threads must be int, not 'many'"):
        treetop.load(tmp_path / "model", threads="many")
