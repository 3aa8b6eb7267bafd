"""How much of the truth each level of CascadeXML passes on: Table 11 of its paper, on one data set.

    python bench/level_recall.py FOLDER --encoder DIR [--set NAME=VALUE …]

FOLDER holds train.jsonl.xz and test.jsonl.xz. *Recall* is the share of all true nodes of the test texts that
are among those chosen; of labels, those below a chosen cluster.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import treetop
from table import markdown
from treetop.methods.cascadexml import CascadeXML


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", dest="settings")
    options = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in options.settings)
    model = treetop.make("cascadexml", encoder=options.encoder, **settings)
    assert isinstance(model, CascadeXML)
    model.fit(treetop.read(options.folder / "train.jsonl.xz"))
    levels = model.level_recall(treetop.read(options.folder / "test.jsonl.xz"))
    rows = [
        [
            str(level["level"]),
            f"{level['nodes']:,}",
            f"{level['chosen']:,.0f}",
            f"{100 * level['chosen'] / level['nodes']:.1f} %",
            f"{level['recall']:.2f} %",
        ]
        for level in levels
    ]
    print(markdown(("level", "nodes", "chosen", "share chosen", "recall"), rows))


if __name__ == "__main__":
    main()
