"""Every method has what CONTRIBUTING.md asks for."""

from __future__ import annotations

from doc_blocks import ROOT
from method_steps import missing_steps


def test_every_step_is_taken():
    assert missing_steps(ROOT) == []
