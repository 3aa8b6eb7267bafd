"""All exceptions of treetop: raised in Python, printed by the command, returned by the server."""

from __future__ import annotations


class TreetopError(Exception):
    """Base of all errors that treetop raises itself. The message is one sentence that says where and why."""

    exit_code = 1


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


class DataWarning(UserWarning):
    """Something in the data that is not used: the message says what, and how to use it."""


NEURAL_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")
"""The packages that the extra ``neural`` adds."""


def explain_missing(error: ModuleNotFoundError, what: str) -> Exception:
    """The error itself, or, where an extra would fix it, one that names the extra."""
    return MissingExtraError(what, "neural") if error.name in NEURAL_PACKAGES else error
