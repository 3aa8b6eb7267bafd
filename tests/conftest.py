"""Data and commands that several test files use."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import browser
from commands import call

# Reference data sets next to the checkout on our machines; tests that need them skip elsewhere.
SHARED = Path(os.environ.get("TREETOP_SHARED", Path(__file__).parents[2] / "shared"))


# Tests of the native core, many of which ask for several threads and compare with one.
ON_ALL_CORES = (
    *("test_linear", "test_losses", "test_native", "test_neighbours", "test_packed", "test_tfidf"),
    *("test_tree", "test_tree_methods", "test_update", "test_words", "test_xmc"),
)
CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def pytest_configure(config):
    """A worker of pytest-xdist, and what it starts, keeps to one core, so to one thread by default."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if worker and CORES:
        os.sched_setaffinity(0, {sorted(CORES)[int(worker) % len(CORES)]})


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in ON_ALL_CORES:
            item.add_marker(pytest.mark.usefixtures("all_cores"))


def pytest_collection_finish(session):
    """The modules imported by now stay: searching them for garbage after each trial would take most of it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def all_cores():
    if not CORES:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def run(capsys):
    """``run("train", file, …)``: what the command did."""
    return functools.partial(call, capsys)


def planted(rows: int, labels: int, features: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Unit-row features that carry their labels: each label has three features of its own, plus noise."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, features, (labels, 3))
    X = sparse.lil_matrix((rows, features), dtype=np.float32)
    Y = sparse.lil_matrix((rows, labels), dtype=np.float32)
    for row in range(rows):
        for label in rng.choice(labels, rng.integers(1, 4), replace=False):
            Y[row, label] = 1
            X[row, own[label]] = 1 + rng.random(3)
        X[row, rng.integers(0, features, 4)] = rng.random(4) + 0.1
    X = X.tocsr()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / lengths) @ X, dtype=np.float32), Y.tocsr()


@pytest.fixture(scope="session")
def topics(tmp_path_factory):
    """The folder of a small model for the tests of the page."""
    pytest.importorskip("fastapi", reason="the tests of the page need the extra serve")
    from topics_page import make_model

    folder = tmp_path_factory.mktemp("page") / "topics"
    make_model(folder)
    return folder


@pytest.fixture(scope="session")
def page_address(topics):
    """Where `topics` is served; feedback goes into ``feedback.sqlite`` next to it."""
    with browser.serving(topics, feedback=topics.parent / "feedback.sqlite") as (address, _):
        yield address


@pytest.fixture(scope="module")
def chromium():
    """A browser. It holds an event loop while it runs, so no other test file may run meanwhile."""
    if browser.executable() is None:
        pytest.skip("no Chromium is installed: make browser")
    with browser.opened() as opened:
        yield opened


@pytest.fixture
def open_page(chromium, page_address):
    """``open_page(tab, **how)``: a fresh page; scripts that fail or are forbidden fail the test."""
    troubles = []
    contexts = contextlib.ExitStack()

    def on_console(message):
        if "Content Security Policy" in message.text:
            troubles.append(message.text)

    def open_at(tab="suggest", address=page_address, **how):
        context = contexts.enter_context(chromium.new_context(**how))
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on("console", on_console)
        page.goto(f"{address}/#/{tab}")
        return page

    with contexts:
        yield open_at
    assert not troubles


@pytest.fixture
def page(open_page):
    return open_page()
