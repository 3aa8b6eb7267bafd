"""Finds the documented objects of a Python installation: in source files by parsing, never by running them.

Modules written in C have no source to parse. A short fixed list of them, harmless and mostly loaded anyway,
is imported, and so is numpy, on which treetop depends.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import sysconfig
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import DataError

COMPILED = (
    *("builtins", "array", "binascii", "bz2", "cmath", "collections", "csv", "datetime", "decimal", "errno"),
    *("functools", "gc", "hashlib", "io", "itertools", "lzma", "marshal", "math", "mmap", "operator", "os"),
    *("pickle", "random", "re", "select", "signal", "socket", "struct", "sys", "threading", "time"),
    *("unicodedata", "weakref", "zlib", "numpy", "numpy.random"),
)
# Not libraries for users: tests, demonstrations, the Python editor, copies of other projects.
SKIPPED_MODULES = frozenset({"antigravity", "idlelib", "lib2to3", "pydoc_data", "test", "this", "turtledemo"})
SKIPPED_FOLDERS = frozenset({"test", "tests", "_lib", "_vendor", "_external", "externals", "_bundled"})

# Modules whose contents users know under another name.
ALIASES = {
    "posixpath": "os.path",
    "ntpath": "os.path",
    "genericpath": "os.path",
    "_collections_abc": "collections.abc",
    "_pydatetime": "datetime",
    "_pydecimal": "decimal",
    "_pyio": "io",
    "_strptime": "time",
    "numpy.lib": "numpy",
    "numpy.ma.core": "numpy.ma",
    "numpy.ma.extras": "numpy.ma",
}


@dataclass(frozen=True)
class Documented:
    """A module, class, function or method with a docstring."""

    module: str
    """The module as users know it: ``scipy.optimize`` for ``scipy/optimize/_minimize.py``."""
    name: str
    """The name within the module, ``Class.method`` for a method; empty for the module itself."""
    doc: str
    parameters: frozenset[str] = frozenset()
    raises: frozenset[str] = frozenset()
    """Exceptions that the code raises by name."""

    @property
    def full_name(self) -> str:
        """``os.path.join``; just ``len`` for a built-in."""
        if self.module == "builtins":
            return self.name or self.module
        return f"{self.module}.{self.name}" if self.name else self.module


def installed(packages: tuple[str, ...]) -> Iterator[Documented]:
    """The documented objects of the standard library and of some installed packages, in a fixed order."""
    folders = [_package_folder(package) for package in packages]
    library = Path(sysconfig.get_path("stdlib"))
    for module in sorted(sys.stdlib_module_names - SKIPPED_MODULES):
        if (library / module).is_dir():
            yield from _in_package(library / module, module)
        elif (library / f"{module}.py").is_file():
            yield from in_file(library / f"{module}.py", module)
    for folder, package in zip(folders, packages, strict=True):
        yield from _in_package(folder, package)
    for module in COMPILED:
        yield from in_module(module)


def public_module(module: str) -> str:
    """The public part of a name: ``scipy.optimize._minimize`` → ``scipy.optimize``; "" if there is none."""
    if module in ALIASES:
        return ALIASES[module]
    parts = module.split(".")
    hidden = next((depth for depth, part in enumerate(parts) if part.startswith("_")), len(parts))
    public = ".".join(parts[:hidden])
    return ALIASES.get(public, public) if hidden < len(parts) else public


def _package_folder(package: str) -> Path:
    spec = (
        importlib.util.find_spec(package) if package.isidentifier() else None
    )  # finds it, does not import it
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"python-docs: the package {package!r} is not installed in this Python; install it or omit it"
        )
    return Path(spec.submodule_search_locations[0])


def _in_package(folder: Path, package: str) -> Iterator[Documented]:
    for path in sorted(folder.rglob("*.py")):
        inner = path.relative_to(folder).with_suffix("").parts
        if SKIPPED_FOLDERS.isdisjoint(inner) and inner[-1] not in ("__main__", "setup", "conftest"):
            yield from in_file(path, ".".join((package, *inner)).removesuffix(".__init__"))


def in_file(path: Path, module: str) -> Iterator[Documented]:
    """The documented objects of one source file; a file that is not valid Python has none."""
    public = public_module(module)
    if not public:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in other people's strings
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    doc = ast.get_docstring(tree)
    if doc and public == module:
        yield Documented(public, "", doc)
    yield from _in_body(tree.body, public)


def _in_body(body: list[ast.stmt], module: str) -> Iterator[Documented]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _in_class(node, module)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _in_function(node, module, "")
        elif isinstance(node, ast.If):
            yield from _in_body(node.body + node.orelse, module)
        elif isinstance(node, ast.Try):
            handlers = [inner for handler in node.handlers for inner in handler.body]
            yield from _in_body(node.body + handlers + node.orelse, module)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _in_newdoc(node.value, module)


def _in_class(node: ast.ClassDef, module: str) -> Iterator[Documented]:
    doc = ast.get_docstring(node)
    if doc:
        yield Documented(module, node.name, doc)
    for method in node.body:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _in_function(method, module, f"{node.name}.")


def _in_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, module: str, prefix: str
) -> Iterator[Documented]:
    doc = ast.get_docstring(node)
    if doc and not node.name.startswith("_"):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = frozenset(argument.arg for argument in arguments)
        yield Documented(module, prefix + node.name, doc, names, _raised(node))


def _raised(function: ast.AST) -> frozenset[str]:
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Raise):
            exception = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(exception, (ast.Name, ast.Attribute)):
                names.add(ast.unparse(exception))
    return frozenset(names)


def _in_newdoc(call: ast.Call, module: str) -> Iterator[Documented]:
    """``add_newdoc([module,] name, doc | (method, doc))``: how numpy and scipy document their C functions."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "add_newdoc"):
        return
    try:
        *place, doc = [ast.literal_eval(argument) for argument in call.args]
    except ValueError:
        return
    name = place[-1] if place else ""
    if isinstance(doc, tuple) and len(doc) == 2:
        name, doc = f"{name}.{doc[0]}", doc[1]
    if isinstance(doc, str) and isinstance(name, str) and not any(p.startswith("_") for p in name.split(".")):
        yield Documented(module, name, doc)


def in_module(module: str) -> Iterator[Documented]:
    """The documented built-in functions and classes that an imported module defines."""
    try:
        loaded = importlib.import_module(module)
    except ImportError:  # a Python built without it (bz2, lzma)
        return
    for name, current in sorted(vars(loaded).items()):
        # sys.__excepthook__ is the original of sys.excepthook, which other code may replace.
        value = vars(loaded).get(f"__{name}__", current)
        if name.startswith("_") or not _is_defined_by(module, value):
            continue
        if isinstance(value.__doc__, str):
            yield Documented(module, name, value.__doc__)
        for method, function in sorted(vars(value).items()) if isinstance(value, type) else ():
            doc = getattr(function, "__doc__", None)
            if isinstance(doc, str) and callable(function) and not method.startswith("_"):
                yield Documented(module, f"{name}.{method}", doc)


def _is_defined_by(module: str, value: object) -> bool:
    if not isinstance(value, (type, types.BuiltinFunctionType, np.ufunc)):
        return False
    home = getattr(value, "__module__", None) or module
    homes = (module, f"_{module}", "posix", "nt") if module == "os" else (module, f"_{module}")
    return home in homes or public_module(home) == module
