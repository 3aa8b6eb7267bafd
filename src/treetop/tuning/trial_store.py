"""The file that keeps the trials of a tuning: an Optuna study in SQLite, with a record of what it tunes.

A study is resumed only with the same data, method, metric, validation set, settings and search space: trials
of anything else could not be compared.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError

if TYPE_CHECKING:
    import optuna

_STUDY = "treetop"
_ABOUT = {
    "method": "of another method",
    "data": "on other data",
    "validation": "with another validation set",
    "metric": "with another metric",
    "settings": "with other settings",
    "space": "with another search space",
}
"""What a study must have in common with a task, and how a message names the difference."""


@contextlib.contextmanager
def open_study(
    path: str | os.PathLike[str] | None, about: Mapping[str, Any], pruner: optuna.pruners.BasePruner
) -> Iterator[optuna.Study]:
    """The study in that file, new or resumed; without a path it is kept in memory.

    ``about`` is plain JSON with the keys of `_ABOUT`.
    """
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = None
    try:
        if path is not None:
            storage = _storage(Path(path))
        study = optuna.create_study(
            storage=storage, study_name=_STUDY, direction="maximize", pruner=pruner, load_if_exists=True
        )
        known = study.user_attrs.get("about")
        if known is None and not study.get_trials(deepcopy=False):
            study.set_user_attr("about", dict(about))
        else:
            _check(path, known, about)
        yield study
    finally:
        optuna.logging.set_verbosity(verbosity)
        if storage is not None:
            storage.remove_session()
            storage.engine.dispose()


def _storage(path: Path) -> optuna.storages.RDBStorage:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    if not path.parent.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist; create it first")
    try:
        return optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
    except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be used as a study ({reason}); choose another file") from None


def _check(path: str | os.PathLike[str] | None, known: Any, about: Mapping[str, Any]) -> None:
    if not isinstance(known, dict):
        raise DataError(f"{path}: contains a study that treetop did not create; choose another file")
    for name, difference in _ABOUT.items():
        if known.get(name) != about[name]:
            raise DataError(f"{path}: contains a study {difference}; choose another file")
