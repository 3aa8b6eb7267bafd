"""Similarity of the layers of CascadeXML, LightXML and their encoder before training: Figure 4 of CascadeXML.

    python bench/gpu/layer_similarity.py FOLDER --encoder DIR [--plot FILE] [--set NAME=VALUE …]

FOLDER holds train.jsonl.xz and test.jsonl.xz. Both methods are trained without rankers, with the first token
of a text as its vector. The table has the PWCCA of each layer with the next and with the last one, over the
test texts. With few texts all similarities are high by chance: take ten times as many as a vector has
dimensions.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import treetop
from common import provenance
from common.options import add_settings, named, parser_for
from common.tables import markdown
from treetop.methods.cascade_analysis import layer_similarity
from treetop.report.layers import draw_similarity

METHODS = ("cascadexml", "lightxml")
ALIKE = {"pooling": "cls", "rankers": False}


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("folder", type=Path, help="holds train.jsonl.xz and test.jsonl.xz")
    parser.add_argument("--encoder", required=True, help="pretrained encoder: a name or a folder")
    parser.add_argument("--plot", type=Path, help="file for the plot: .svg, .png or .pdf")
    parser.add_argument("--most", type=int, default=10_000, help="number of test texts to use (10,000)")
    add_settings(parser, "both methods")
    options = parser.parse_args()
    stamp = provenance.this_run()
    train, test = (treetop.read(options.folder / f"{name}.jsonl.xz") for name in ("train", "test"))
    found = {}
    for name in METHODS:
        model = treetop.make(name, encoder=options.encoder, **ALIKE, **named(options.settings)).fit(train)
        layers = range(1, model.reader.encoder.depth + 1)
        texts = test.texts[: options.most]
        found[name] = layer_similarity(model, texts, layers)
    before = {"first": "published", "second": "published"}
    found["before training"] = layer_similarity(model, texts, layers, **before)
    rows = [
        [name, column, *(f"{value:.3f}" for value in values)]
        for name, similarity in found.items()
        for column, values in (("next", similarity.to_next), ("last", similarity.to_last[:-1]))
    ]
    print(markdown(("encoder", "with the", *(f"layer {layer}" for layer in layers[:-1])), rows))
    print(f"\n{provenance.measured([stamp])}")
    if options.plot is not None:
        draw_similarity(found, options.plot)


if __name__ == "__main__":
    main()
