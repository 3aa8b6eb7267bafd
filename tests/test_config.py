"""Settings: names, values as text, ranges, nesting."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from treetop import XRLinear
from treetop.config import Config, part, setting
from treetop.errors import ConfigError


@dataclass(frozen=True)
class Inner(Config):
    size: int = setting(3, "how many", at_least=1)
    shape: tuple[int, ...] | None = setting(None, "sizes from the top", at_least=1)
    both: float = setting(0.5, "in two places", above=0, at_most=1)


@dataclass(frozen=True)
class Outer(Config):
    seed: int = setting(0, "a seed", at_least=0)
    kind: str = setting("round", "a shape", choices=("round", "square"))
    fast: bool = setting(True, "hurry")
    both: float = setting(1.0, "in two places")
    inner: Inner = part(Inner(), "the inner part")


def test_values_are_taken_as_objects_or_text():
    config = Outer().replace_settings({"seed": "7", "fast": "no", "inner.size": 5, "shape": "4-32-256"})
    assert config == Outer(seed=7, fast=False, inner=Inner(size=5, shape=(4, 32, 256)))
    assert Outer().replace_settings({"inner": {"size": "2"}}).inner.size == 2
    assert Outer().replace_settings({"inner": Inner(both=1)}).inner.both == 1.0
    assert config.replace_settings({"shape": "none"}).inner.shape is None
    assert config.replace_settings({"shape": 8}).inner.shape == (8,)
    assert Outer().replace_settings(config.to_dict()) == config


def test_settings_that_depend_on_one_another_change_together():
    given = {"tfidf.ngram_min": 3, "tfidf.ngram_max": 5}
    for order in (given, dict(reversed(given.items()))):
        changed = XRLinear(**order).config.tfidf
        assert (changed.ngram_min, changed.ngram_max) == (3, 5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sede": 1}, "did you mean 'seed'"),
        ({"size": 0}, "size must be at least 1, not 0"),
        ({"size": "many"}, "size must be int, not 'many'"),
        ({"size": 2.5}, "size must be int"),
        ({"size": True}, "size must be int"),
        ({"kind": "flat"}, "one of round, square, not 'flat'"),
        ({"fast": "perhaps"}, "fast must be bool"),
        ({"inner.both": 0}, "both must be above 0"),
        ({"inner.both": 2}, "both must be at most 1"),
        ({"inner.both": "nan"}, "both must be float"),
        ({"inner": 3}, "group of settings"),
        ({"shape": [1, "x"]}, "shape must be"),
        ({"shape": "-3"}, "shape must be at least 1, not -3"),
        ({"size": 10**12}, "size must be at most 2147483647, not 1000000000000"),
        ({"size": "9" * 400}, "size must be at most 2147483647"),
        ({"size": float("inf")}, "size must be int, not inf"),
        ({"both": 10**400}, "both must be float"),
    ],
)
def test_bad_values_are_named(changes, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        Outer().replace_settings(changes)


def test_a_name_at_the_top_wins_over_the_same_name_inside():
    assert Outer().replace_settings({"both": 3}).both == 3.0


def test_ambiguous_short_names_are_refused():
    @dataclass(frozen=True)
    class Two(Config):
        left: Inner = part(Inner(), "one")
        right: Inner = part(Inner(), "another")

    with pytest.raises(ConfigError, match=r"ambiguous: use left\.size or right\.size"):
        Two().replace_settings({"size": 1})


def test_settings_describe_themselves():
    listed = {item.name: item for item in Outer().settings()}
    assert list(listed) == ["seed", "kind", "fast", "both", "inner.size", "inner.shape", "inner.both"]
    assert listed["inner.shape"].type == "list of int or none"
    assert listed["kind"].choices == ("round", "square")
    assert listed["inner.size"].help == "how many"


def test_configs_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Outer().seed = 3  # type: ignore[misc]
