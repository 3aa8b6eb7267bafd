"""Small models of every method, as this version of the code saves them, with what they predict.

    python tests/make_stored_models.py tests/stored_models

`tests/test_stored_models.py` loads them with today's code. Those in the repository were written at 81df8e8;
make new ones only for a new format of model folders.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

import test_contract
import tiny_bert
import treetop
from treetop import Dataset

SMALLER = {"epochs": 2, "dimension": 4, "filters": 4, "hidden": 4}
MORE = {
    "xr-linear kept": {"leaf_size": 4, "branching": 2, "keep_data": True, "calibration": "platt"},
    "ensemble stacked": {
        "members": [treetop.XRLinear(leaf_size=4, branching=2), treetop.NearestNeighbours()],
        "rule": "stacked",
    },
}


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    target = target.resolve()
    train = Dataset.from_texts(*test_contract.topic_texts(60, seed=0), source="train")
    texts, _ = test_contract.topic_texts(8, seed=1)
    tiny_bert.WIDTH = 8
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the encoder's name in the model is a relative path
        shutil.copytree(tiny_bert.tiny_bert.__wrapped__(), "tiny-bert")
        for name, settings in (test_contract.CASES | MORE).items():
            smaller = settings | {key: value for key, value in SMALLER.items() if settings.get(key)}
            if "encoder" in smaller:
                smaller["encoder"] = "tiny-bert"
            model = treetop.make(name.split()[0], **smaller).fit(train)
            model.save("model")
            found = model.predict(texts, k=4)
            np.savez("predicted.npz", indptr=found.indptr, indices=found.indices, scores=found.scores)
            with zipfile.ZipFile(
                target / f"{name.replace(' ', '-')}.zip", "w", zipfile.ZIP_DEFLATED
            ) as archive:
                for file in [*sorted(Path("model").rglob("*.*")), Path("predicted.npz")]:
                    archive.write(file)
            shutil.rmtree("model")
    (target / "texts.json").write_text(json.dumps(texts, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
