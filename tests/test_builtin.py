"""Built-in data sets: exact on hand-written sources, and plausible on what this machine has."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from scipy.sparse.linalg import norm

from treetop.data import Dataset, builtin
from treetop.data.builtin import debian, docstring_text, docstrings, python_docs, synthetic
from treetop.errors import ConfigError, DataError


def texts_with_labels(dataset: Dataset) -> dict[str, set[str]]:
    return {dataset.ids[row]: set(dataset.labels_of(row)) for row in range(len(dataset))}


def check_splits(splits: dict[str, Dataset], min_examples: int) -> None:
    train, test = splits["train"], splits["test"]
    assert train.labels == test.labels
    assert train.label_counts.min() >= min_examples
    assert set(train.groups).isdisjoint(test.groups)
    assert set(train.ids).isdisjoint(test.ids) and set(train.texts).isdisjoint(test.texts)
    for split in (train, test):
        assert np.diff(split.Y.indptr).min() >= 1
    assert 0.1 < len(test) / (len(train) + len(test)) < 0.3


# --- the registry


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        DataError, match="no built-in data set 'wikipedia': choose one of python-docs, debian-tags"
    ):
        builtin.build("wikipedia")


def test_every_name_has_a_recipe_whose_options_are_documented():
    assert set(builtin.NAMES) == {"python-docs", "debian-tags", "debian-deps", "synthetic"}
    for name in builtin.NAMES:
        options = list(builtin.default_recipe(name).settings())
        assert options and all(option.help for option in options)


def test_bad_options_are_named():
    with pytest.raises(ConfigError, match="no setting 'sclae'; did you mean 'scale'"):
        builtin.build("synthetic", sclae=1)
    with pytest.raises(ConfigError, match="like must be one of eurlex-4k"):
        builtin.build("synthetic", like="mnist")


# --- python-docs

NUMPY_STYLE = """
    mean(a, axis=None) -> float

    Compute the :term:`arithmetic mean` along ``axis``, see `median` and :func:`~os.path.join`.

    .. versionadded:: 1.0

    Parameters
    ----------
    a : array_like
        Values; `a` may be empty, see statistics.fmean() for floats.

    Raises
    ------
    ValueError
        If it is too long.

    See Also
    --------
    average, numpy.std : Weighted
        This `comment` is not an entry.
    var

    Notes
    -----
    .. math::

        \\sum_i a_i

    It is **exact**.
    >>> np.mean([1])
    1.0

    Examples
    --------
    >>> zeros(3)
