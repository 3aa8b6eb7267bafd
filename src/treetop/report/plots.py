"""Plots of a comparison, readable on light and dark backgrounds."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..comparison import Comparison
from ..data.files import Output
from ..errors import ConfigError, MissingExtraError, not_written

INK = "#7a7a7a"
"""Contrast above 4 on white and on black."""
COLOURS = ("#1f9e63", "#e0792a", "#4f8bd6", "#b666c9", "#c9a227", "#d65f7d", "#3aa6a6", "#8c8c8c")
MARKERS = "os^vDPX"
FORMATS: dict[str, dict[str, None]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
"""File endings and their metadata. No date, so that the same plot is the same file."""


def draw_all(comparison: Comparison, folder: Path) -> list[tuple[str, str]]:
    """Writes all plots that have data; returns their titles and file names."""
    drawn = []
    with styled("drawing the comparison"):
        for title, file, draw in _plots(comparison):
            write(draw(comparison), folder / file)
            drawn.append((title, file))
    return drawn


@contextlib.contextmanager
def styled(purpose: str) -> Iterator[None]:
    """The common style of all plots drawn inside."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError(purpose, "plots") from None
    style: dict[Any, Any] = {
        "svg.hashsalt": "treetop",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    style |= dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    )
    with matplotlib.rc_context(style):
        yield


Draw = Callable[[Comparison], Any]


def _plots(comparison: Comparison) -> list[tuple[str, str, Draw]]:
    metric = comparison.leading_metric
    plots: list[tuple[str, str, Draw]] = [(f"{metric} of each variant", "accuracy.svg", draw_accuracy)]
    if len(comparison.names) > 1:
        plots.append((f"{metric} against training time and prediction time", "speed.svg", draw_speed))
    if any(comparison.parameters(name) for name in comparison.names):
        plots.append((f"{metric} against number of parameters", "parameters.svg", draw_parameters))
    if any(run.epochs for runs in comparison.runs.values() for run in runs):
        plots.append(("Loss and validation metric by epoch", "training.svg", draw_training))
    return plots


def draw_accuracy(comparison: Comparison) -> Any:
    """Means of the leading metric with standard deviations, and each run as a dot."""
    metric = comparison.leading_metric
    figure, (axes,) = new_figure(1, 1.2 + 0.32 * len(comparison.names))
    for place, name in enumerate(comparison.names):
        spread = comparison.spread(name, metric)
        values = [run.metrics[metric] for run in comparison.runs[name]]
        axes.plot(values, [place] * len(values), ".", color=INK, alpha=0.6)
        of_place = look(place)
        axes.errorbar(spread.mean, place, xerr=spread.deviation or 0, capsize=3, **of_place)
    axes.set_yticks(range(len(comparison.names)), comparison.names)
    axes.invert_yaxis()
    axes.set_xlabel(
        f"{metric}, percent" + ("; bars: standard deviation" if len(comparison.seeds) > 1 else "")
    )
    return figure


def draw_speed(comparison: Comparison) -> Any:
    """The leading metric against training time and prediction time: up and to the left is better."""
    metric = comparison.leading_metric
    figure, panels = new_figure(2, 4.2 + 0.11 * len(comparison.names))
    for axes, resource, title in zip(
        panels,
        ("train_seconds", "predict_milliseconds"),
        ("training time, seconds", "prediction time, milliseconds per text"),
        strict=True,
    ):
        for place, name in enumerate(comparison.names):
            axes.plot(
                comparison.spread(name, resource).mean,
                comparison.spread(name, metric).mean,
                linestyle="",
                label=name if axes is panels[0] else None,
                **look(place),
            )
        log_axis(axes, title)
    panels[0].set_ylabel(f"{metric}, percent")
    legend(figure)
    return figure


def draw_parameters(comparison: Comparison) -> Any:
    """The leading metric against the number of parameters."""
    metric = comparison.leading_metric
    figure, (axes,) = new_figure(1, 4.2 + 0.11 * len(comparison.names))
    for place, name in enumerate(comparison.names):
        parts = comparison.parameters(name)
        if parts is not None:
            spread = comparison.spread(name, metric)
            error = spread.deviation or 0
            axes.errorbar(sum(parts.values()), spread.mean, yerr=error, capsize=3, label=name, **look(place))
    log_axis(axes, "number of parameters")
    axes.set_ylabel(f"{metric}, percent")
    legend(figure)
    return figure


def draw_training(comparison: Comparison) -> Any:
    """The loss of each epoch and, with a validation set, the validation metric."""
    validation = {name: _validation_metric(comparison, name) for name in comparison.names}
    panels = ["loss", *dict.fromkeys(metric for metric in validation.values() if metric)]
    figure, several = new_figure(len(panels), 4.2 + 0.11 * len(comparison.names))
    for axes, panel in zip(several, panels, strict=True):
        for place, name in enumerate(comparison.names):
            means = _means_over_seeds(comparison, name, panel) if panel in ("loss", validation[name]) else {}
            if means:
                label = name if panel == "loss" else None
                axes.plot(list(means), list(means.values()), color=look(place)["color"], label=label)
        axes.set(xlabel="epoch", ylabel=panel if panel == "loss" else f"validation {panel}, percent")
        axes.xaxis.get_major_locator().set_params(integer=True)
    several[0].set_yscale("log")
    legend(figure)
    return figure


def _validation_metric(comparison: Comparison, name: str) -> str | None:
    """The metric that selected a network's best epoch; None without a validation set."""
    run = comparison.runs[name][0]
    metric: str | None = run.config.get("training", {}).get("metric")
    return metric if run.epochs and metric in run.epochs[-1] else None


def _means_over_seeds(comparison: Comparison, name: str, metric: str) -> dict[int, float]:
    """Epoch → mean over the runs that have the metric for this epoch.

    Runs that stopped early have no later epochs, and only the last level of a label tree has validation
    metrics.
    """
    found: dict[int, list[float]] = {}
    for run in comparison.runs[name]:
        for place, epoch in enumerate(run.epochs, 1):
            if metric in epoch:
                found.setdefault(place, []).append(float(epoch[metric]))
    return {place: sum(found[place]) / len(found[place]) for place in sorted(found)}


def look(place: int) -> dict[str, Any]:
    """Colour and marker of a variant; more than fifty variants differ before they repeat."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def new_figure(panels: int, height: float) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5 if panels == 1 else 4.6 * panels, height), layout="constrained")
    axes = [figure.add_subplot(1, panels, panel + 1) for panel in range(panels)]
    for one in axes:
        one.grid(True, color=INK, alpha=0.25, linewidth=0.6)
    return figure, axes


def log_axis(axes: Any, title: str) -> None:
    """A logarithmic axis with ticks at 1, 2 and 5, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(xscale="log", xlabel=title)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def legend(figure: Any) -> None:
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")


def write(figure: Any, path: Path) -> None:
    """Saves a plot in the format of the file's ending."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ConfigError(f"{path}: the name of a plot must end with .{', .'.join(FORMATS)}")
    content = io.BytesIO()
    figure.savefig(content, format=kind, transparent=True, metadata=FORMATS[kind])
    try:
        with Output() as output:
            output.binary(path).write(content.getvalue())
    except OSError as error:
        raise not_written(path, error) from None
