"""Makes the modules of ``bench/`` importable; tests that need them are skipped where it is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
if not BENCH.is_dir():
    pytest.skip("bench/ is not part of this copy", allow_module_level=True)
SCRIPTS = [file for file in sorted(BENCH.glob("*/*.py")) if file.parent.name != "common"]
FOLDERS = [BENCH, BENCH / "peers" / "runners", *sorted({file.parent for file in SCRIPTS})]
sys.path.extend(map(str, FOLDERS))