"""


def test_plain_text_keeps_prose_only():
    assert docstring_text.plain_text(NUMPY_STYLE) == (
        "Compute the arithmetic mean along axis, see median and os.path.join. "
        "a : array_like Values; a may be empty, see statistics.fmean() for floats. It is exact."
    )
    assert docstring_text.plain_text("range(stop) -> range\nrange(start, stop)\n\nCount.") == "Count."


def test_references_come_from_roles_backquotes_prose_and_see_also():
    assert set(docstring_text.references(NUMPY_STYLE)) == {
        *("median", "os.path.join", "a", "statistics.fmean", "average", "numpy.std", "var")
    }
    assert docstring_text.exceptions("Raises ValueError or KeyError, not an error.") == {
        "ValueError",
        "KeyError",
    }


SOURCE = '''
"""The module."""
raise SystemExit("parsing must not run this")
try:
    pass
except ImportError:
    def fallback(path, *, mode):
        """Fall back."""
        raise ValueError("no")
        raise errors.Odd
        raise
def _private():
    """Not shown."""
class Thing:
    """A thing."""
    def method(self):
        """Do it."""
    def __init__(self):
        """Not shown."""
add_newdoc("numpy._core.multiarray", "ndarray", ("flat", """An iterator."""))
'''


def test_documented_objects_are_found_without_running_the_file(tmp_path):
    path = tmp_path / "_impl.py"
    path.write_text(SOURCE)
    found = {item.full_name: item for item in docstrings.in_file(path, "pkg.sub")}
    names = ("fallback", "Thing", "Thing.method", "ndarray.flat")
    assert list(found) == ["pkg.sub", *(f"pkg.sub.{name}" for name in names)]
    assert found["pkg.sub.fallback"] == docstrings.Documented(
        *(
            "pkg.sub",
            "fallback",
            "Fall back.",
            frozenset({"path", "mode"}),
            frozenset({"ValueError", "errors.Odd"}),
        )
    )
    private = list(docstrings.in_file(path, "pkg.sub._impl"))
    assert {item.module for item in private} == {"pkg.sub"} and private[0].name == "fallback"
    path.write_text("this is not Python")
    assert list(docstrings.in_file(path, "pkg")) == []


@pytest.mark.parametrize(
    ("module", "public"),
    [
        ("scipy.optimize._trustregion.core", "scipy.optimize"),
        ("posixpath", "os.path"),
        ("numpy.lib._function_base_impl", "numpy"),
        ("numpy.lib.stride_tricks", "numpy.lib.stride_tricks"),
        ("_aix_support", ""),
    ],
)
def test_public_module(module, public):
    assert docstrings.public_module(module) == public


def test_python_docs_labels():
    Documented = docstrings.Documented
    found = [
        Documented(
            "os.path", "join", "Join path components like `split` does, see `path`.", frozenset({"path"})
        ),
        Documented("os.path", "split", "The opposite of join(), never raises a ValueError."),
        Documented(
            "os", "Dir.close", "Release what `Dir.scan` holds, may raise.", raises=frozenset({"OSError"})
        ),
        Documented("os", "Dir.scan", "Look through np.array and the directory."),
        Documented("shutil", "join", "Join path components like `split` does, see `path`."),
        Documented("builtins", "len", "The number of items there are."),
        Documented("numpy", "array", "An array."),
        Documented("shutil", "", "A whole module about copying files."),
    ]
    dataset = python_docs.dataset_of(found, min_words=5)
    assert texts_with_labels(dataset) == {
        "os.path.join": {"os", "os.path", "os.path.split", "shutil"},
        "os.path.split": {"os", "os.path", "os.path.join", "ValueError"},
        "os.Dir.close": {"os", "os.Dir.scan", "OSError"},
        "os.Dir.scan": {"os", "numpy.array"},
        "len": {"builtins"},
        "shutil": {"shutil"},
    }
    assert dataset.texts[2] == "Dir close. Release what Dir.scan holds, may raise."
    assert list(dataset.groups) == ["join", "split", "Dir", "Dir", "len", "shutil"]


def test_titles_are_words():
    assert python_docs.title("HTTPServer.handle_error") == "HTTP Server handle error"


@pytest.mark.slow
def test_python_docs_of_this_installation():
    splits = builtin.build("python-docs")
    check_splits(splits, min_examples=2)
    train = splits["train"]
    assert len(train) > 3000 and len(train.labels) > 700
    for label in ("json", "os.path", "email", "ValueError", "numpy", "scipy.optimize"):
        assert train.labels.position(label) >= 0
    everything = {**texts_with_labels(train), **texts_with_labels(splits["test"])}
    assert {"itertools"} == everything["itertools.chain"]
    assert {"numpy", "numpy.cos"} <= everything["numpy.sin"]


def test_a_package_that_is_not_installed_is_named():
    with pytest.raises(DataError, match="the package 'no_such_package' is not installed"):
        list(docstrings.installed(("no_such_package",)))


# --- debian-tags and debian-deps

CATALOGUE = """\
Package: foo-12
Source: foo-src-12 (1.2-3)
Pre-Depends: dpkg (>= 1.15)
Depends: libc6 (>= 2.34), python3:any | python2,
 libbar
Recommends: bar
Description: a foo
Description-md5: aaa
Tag: role::program, works-with::text,
 use::TODO

Package: foo-doc
Source: foo-src-13
Description: foo manual
Description-md5: bbb
Tag: role::documentation

Package: plain
Depends: libc6
Description: no translation
 but a long text
Description-md5: ccc
"""
TRANSLATIONS = """\
Package: foo-12
Description-md5: aaa
Description-en: a foo
 It foos the bar.
 .
  * quickly

Package: foo-doc
Description-md5: bbb
Description-en: foo manual
 Read it.
