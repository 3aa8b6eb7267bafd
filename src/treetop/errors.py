"""All exceptions of treetop: raised in Python, printed by the command, returned by the server."""

from __future__ import annotations

import errno
import os
import unicodedata

_LONGEST = 1500
"""Characters of a message; a longer one is cut in the middle, as it quotes a file and ends in the remedy."""


class TreetopError(Exception):
    """Base of all errors that treetop raises itself. The message is one sentence that says where and why."""

    exit_code = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class UserError(TreetopError):
    """An error that the caller can fix: a bad file, a bad setting, a damaged model folder."""

    exit_code = 2


class DataError(UserError, ValueError):
    """Input that cannot be used: the message names the file, the line or row, and what is wrong."""


class ConfigError(UserError, ValueError):
    """A setting that does not exist, or a value that it cannot have."""


class ModelError(UserError):
    """A model folder that is missing, damaged or of another version, or a model that is not trained yet."""


class MissingExtraError(UserError, ImportError):
    """A missing optional dependency; the message says which ``pip install`` adds it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra that is not installed: pip install 'treetop-xmc[{extra}]'")


class MachineError(TreetopError):
    """The machine cannot read or write a file that may be intact: too few descriptors, no permission, …"""


def one_line(message: str) -> str:
    """A message on one line, however long and odd what it quotes: control characters as escapes."""
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"
    if message.isprintable():
        return message
    return "".join(
        ascii(character)[1:-1] if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") else character
        for character in message
    )


_REMEDIES = {
    errno.EMFILE: "raise the limit of file descriptors (ulimit -n)",
    errno.ENFILE: "close other programs",
    errno.EACCES: "change the permissions of the file or its folder, or the user",
    errno.EPERM: "change the permissions of the file or its folder, or the user",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "choose another folder",
    errno.EIO: "check the disk, or copy the file from elsewhere",
    errno.ESTALE: "mount the file system again",
    errno.ENOMEM: "close other programs",
    errno.ETIMEDOUT: "try again later",
}
"""Remedies for what the operating system says of itself rather than of the content of a file."""


def machine_fault(error: BaseException, path: str | os.PathLike[str] | None = None) -> MachineError | None:
    """The error for an `OSError` that says nothing about the content of a file; None for any other."""
    if not isinstance(error, OSError) or error.errno not in _REMEDIES:
        return None
    place = path if path is not None else error.filename
    named = "" if place is None else f"{os.fsdecode(place)}: "
    return MachineError(f"{named}{os.strerror(error.errno)}: {_REMEDIES[error.errno]}")


def not_written(path: str | os.PathLike[str], error: OSError) -> TreetopError:
    """The error for a file or folder that cannot be written."""
    remedy = _REMEDIES.get(error.errno or 0, "choose another folder")
    return TreetopError(f"{os.fspath(path)}: cannot be written ({error.strerror or error}); {remedy}")


def raise_machine_fault(error: BaseException, path: str | os.PathLike[str] | None = None) -> None:
    """Raises the error of `machine_fault`, if it is one."""
    fault = machine_fault(error, path)
    if fault is not None:
        raise fault from error


def brief(error: BaseException | str, most: int = 300) -> str:
    """The message of an error as a part of a sentence: on one line, and not longer than that."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= most else f"{text[:most]}…"


class DataWarning(UserWarning):
    """Something in the data that is not used: the message says what, and how to use it."""


NEURAL_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")
"""The packages that the extra ``neural`` adds."""


def explain_missing(error: ModuleNotFoundError, what: str) -> Exception:
    """The error itself, or, where an extra would fix it, one that names the extra."""
    return MissingExtraError(what, "neural") if error.name in NEURAL_PACKAGES else error
