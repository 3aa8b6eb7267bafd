"""The one exception tree: raised in Python, printed by the command, returned by the server."""

from __future__ import annotations


class TreetopError(Exception):
    """Anything treetop reports on purpose. The message is one sentence that names the place."""

    exit_code = 1


class UserError(TreetopError):
    """Something the caller can mend: a bad file, a bad setting, a damaged model folder."""

    exit_code = 2


class DataError(UserError, ValueError):
    """Input that cannot be used: which file, which line or row, what is wrong."""


class ConfigError(UserError, ValueError):
    """A setting that does not exist or has a bad value."""


class ModelError(UserError):
    """A model folder that is missing, damaged, or of another version; or a model not fitted yet."""


class MissingExtraError(UserError, ImportError):
    """An optional part is not installed; the message says which ``pip install`` adds it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra that is not installed: pip install 'treetop-xmc[{extra}]'")


NEURAL_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")
"""What the extra ``neural`` adds."""


def explain_missing(error: ModuleNotFoundError, what: str) -> Exception:
    """The error, or where an extra would mend it, one that names the extra."""
    return MissingExtraError(what, "neural") if error.name in NEURAL_PACKAGES else error
