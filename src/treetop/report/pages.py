"""The former home of `treetop.report.build.write_report`, kept for one version."""

from __future__ import annotations

from typing import Any

from ..deprecation import warn_renamed
from . import build


def __getattr__(name: str) -> Any:
    if name != "write_report":
        raise AttributeError(f"module 'treetop.report.pages' has no attribute {name!r}")
    warn_renamed("treetop.report.pages.write_report", "treetop.report.build.write_report")
    return build.write_report
