"""P@1 against training time, one panel per data set, as an SVG for light and dark backgrounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

INK = "#7a7a7a"  # contrast above 4 on white and on black
COLOURS = {"treetop": "#1f9e63", "PECOS": "#e0792a", "Omikuji": "#4f8bd6", "napkinXC": "#b666c9"}
MARKERS = "os^vDPX*<>hp"


def draw(results: dict[str, Any], file: Path) -> None:
    runs = [run for run in results["runs"] if "failed" not in run]
    names = list(dict.fromkeys(run["data"] for run in runs))
    contestants = list(dict.fromkeys(run["contestant"] for run in runs))
    style = {
        "svg.hashsalt": "treetop",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        **dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
        ),
    }
    with plt.rc_context(style):
        size = (max(4.2 * len(names), 8), 4.4 + 0.11 * len(contestants))
        figure, axes = plt.subplots(1, len(names), figsize=size, squeeze=False, layout="constrained")
        marks: dict[str, int] = {}
        handles = {}
        for contestant in contestants:
            family = contestant.replace(",", " ").split()[0]
            mark = marks[family] = marks.get(family, -1) + 1
            look = {"color": COLOURS.get(family, INK), "marker": MARKERS[mark % len(MARKERS)]}
            for panel, name in zip(axes[0], names, strict=True):
                for run in runs:
                    if (run["data"], run["contestant"]) == (name, contestant):
                        at = (run["train_s"], run["metrics"]["P@1"])
                        handles[contestant] = panel.scatter(*at, s=60, alpha=0.9, **look)
        for panel, name in zip(axes[0], names, strict=True):
            panel.set(xscale="log", title=name, xlabel="training seconds")
            panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.xaxis.set_minor_locator(NullLocator())
            panel.grid(True, color=INK, alpha=0.25, linewidth=0.6)
        axes[0][0].set_ylabel("P@1")
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=3,
            frameon=False,
            fontsize="small",
        )
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
