"""A plot of how similar the layers of one or more encoders are: Figure 4 of CascadeXML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from .plots import legend, look, new_figure, styled, write

if TYPE_CHECKING:
    from ..neural.layer_similarity import LayerSimilarity


def draw_similarity(similarities: Mapping[str, LayerSimilarity], path: str | os.PathLike[str]) -> None:
    """Two panels: the similarity of each layer but the last to the next one of the list, and to the last.

    The ending of ``path`` sets the format: .svg, .png or .pdf.
    """
    if min((len(one.layers) for one in similarities.values()), default=0) < 2:
        raise DataError("there is no similarity to draw: every model must have at least two layers")
    with styled("drawing the similarity of layers"):
        figure, panels = new_figure(2, 4.2)
        titles = "PWCCA with the next layer", "PWCCA with the last layer"
        for place, (name, similarity) in enumerate(similarities.items()):
            lines = similarity.to_next, similarity.to_last[:-1]
            for number, (axes, line) in enumerate(zip(panels, lines, strict=True)):
                label = None if number else name
                axes.plot(similarity.layers[:-1], line, label=label, **look(place))
        for axes, title in zip(panels, titles, strict=True):
            axes.set(xlabel="layer", ylabel=title, ylim=(0, 1.05))
            axes.xaxis.get_major_locator().set_params(integer=True)
        legend(figure)
        write(figure, Path(path))