"""


def test_debian_tags_from_a_catalogue():
    dataset = debian.dataset_of(
        CATALOGUE.splitlines(True), TRANSLATIONS.splitlines(True), debian.DebianTags()
    )
    assert texts_with_labels(dataset) == {
        "foo-12": {"role::program", "works-with::text"},
        "foo-doc": {"role::documentation"},
    }
    assert list(dataset.texts) == ["a foo It foos the bar. * quickly", "foo manual Read it."]
    assert list(dataset.groups) == ["foo-src", "foo-src"]


def test_debian_deps_from_a_catalogue():
    dataset = debian.dataset_of(
        CATALOGUE.splitlines(True), TRANSLATIONS.splitlines(True), debian.DebianDeps()
    )
    assert texts_with_labels(dataset) == {
        "foo-12": {"dpkg", "libc6", "python3", "libbar", "bar"},
        "plain": {"libc6"},
    }
    assert dataset.texts[1] == "no translation but a long text"


def test_debian_says_what_is_missing(monkeypatch):
    with pytest.raises(DataError, match="no English long descriptions; run: apt-get"):
        debian.dataset_of(CATALOGUE.splitlines(), [], debian.DebianTags())
    with pytest.raises(DataError, match="no labelled packages; run: apt-get"):
        debian.dataset_of([], TRANSLATIONS.splitlines(), debian.DebianTags())
    monkeypatch.setattr(shutil, "which", lambda command: None)
    with pytest.raises(DataError, match="this machine has no apt-cache"):
        builtin.build("debian-tags")


def test_debian_data_of_this_machine():
    try:
        tags, deps = builtin.build("debian-tags"), builtin.build("debian-deps")
    except DataError as error:
        pytest.skip(f"no Debian package lists on this machine: {error}")
    check_splits(tags, min_examples=1)
    check_splits(deps, min_examples=2)
    assert len(tags["train"]) > 10_000 and len(deps["train"].labels) > 5_000
    assert {"role::program", "interface::commandline"} <= set(tags["train"].labels)
    assert {"libc6", "python3"} <= set(deps["train"].labels)


# --- synthetic


@pytest.mark.parametrize(
    ("like", "scale"),
    [("eurlex-4k", 0.2), ("wiki10-31k", 0.05), ("amazoncat-13k", 0.02), ("amazon-670k", 0.01)],
)
def test_synthetic_has_the_published_shape(like, scale):
    size = synthetic.BENCHMARKS[like]
    splits = builtin.build("synthetic", like=like, scale=scale)
    for split, texts in (("train", size.train), ("test", size.test)):
        data = splits[split]
        assert len(data) == len(data.ids) == int(np.ceil(texts * scale))
        assert data.X.shape[1] == size.features and len(data.labels) == int(np.ceil(size.labels * scale))
        assert data.Y.nnz / len(data) == pytest.approx(size.labels_per_text, rel=0.05)
        assert data.X.nnz / len(data) == pytest.approx(size.features_per_text, rel=0.05)
        assert np.diff(data.Y.indptr).min() >= 1 and (data.Y.data == 1).all()
        np.testing.assert_allclose(norm(data.X, axis=1), 1, rtol=1e-5)
        assert (data.X.data > 0).all() and data.X.dtype == np.float32
    counts = np.sort(splits["train"].label_counts)
    assert counts[-1] / len(splits["train"]) == pytest.approx(size.head, rel=0.25)
    assert counts[-1] > 5 * np.median(counts)


def test_synthetic_frequencies_follow_the_law_and_sum_exactly():
    size = synthetic.Benchmark(1000, 1, 200, 50, 5.0, 10, exponent=1.0, head=0.3)
    found = synthetic.label_frequencies(size, 1000, 200)
    assert found.sum() == 5000 and found.min() >= 1 and found[0] == 300
    # n_r - 1 = c / (r + q): the reciprocals lie on a straight line.
    reciprocal = 1 / (found[[0, 9, 19]] - 1)
    assert (reciprocal[2] - reciprocal[0]) / (reciprocal[1] - reciprocal[0]) == pytest.approx(
        19 / 9, rel=0.03
    )
    assert synthetic.set_sizes(1000, 5000, np.random.default_rng(0)).sum() == 5000


def test_synthetic_repeats_with_its_seed():
    one, same, other = (builtin.build("synthetic", scale="0.02", seed=seed)["train"] for seed in (1, 1, 2))
    assert (one.X != same.X).nnz == 0 and (one.Y != same.Y).nnz == 0
    assert (one.Y != other.Y).nnz > 0


def test_synthetic_can_be_learnt_but_not_perfectly():
    splits = builtin.build("synthetic", like="eurlex-4k", scale=0.2)
    train, test = splits["train"], splits["test"]
    centroids = train.Y.T @ train.X
    lengths = np.maximum(norm(centroids, axis=1), 1e-9)
    best = np.argmax((test.X @ centroids.T).toarray() / lengths, axis=1)
    precision = test.Y[np.arange(len(test)), best].mean()
    chance = train.label_counts.max() / len(train)
    assert 3 * chance < precision and 0.5 < precision < 0.95
