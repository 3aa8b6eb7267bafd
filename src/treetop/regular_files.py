"""Reading files that only their names make what they should be: a pipe or device there blocks nothing."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """Opens a file to read; raises OSError for a folder, pipe or device, which could block for ever."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, limit: int | None = None) -> bytes:
    """The content of a file, of at most ``limit`` bytes; raises OSError for a larger one."""
    with open_regular(path) as file:
        content = file.read(-1 if limit is None else limit + 1)
    if limit is not None and len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes", str(path))
    return content
