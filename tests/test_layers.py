"""Modules import downwards only, as the picture in docs/architecture.md says; no files import in a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import treetop
from doc_blocks import ROOT
from treetop.methods import METHODS, Method, method_class

PACKAGE = Path(treetop.__file__).parent
PICTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
OUTSIDE = {"__init__", "__main__", "_native", "studies"}
"""The entrances of the package; the native core, which every module may use; the old name of a module."""


def layers() -> list[dict[str, set[str]]]:
    """From the top: the modules of each layer, and those of the same layer that each may import."""
    block = re.search(r"```text\nfrontends.*?```", PICTURE, re.DOTALL)
    assert block is not None
    found = []
    for line in block[0].splitlines()[1:-1]:
        rooms = line.split(":", 1)[1].split("|", 1)[0]
        notes = line.partition("|")[2]
        all_or_none = set(rooms.split()) if "any" in notes else set()
        inside = dict.fromkeys(rooms.split(), all_or_none)
        for room, others in re.findall(r"(\w+) → (\w+(?:, \w+)*)", notes):
            inside[room] = set(others.split(", "))
        found.append(inside)
    return found


def imports() -> Iterator[tuple[str, str, str]]:
    """Every import of one module by another: module, imported module, file."""
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        for module in _modules(ast.parse(file.read_text("utf-8")), ("treetop", *parts[:-1])):
            if len(module) > 1 and module[0] == "treetop":
                target = module[1]
                if target != parts[0] and not target.startswith("__"):
                    yield parts[0], target, "/".join(parts)


def _modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Full names of all that a file imports, in functions too, split at the dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]
            yield tuple(name.value.split(".")) if isinstance(name, ast.Constant) else ()


def test_every_form_of_import_is_seen():
    code = (
        "import treetop.serve\nfrom treetop import cli\nfrom treetop.report import build\n"
        "def later():\n    from ..tree import LabelTree\n    importlib.import_module('treetop.tuning')\n"
    )
    found = {module[1] for module in _modules(ast.parse(code), ("treetop", "methods"))}
    assert found == {"serve", "cli", "report", "tree", "tuning"}


def test_every_room_is_in_the_picture():
    pictured = {room for layer in layers() for room in layer}
    there = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/*.py")
    }
    assert there - OUTSIDE == pictured


def test_rooms_import_downwards():
    level = {room: number for number, layer in enumerate(layers()) for room in layer}
    allowed = {room: others for layer in layers() for room, others in layer.items()}
    for room, target, file in imports():
        if room not in OUTSIDE and target not in OUTSIDE:
            downwards = level[room] < level[target] or target in allowed[room]
            assert downwards, f"{file} imports {target}, which is not below {room} in docs/architecture.md"


def test_no_circle_of_rooms():
    graph: dict[str, set[str]] = {}
    for room, target, _ in imports():
        if room not in OUTSIDE:
            graph.setdefault(room, set()).add(target)
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_no_circle_of_files():
    """Of imports inside functions too; those for type checkers do not count."""
    files = {}
    for file in PACKAGE.rglob("*.py"):
        parts = ("treetop", *file.relative_to(PACKAGE).with_suffix("").parts)
        files[parts[:-1] if file.stem == "__init__" else parts] = file
    graph = {}
    for name, file in files.items():
        tree = _OnlyAtRun().visit(ast.parse(file.read_text("utf-8")))
        found = set(_modules(tree, name if file.stem == "__init__" else name[:-1]))
        imported = {module if module in files else module[:-1] for module in found}
        graph[name] = (imported & files.keys()) - {name}
    assert ("treetop", "data", "dataset") in graph["treetop", "data", "frames"]
    list(TopologicalSorter(graph).static_order())  # raises CycleError


class _OnlyAtRun(ast.NodeTransformer):
    """Leaves out what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
        return node


def test_other_modules_ask_a_method_what_it_can_do():
    """They do not compare its name or its class, nor look whether it has an attribute that all have."""
    classes = {entry.class_name for entry in METHODS.values()}
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.parent.name != "methods":
            peeks = [
                ast.unparse(node)
                for node in ast.walk(ast.parse(file.read_text("utf-8")))
                if _peeks(node, classes)
            ]
            assert not peeks, (
                f"{file.relative_to(PACKAGE)}: {peeks[0]}: declare it on Method or in the registry"
            )


def _peeks(node: ast.AST, classes: set[str]) -> bool:
    if isinstance(node, ast.Compare):
        return any(part.value in METHODS for part in ast.walk(node) if isinstance(part, ast.Constant))
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("isinstance", "getattr", "hasattr"):
        return False
    asked = ast.unparse(node.args[1]).strip("'")
    return asked in classes or (asked in dir(Method) and not asked.startswith("_"))


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_put_together_from_parts(name):
    """At most one class between `Method` and a method: what methods share is a part, not a base."""
    chain = [kind for kind in method_class(name).__mro__ if issubclass(kind, Method)]
    assert len(chain) <= 3, [kind.__name__ for kind in chain]
