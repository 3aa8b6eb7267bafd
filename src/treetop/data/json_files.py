"""JSON objects in the model folders of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import ModelError, raise_machine_fault
from ..regular_files import read_regular

COPY_AGAIN = "copy the folder again"


def read_object(path: Path, inside: str | None = None) -> dict[str, Any]:
    """The JSON object of a file, or the one that it has under the name ``inside``."""
    try:
        content = json.loads(read_regular(path))
        found = content if inside is None else content[inside]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise_machine_fault(error, path)
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path}: cannot be read ({reason}); {COPY_AGAIN}") from None
    if not isinstance(found, dict):
        raise ModelError(f"{path}: is not a JSON object; {COPY_AGAIN}")
    return found
