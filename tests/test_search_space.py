"""Search spaces: values and ranges, as objects, as text, and in the documentation."""

from __future__ import annotations

import re

import pytest

from doc_hooks import page_with
from treetop.errors import ConfigError
from treetop.methods import METHODS, method_class
from treetop.registry import SINGLE_METHODS
from treetop.search_space import Range
from treetop.tuning.space import describe, parse_values, space_of


def test_values_and_ranges_as_text():
    assert parse_values("96, 192,384") == ("96", "192", "384")
    assert parse_values("word") == ("word",)
    assert parse_values("1..8") == Range(1, 8)
    assert parse_values("1e-4..0.01:log") == Range(1e-4, 0.01, log=True)
    assert describe(Range(0.25, 8, log=True)) == "0.25..8:log"
    assert describe((None, True, (2, 4, 8), 0.5)) == ["none", "true", "2,4,8", "0.5"]
    for text, words in (
        ("8..1", "from a lower to a higher number"),
        ("0..1:log", "above 0"),
        ("a..b", "two numbers"),
    ):
        with pytest.raises(ConfigError, match=words):
            parse_values(text)


def test_values_are_taken_as_the_settings_take_them():
    config = method_class("xr-linear").config_class()
    space = space_of(config, {"leaf_size": ("4", 8.0, 4), "saturation": ("none", "5"), "beam": ("10-20", 30)})
    assert space == {
        "tree.leaf_size": (4, 8),
        "tfidf.saturation": (None, 5.0),
        "linear.beam": ((10, 20), (30,)),
    }
    assert isinstance(space_of(config, {"cost_positive": Range(1, 8)})["linear.cost_positive"].low, float)
    assert isinstance(space_of(config, {"leaf_size": Range(1, 8)})["tree.leaf_size"].low, int)
    for name, values, words in (
        ("leaf", (3,), "no setting 'leaf'"),
        ("leaf_size", ("few",), "tree.leaf_size=few cannot be tried"),
        ("leaf_size", (), "has no values to try"),
        ("leaf_size", Range(0.5, 8), "must be int"),
        ("tree", (3,), "group of settings"),
        ("analyzer", Range(1, 2), "must be str"),
        ("beam", Range(1, 2), "not a number"),
    ):
        with pytest.raises(ConfigError, match=words):
            space_of(config, {name: values})


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_its_own_search_space(name):
    method = method_class(name)
    config = method.config_class()
    assert list(space_of(config, method.search_space)) == list(method.search_space)
    assert bool(method.search_space) == (name in SINGLE_METHODS)


def test_networks_have_the_published_ranges():
    common = {
        "training.learning_rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
        "cnn.filters": (96, 192, 384, 768),
        "cnn.embedding_dropout": (0.2, 0.4, 0.6, 0.8),
        "cnn.dropout": (0.2, 0.4, 0.6, 0.8),
    }
    hidden, pools = {"cnn.hidden": (256, 512, 1024)}, {"cnn.pools": (2, 8)}
    for name, space in {
        "kim-cnn": common,
        "kim-cnn-softmax": common,
        "cnn-baseline": common | hidden,
        "xml-cnn-impl": common | hidden,
        "xml-cnn": common | hidden | pools,
    }.items():
        assert method_class(name).search_space == space


def test_the_page_lists_what_every_method_searches():
    page = page_with("search_spaces", "tuning.md")
    listed: dict[str, dict] = {name: {} for name in METHODS}
    for setting, values, names in re.findall(r"^\| `([\w.]+)` \| (.+) \| (`.+`) \|$", page, re.MULTILINE):
        for name in names.strip("`").split("`, `"):
            assert setting not in listed[name]
            listed[name] |= space_of(method_class(name).config_class(), {setting: parse_values(values)})
    for name, space in listed.items():
        assert space == space_of(method_class(name).config_class(), method_class(name).search_space), name


def test_nothing_is_tried_that_only_many_labels_have():
    assert set(method_class("lightxml").search_space) == {"training.learning_rate", "transformer.dropout"}
    assert set(method_class("attention-xml").search_space) == {"training.learning_rate", "attention.hidden"}
