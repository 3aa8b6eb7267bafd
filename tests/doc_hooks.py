"""The modules of ``docs/hooks``, which fill in pages while the site is built."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from doc_blocks import ROOT


def hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_hook_{name}", ROOT / "docs" / "hooks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_with(name: str, page: str) -> str:
    """The text of a page under ``docs`` after one hook."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    filled: str = hook(name).on_page_markdown(text)
    assert filled != text, f"{page} has no mark of the hook {name}"
    return filled
