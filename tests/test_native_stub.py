"""The stub describes the extension as it is."""

from __future__ import annotations

import ast
from pathlib import Path

import treetop
from treetop import _native


def test_stub_and_extension_have_the_same_names():
    stub = ast.parse((Path(treetop.__file__).parent / "_native.pyi").read_text("utf-8"))
    declared = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert declared == {name for name in dir(_native) if not name.startswith("_")}
