"""The former home of `treetop.report.build.write_report`, kept for one version."""

from __future__ import annotations

import warnings
from typing import Any

from . import build


def __getattr__(name: str) -> Any:
    if name != "write_report":
        raise AttributeError(f"module 'treetop.report.pages' has no attribute {name!r}")
    warnings.warn(
        "treetop.report.pages.write_report is now treetop.report.build.write_report",
        FutureWarning,
        stacklevel=2,
    )
    return build.write_report
