"""Recall of each level of CascadeXML: Table 11 of its paper, on one data set.

    python bench/gpu/level_recall.py FOLDER --encoder DIR [--set NAME=VALUE …]

FOLDER holds train.jsonl.xz and test.jsonl.xz. *Recall* is the share of the true nodes of the test texts that
are in the beam of the level; for labels, the share below a cluster in the beam.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import treetop
from common import provenance
from common.options import add_settings, named, parser_for
from common.tables import markdown
from treetop.methods.cascade_analysis import level_recall
from treetop.methods.cascadexml import CascadeXML


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz and test.jsonl.xz")
    parser.add_argument("--encoder", required=True, help="pretrained encoder: a name or a folder")
    add_settings(parser, "the method")
    options = parser.parse_args()
    stamp = provenance.this_run()
    settings = named(options.settings)
    model = treetop.make("cascadexml", encoder=options.encoder, **settings)
    assert isinstance(model, CascadeXML)
    model.fit(treetop.read(options.folder / "train.jsonl.xz"))
    levels = level_recall(model, treetop.read(options.folder / "test.jsonl.xz"))
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
    print(markdown(("level", "nodes", "in the beam", "share in the beam", "recall"), rows))
    print(f"\n{provenance.measured([stamp])}")


if __name__ == "__main__":
    main()
