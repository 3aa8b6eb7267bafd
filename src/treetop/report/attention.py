"""A plot of the first token's attention over the layers of one or more encoders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from .plots import legend, look, new_figure, styled, write

if TYPE_CHECKING:
    from ..neural.attention_views import AttentionViews


def draw_attention(views: Mapping[str, AttentionViews], path: str | os.PathLike[str]) -> None:
    """Three panels, each a mean over the texts: the first token's attention to itself as the mean of the
    heads, the same for the largest head, and the mean entropy of the heads.

    The ending of ``path`` sets the format: .svg, .png or .pdf.
    """
    if not min((len(view.lengths) for view in views.values()), default=0):
        raise DataError("there is no attention to draw: every view must have at least one text")
    with styled("drawing attention"):
        figure, panels = new_figure(3, 4.2)
        titles = "attention to itself, mean of heads", "attention to itself, largest head", "entropy, nats"
        for place, (name, view) in enumerate(views.items()):
            itself = view.to_itself
            lines = itself.mean((0, 2)), itself.max(2).mean(0), view.entropy.mean((0, 2))
            for number, (axes, line) in enumerate(zip(panels, lines, strict=True)):
                axes.plot(view.layers, line, label=None if number else name, **look(place))
        for axes, title in zip(panels, titles, strict=True):
            axes.set(xlabel="layer", ylabel=title, ylim=(0, 1.05 * axes.dataLim.y1))
            axes.xaxis.get_major_locator().set_params(integer=True)
        legend(figure)
        write(figure, Path(path))
