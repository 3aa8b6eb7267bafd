"""`treetop/__init__.pyi` lists the names that `treetop` loads on first use."""

from __future__ import annotations

import runpy

from doc_blocks import ROOT


def test_the_stub_is_up_to_date(monkeypatch):
    monkeypatch.setattr("sys.argv", ["write_stub.py", "--check"])
    runpy.run_path(str(ROOT / "tools" / "write_stub.py"), run_name="__main__")
