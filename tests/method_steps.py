"""Checks of the steps that CONTRIBUTING.md lists for a new method, read from the files of a project."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def missing_steps(project: Path) -> list[str]:
    """A sentence for each step that a method lacks."""
    registry = runpy.run_path(str(project / "src/treetop/registry.py"))["METHODS"]
    return [*_without_a_row(project, registry), *_incomplete(project, registry)]


def _without_a_row(project: Path, registry: dict[str, Any]) -> Iterator[str]:
    for node in _classes(project).values():
        name = _value(node, "name")
        if isinstance(name, ast.Constant) and name.value not in registry:
            yield f"{name.value}: add its row to src/treetop/registry.py"


def _incomplete(project: Path, registry: dict[str, Any]) -> Iterator[str]:
    classes, pages = _classes(project), _pages(project)
    stub = (project / "src/treetop/__init__.pyi").read_text("utf-8").splitlines()
    contract = ast.parse((project / "tests/test_contract.py").read_text("utf-8"))
    (cases,) = [node.value for node in contract.body if _assigns(node, "CASES")]
    cases = [ast.literal_eval(key) for key in cases.keys]
    site, readme = ((project / name).read_text("utf-8") for name in ("mkdocs.yml", "README.md"))
    for name, entry in registry.items():
        if entry.class_name not in classes:
            yield f"{name}: add its class {entry.class_name} to src/treetop/methods/{entry.module}.py"
        elif not entry.combines_models and not _searches(entry.class_name, classes):
            yield f"{name}: add search_space, what is worth tuning, to {entry.class_name}"
        if f"from .methods.{entry.module} import {entry.class_name} as {entry.class_name}" not in stub:
            yield f"{name}: run make stub"
        if name not in cases:
            yield f"{name}: add its line to CASES in tests/test_contract.py"
        if name not in pages:
            yield f"{name}: add a page to docs/methods that ends in <!-- settings: {name} -->"
        elif f": methods/{pages[name]}\n" not in site:
            yield f"{name}: add methods/{pages[name]} to nav in mkdocs.yml"
        elif f"(docs/methods/{pages[name]})" not in readme:
            yield f"{name}: add a link to docs/methods/{pages[name]} to README.md"
    if f"**{len(registry)} methods" not in readme:
        yield f"there are {len(registry)} methods: change their number in README.md"


def _classes(project: Path) -> dict[str, ast.ClassDef]:
    """All classes of the methods' files."""
    trees = [ast.parse(file.read_text("utf-8")) for file in (project / "src/treetop/methods").glob("*.py")]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def _searches(name: str, classes: dict[str, ast.ClassDef]) -> bool:
    """Whether the class or a base other than `Method` has a search space."""
    if name not in classes or name == "Method":
        return False
    bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
    return _value(classes[name], "search_space") is not None or any(
        _searches(base, classes) for base in bases
    )


def _value(node: ast.ClassDef, name: str) -> ast.expr | None:
    return next((item.value for item in node.body if _assigns(item, name)), None)


def _assigns(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _pages(project: Path) -> dict[str, str]:
    """The page of each method."""
    return {
        name: page.name
        for page in (project / "docs/methods").glob("*.md")
        for names in re.findall(r"(?m)^<!-- settings: (.*?) -->$", page.read_text("utf-8"))
        for name in names.split()
    }
