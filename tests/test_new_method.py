"""A toy method is added to a copy of the project by the steps of CONTRIBUTING.md, and passes the tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import ROOT
from method_steps import missing_steps
from treetop import _native
from treetop.registry import METHODS

METHOD = '''
"""Rocchio: labels whose centroid is most similar to a text. score(l) = x · c_l with c_l = Σ x_i / ‖Σ x_i‖."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..config import setting
from ..data import Dataset
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
    config: RocchioConfig
    search_space = TFIDF_SPACE | {"power": (0.5, 1.0)}
    features = TextFeatures(None, 0)

    @property
    def takes_texts(self) -> bool:
        return self.features.of_texts

    def _fit(self, dataset: Dataset) -> None:
        assert dataset.Y is not None
        config = self.config
        self.features, X = TextFeatures.fit(
            dataset, config.tfidf, keeps_data=config.keep_data, threads=self.threads
        )
        self.used = np.flatnonzero(dataset.label_counts).astype(np.int32)
        self.centroids = normalize_rows(sparse.csr_matrix(dataset.Y[:, self.used].T @ X)).toarray()

    def _rank(self, dataset: Dataset, k: int, *, power: float | None = None) -> Ranked:
        similar = self.features.matrix(dataset, threads=self.threads) @ self.centroids.T
        k = min(k, len(self.used))
        best = np.argsort(-similar, axis=1, kind="stable")[:, :k]
        scores = np.maximum(np.take_along_axis(similar, best, 1), 0) ** (power or self.config.power)
        indptr = np.arange(len(dataset) + 1, dtype=np.int64) * k
        return Ranked(indptr, self.used[best].reshape(-1), scores.astype(np.float32).reshape(-1))

    def _state(self) -> dict[str, npt.NDArray]:
        return self.features.state() | {"used": self.used, "centroids": self.centroids}

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        config, labels = self.config, len(self.known_labels)
        self.features = TextFeatures.from_state(
            arrays, config.tfidf, keeps_data=config.keep_data, labels=labels
        )
        self.used = np.array(arrays["used"], np.int32)
        self.centroids = np.array(arrays["centroids"], np.float32)
        shape = len(self.used.reshape(-1)), self.features.n_features
        in_range = self.used.ndim == 1 and ((self.used >= 0) & (self.used < labels)).all()
        if not in_range or self.centroids.shape != shape or not np.isfinite(self.centroids).all():
            raise ModelError("the centroids do not match the model's labels: retrain the model")
'''
MARK = "<!-- settings: rocchio -->\n"
PAGE = f"# Rocchio\n\nThe labels whose centroid is most similar.\n\n{MARK}"
STUB = "from .methods.rocchio import Rocchio as Rocchio\n"
TESTS = (
    *("test_contract.py", "test_layers.py", "test_stub.py", "test_search_space.py", "test_docs.py"),
    "test_method_steps.py",
)
CHOSEN = " or ".join(
    (
        "rocchio",
        "every_method",
        "every_step",
        "room",
        "circle",
        "stub",
        "own_search",
        "has_a_page",
        "public_name",
    )
)
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
    take_steps(copy)
    run(copy, "tools/write_stub.py")
    return copy


def take_steps(project: Path, *, without: str = "") -> None:
    """All steps except one, which ``without`` names; the stub is a line, as long as nothing else is in it."""
    methods, registry = project / "src/treetop/methods", project / "src/treetop/registry.py"
    method = METHOD.lstrip()
    if without == "search space":
        method = re.sub("(?m)^    search_space = .*\n", "", method)
    if without != "class":
        (methods / "rocchio.py").write_text(method)
    if without != "row":
        row = '    "rocchio": Entry("rocchio", "Rocchio", "the labels of the most similar centroids"),\n'
        insert(registry, before='    "ensemble": Entry(', line=row)
    if without != "stub":
        insert(project / "src/treetop/__init__.pyi", before="from .methods.x_transformer", line=STUB)
    if without != "case":
        insert(project / "tests/test_contract.py", before='    "ensemble": {', line='    "rocchio": {},\n')
    if without != "page":
        page = PAGE.replace(MARK, "") if without == "settings" else PAGE
        (project / "docs/methods/rocchio.md").write_text(page)
    if without != "site":
        line = "      - Rocchio: methods/rocchio.md\n"
        insert(project / "mkdocs.yml", before="      - Ensembles: methods/ensemble.md\n", line=line)
    if without != "link":
        insert(project / "README.md", before="[PLT](docs", line="[Rocchio](docs/methods/rocchio.md), ")
    if without != "number":
        readme = (project / "README.md").read_text("utf-8")
        more = readme.replace(f"**{len(METHODS)} methods", f"**{len(METHODS) + 1} methods")
        (project / "README.md").write_text(more, "utf-8")


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


@pytest.mark.slow
def test_its_types_are_checked(project):
    run(project, "-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache"), "src/treetop/methods/rocchio.py")


READ = ("README.md", "mkdocs.yml", "docs/methods", "tests/test_contract.py", "src/treetop/methods")
READ += ("src/treetop/registry.py", "src/treetop/__init__.pyi")
OMITTED = {
    "class": "rocchio: add its class Rocchio to src/treetop/methods/rocchio.py",
    "search space": "rocchio: add search_space, what is worth tuning, to Rocchio",
    "row": "rocchio: add its row to src/treetop/registry.py",
    "stub": "rocchio: run make stub",
    "case": "rocchio: add its line to CASES in tests/test_contract.py",
    "page": "rocchio: add a page to docs/methods that ends in <!-- settings: rocchio -->",
    "settings": "rocchio: add a page to docs/methods that ends in <!-- settings: rocchio -->",
    "site": "rocchio: add methods/rocchio.md to nav in mkdocs.yml",
    "link": "rocchio: add a link to docs/methods/rocchio.md to README.md",
    "number": f"there are {len(METHODS) + 1} methods: change their number in README.md",
}


@pytest.mark.parametrize("step", OMITTED)
def test_a_step_left_out_is_named(step, tmp_path):
    for part in READ:
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)
    take_steps(tmp_path, without=step)
    assert OMITTED[step] in missing_steps(tmp_path)
    assert len(missing_steps(tmp_path)) == (2 if step == "row" else 1)
