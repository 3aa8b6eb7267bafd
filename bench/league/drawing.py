"""P@1 against the time of training and of prediction, one row of panels for all data sets."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from records import Runs
from treetop.methods import METHODS
from treetop.report.plots import legend, log_axis, look, new_figure, styled, write


def draw(sets: dict[str, Runs], file: Path) -> None:
    """Draws the panels; better methods are further up and to the left."""
    methods = [name for name in METHODS if any(name in runs for runs in sets.values())]
    with styled("drawing the league table"):
        figure, panels = new_figure(2 * len(sets), 4.2 + 0.11 * len(methods))
        resources = ("train_seconds", "predict_milliseconds")
        places = [(name, resource) for name in sets for resource in resources]
        named: set[str] = set()
        for axes, (name, resource) in zip(panels, places, strict=True):
            for method, runs in sets[name].items():
                axes.plot(
                    fmean(run[resource] for run in runs),
                    fmean(run["metrics"]["P@1"] for run in runs),
                    linestyle="",
                    label=None if method in named else method,
                    **look(methods.index(method)),
                )
                named.add(method)
            unit = "training seconds" if resource == resources[0] else "milliseconds per text, in one call"
            log_axis(axes, unit)
            axes.set_title(name)
        panels[0].set_ylabel("P@1, percent")
        legend(figure)
        write(figure, file)
