"""Lets PECOS predict with the folders of `pecos_folders`, and writes ``pecos_goldens.json``.

build/bench-peers/bin/python tests/make_pecos_goldens.py
"""

from __future__ import annotations

import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pecos.apps.text2text.model import Text2Text
from pecos.xmc.xlinear.model import XLinearModel

from pecos_folders import RANKERS, TEXTS, VECTORIZERS, queries, write_ranker, write_text2text


def lists(matrix: Any) -> list[list[tuple[int, float]]]:
    """Labels and scores of each row, best first."""
    rows = (matrix[row] for row in range(matrix.shape[0]))
    return [[(int(i), float(f"{s:.7g}")) for i, s in zip(row.indices, row.data, strict=True)] for row in rows]


def main() -> None:
    found: dict[str, Any] = {"libpecos": version("libpecos"), "rankers": {}, "vectorizers": {}}
    with tempfile.TemporaryDirectory() as place:
        for name, options in RANKERS.items():
            folder = write_ranker(Path(place, name), **options)
            model = XLinearModel.load(str(folder), is_predict_only=True)
            found["rankers"][name] = lists(model.predict(queries()))
        for name, options in VECTORIZERS.items():
            text2text = Text2Text.load(str(write_text2text(Path(place, name), **options)))
            found["vectorizers"][name] = lists(text2text.predict(list(TEXTS)))
    path = Path(__file__).with_name("pecos_goldens.json")
    path.write_text(json.dumps(found).replace("]], ", "]],\n ").replace('": [', '": [\n ') + "\n")


if __name__ == "__main__":
    main()
