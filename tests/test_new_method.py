"""A toy method is added to a copy of the project by the steps of CONTRIBUTING.md, and passes the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import ROOT
from treetop import _native

METHOD = '''
"""Rocchio: labels whose centroid is most similar to a text. score(l) = x · c_l with c_l = Σ x_i / ‖Σ x_i‖."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..config import setting
from ..errors import ModelError
from ..features.text_features import TextFeatures
from ..ranked import Ranked
from ..sparse import normalize_rows
from .base import Method
from .feature_config import TFIDF_SPACE, FeatureConfig


@dataclass(frozen=True)
class RocchioConfig(FeatureConfig):
    """Settings of Rocchio."""

    power: float = setting(1.0, "power of the similarity", above=0)


class Rocchio(Method):
    """Trains in one pass."""

    name = "rocchio"
    config_class = RocchioConfig
    search_space = TFIDF_SPACE | {"power": (0.5, 1.0)}
    features = TextFeatures(None, 0)

    @property
    def takes_texts(self):
        return self.features.tfidf is not None

    def _fit(self, dataset):
        self.features, X = TextFeatures.fit(dataset, self.config.tfidf, threads=self.threads)
        self.used = np.flatnonzero(dataset.label_counts).astype(np.int32)
        self.centroids = normalize_rows(sparse.csr_matrix(dataset.Y[:, self.used].T @ X)).toarray()

    def _rank(self, dataset, k):
        similar = self.features.matrix(dataset, threads=self.threads) @ self.centroids.T
        k = min(k, len(self.used))
        best = np.argsort(-similar, axis=1, kind="stable")[:, :k]
        scores = np.maximum(np.take_along_axis(similar, best, 1), 0) ** self.config.power
        indptr = np.arange(len(dataset) + 1, dtype=np.int64) * k
        return Ranked(indptr, self.used[best].reshape(-1), scores.astype(np.float32).reshape(-1))

    def _state(self):
        return self.features.state() | {"used": self.used, "centroids": self.centroids}

    def _restore(self, arrays):
        labels = len(self.known_labels)
        self.features = TextFeatures.from_state(arrays, self.config.tfidf, keeps_data=False, labels=labels)
        self.used = np.array(arrays["used"], np.int32)
        self.centroids = np.array(arrays["centroids"], np.float32)
        shape = len(self.used.reshape(-1)), self.features.n_features
        in_range = self.used.ndim == 1 and ((self.used >= 0) & (self.used < labels)).all()
        if not in_range or self.centroids.shape != shape or not np.isfinite(self.centroids).all():
            raise ModelError("the centroids do not match the model's labels: retrain the model")
'''
PAGE = "# Rocchio\n\nThe labels whose centroid is most similar.\n\n<!-- settings: rocchio -->\n"
TESTS = ("test_contract.py", "test_layers.py", "test_stub.py", "test_search_space.py", "test_docs.py")
CHOSEN = "rocchio or every_method or room or circle or stub or own_search or has_a_page or public_name"
"""Of these files: whatever concerns one method, or all of them."""
CUSTOMIZE = """
import sys

sys.meta_path = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
"""
"""Python runs this at its start: the copy is imported, not the checkout that is installed as editable."""


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of what the steps touch and the tests read, with the toy method."""
    copy = tmp_path_factory.mktemp("project")
    for part in ("src", "tests", "docs", "tools", "bench"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
    for file in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "mkdocs.yml", "pyproject.toml"):
        shutil.copy(ROOT / file, copy / file)
    native = Path(_native.__file__)
    shutil.copy(native, copy / "src" / "treetop" / native.name)
    (copy / "src" / "sitecustomize.py").write_text(CUSTOMIZE)
    # 1. the method's file
    (copy / "src/treetop/methods/rocchio.py").write_text(METHOD.lstrip())
    # 2. its row, and the stub
    insert(
        copy / "src/treetop/registry.py",
        before='    "ensemble": Entry(',
        line='    "rocchio": Entry("rocchio", "Rocchio", "the labels of the most similar centroids"),\n',
    )
    run(copy, "tools/write_stub.py")
    # 3. its line in the contract
    insert(copy / "tests/test_contract.py", before='    "ensemble": {', line='    "rocchio": {},\n')
    # 4. its page
    (copy / "docs/methods/rocchio.md").write_text(PAGE)
    insert(
        copy / "mkdocs.yml",
        before="      - Ensembles: methods/ensemble.md\n",
        line="      - Rocchio: methods/rocchio.md\n",
    )
    return copy


def insert(file: Path, *, before: str, line: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(before) == 1, f"{before!r} is not once in {file.name}"
    file.write_text(text.replace(before, line + before), "utf-8")


def run(project: Path, *arguments: str) -> str:
    """Python in the copy, whose own `treetop` it imports."""
    environment = os.environ | {"PYTHONPATH": str(project / "src")}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)  # the copy is not what is measured
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_python_and_the_command_know_it(project):
    code = (
        "import sys, treetop; from treetop.cli.main import main\n"
        "assert treetop.__file__.startswith(sys.argv[1])\n"
        "model = treetop.Rocchio().fit(['oven flour', 'boat wind'], [['baking'], ['sailing']])\n"
        "print(model.predict('wind', k=1)[0][0].label); main(['methods'])"
    )
    printed = run(project, "-c", code, str(project))
    assert "sailing" in printed and "the labels of the most similar centroids" in printed


@pytest.mark.slow
def test_the_tests_of_every_method_pass(project):
    files = [f"tests/{name}" for name in TESTS]
    run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", CHOSEN, *files)
