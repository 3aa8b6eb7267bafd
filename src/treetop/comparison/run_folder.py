"""A folder of finished runs.

    RUN.json    the `Run` without its ranked labels
    RUN.npy     texts × k: the ranked labels of each test text, for paired differences

RUN contains a hash of the data, the method, its settings and the files they name, the seed, and the version
of treetop. A changed run therefore has another name, and a run that is found is not repeated.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from .. import __version__
from ..arrays import UNREADABLE, read_array, write_array
from ..data.files import Output
from ..digests import digest_of, files_digest
from ..errors import not_written
from ..regular_files import read_regular
from .runs import Conditions, Run
from .variants import Variant


def run_name(variant: Variant, seed: int, data: str, conditions: Conditions) -> str:
    """The name of a run; it does not depend on the variant's name or the number of threads."""
    model = variant.make(seed, device=conditions.device)
    config = model.config.to_dict() | {"threads": None}
    metrics = conditions.ks, conditions.propensity
    digest = digest_of(data, files_digest(model.config), model.name, config, *metrics, __version__)
    return f"{model.name}-{seed}-{digest[:16]}"


class RunFolder:
    """Finished runs in a folder; with None, nothing is saved or found."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def find(self, name: str, texts: int) -> Run | None:
        """The run of that name; None if it is missing, damaged, or covers another number of ``texts``."""
        if self.folder is None:
            return None
        try:
            record = json.loads(read_regular(self.folder / f"{name}.json"))
            ranked = read_array(self.folder / f"{name}.npy")
            run = Run(**record, ranked=ranked)
            sound = len(ranked) == texts and _is_sound(run)
        except UNREADABLE:
            return None
        return run if sound else None

    def save(self, name: str, run: Run) -> None:
        """Writes both files; the one that `find` reads first appears last."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with Output() as output:
                write_array(output.binary(self.folder / f"{name}.npy"), run.ranked)
                output.text(self.folder / f"{name}.json").write(json.dumps(run.to_dict(), indent=1) + "\n")
        except OSError as error:
            raise not_written(self.folder, error) from error


def _is_sound(run: Run) -> bool:
    """Whether the fields are of the types that tables and differences are made of."""
    numbers = (run.train_seconds, run.predict_milliseconds, run.bytes, run.gpu_bytes, *run.metrics.values())
    return (
        run.ranked.ndim == 2
        and run.ranked.dtype == np.int32
        and all(isinstance(number, (int, float)) for number in numbers)
        and isinstance(run.config, dict)
        and isinstance(run.epochs, list)
    )
