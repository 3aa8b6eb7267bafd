"""The charts of a report as Vega-Lite: interactive, with tooltips and zoom, to be saved as SVG or PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .plots import COLOURS

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")


def quality(rows: Rows, models: Sequence[str]) -> Spec:
    """Metrics with confidence intervals."""
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    y: Spec = {"field": "metric", "type": "nominal", "sort": metrics, "title": None}
    bars = {"x": {"field": "low", **_percent("percent")}, "x2": {"field": "high"}}
    points = {"x": {"field": "value", **_percent("percent")}}
    return {
        "data": {"values": list(rows)},
        "height": len(metrics) * (12 + 14 * len(models)),
        "encoding": {"y": y, "yOffset": {"field": "model", "sort": list(models)}, **_by_model(models)},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": bars, "params": _zoom("x")},
            {
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": points
                | _shaped(models)
                | _tooltip("model", "metric", value=".2f", low=".2f", high=".2f"),
                "params": _legend_selection(models),
            },
        ],
    }


def frequency(rows: Rows, models: Sequence[str], k: int) -> Spec:
    """Recall of labels by their number of training texts."""
    groups = list(dict.fromkeys(row["texts"] for row in rows))
    return {
        "data": {"values": list(rows)},
        "height": 280,
        "params": _legend_selection(models),
        "mark": {"type": "line", "point": {"size": 60, "filled": True}, "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "texts",
                "type": "ordinal",
                "sort": groups,
                "title": "training texts per label",
                "axis": {"labelAngle": -40},
            },
            "y": {"field": "recall", **_percent(f"recall@{k}, percent", zero=True)},
            **_by_model(models),
            **_shaped(models),
            **_tooltip("model", "texts", labels=",", occurrences=",", recall=".2f"),
        },
    }


def calibration(rows: Rows, models: Sequence[str]) -> Spec:
    """Share of correct predictions against mean score by bin; calibrated scores are on the diagonal."""
    unit = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": ".2~f", "tickCount": 10}}
    x = {"field": "score", "title": "mean score", **unit}
    y = {"field": "correct", "title": "share of correct predictions", **unit}
    diagonal = [{"score": at, "correct": at} for at in (0, 1)]
    return {
        "data": {"values": list(rows)},
        "height": 340,
        "layer": [
            {
                "data": {"values": diagonal},
                "mark": {"type": "line", "color": "currentColor", "opacity": 0.45, "strokeDash": [5, 5]},
                "encoding": {"x": x, "y": y},
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "clip": True},
                "encoding": {"x": x, "y": y, "order": {"field": "score"}, **_by_model(models)},
                "params": _zoom("x", "y"),
            },
            {
                "mark": {"type": "point", "filled": True, "clip": True, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": y,
                    "size": {
                        "field": "predictions",
                        "type": "quantitative",
                        "scale": {"range": [25, 300]},
                        "legend": None,
                    },
                    **_by_model(models),
                    **_shaped(models),
                    **_tooltip("model", score=".3f", correct=".3f", predictions=","),
                },
                "params": _legend_selection(models),
            },
        ],
    }


def cost(rows: Rows, models: Sequence[str], metric: str) -> Spec:
    """The main metric against prediction time: up and to the left is better."""
    return {
        "data": {"values": list(rows)},
        "height": 300,
        "encoding": {
            "x": {
                "field": "milliseconds",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False, "padding": 55},
                "title": "prediction time, milliseconds per text",
            },
            "y": {
                "field": "value",
                **_percent(f"{metric}, percent"),
                "scale": {"zero": False, "nice": False, "padding": 30},
            },
        },
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": _by_model(models, legend=False)
                | _shaped(models, legend=False)
                | _tooltip("model", value=".2f", milliseconds=".3f"),
                "params": _zoom("x", "y"),
            },
            {
                "mark": {"type": "text", "dy": -13, "color": "currentColor"},
                "encoding": {"text": {"field": "model"}},
            },
        ],
    }


def differences(rows: Rows) -> Spec:
    """First − second with confidence intervals; filled markers are significant."""
    pairs = list(dict.fromkeys(row["pair"] for row in rows))
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    significant = {"condition": {"test": "datum.significant", "value": 1}, "value": 0}
    x = {"type": "quantitative", "title": "difference, percentage points", "scale": {"zero": True}}
    colours = {"domain": metrics, "range": [COLOURS[i] for i in range(len(metrics))]}
    shapes = {"domain": metrics, "range": list(SHAPES[: len(metrics)])}
    legend = {"title": None, "orient": "top"}
    return {
        "data": {"values": list(rows)},
        "height": len(pairs) * (12 + 14 * len(metrics)),
        "encoding": {
            "y": {"field": "pair", "type": "nominal", "sort": pairs, "title": None},
            "yOffset": {"field": "metric", "sort": metrics},
            "color": {"field": "metric", "sort": metrics, "scale": colours, "legend": legend},
        },
        "layer": [
            {
                "data": {"values": [{}]},
                "mark": {"type": "rule", "color": "currentColor", "opacity": 0.6},
                "encoding": {"x": {"datum": 0, **x}, "y": None, "yOffset": None, "color": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
                "params": _zoom("x"),
            },
            {
                "mark": {"type": "point", "size": 70, "strokeWidth": 2},
                "encoding": {
                    "x": {"field": "difference", **x},
                    "shape": {"field": "metric", "sort": metrics, "scale": shapes, "legend": legend},
                    "fill": {"field": "metric", "sort": metrics, "scale": colours, "legend": legend},
                    "fillOpacity": significant,
                    **_tooltip("pair", "metric", difference="+.2f", low="+.2f", high="+.2f", p=".3g"),
                },
            },
        ],
    }


def confusions(rows: Rows) -> Spec:
    """A heat map with missed labels as rows and suggested labels as columns."""
    missed = list(dict.fromkeys(row["missed"] for row in rows))
    suggested = list(dict.fromkeys(row["suggested"] for row in rows))
    across = {"labelLimit": 150, "grid": False, "labelAngle": -45}
    down = {"labelLimit": 150, "grid": False}
    title = "columns: suggested instead; rows: correct label (missed)"
    return {
        "data": {"values": list(rows)},
        "height": 24 * len(missed),
        "encoding": {
            "x": {"field": "suggested", "type": "nominal", "sort": suggested, "title": title, "axis": across},
            "y": {"field": "missed", "type": "nominal", "sort": missed, "title": None, "axis": down},
            **_tooltip("missed", "suggested", texts=",", misses=".1f"),
        },
        "layer": [
            {
                "mark": {"type": "rect", "cornerRadius": 2, "color": "#7a5cf0"},
                "encoding": {
                    # A square root, so that one large confusion does not hide the others. Opacity suits any
                    # background.
                    "opacity": {
                        "field": "texts",
                        "type": "quantitative",
                        "scale": {"type": "sqrt", "range": [0.06, 1]},
                        "legend": None,
                    }
                },
            },
            {
                "mark": {"type": "text", "color": "currentColor", "fontSize": 10},
                "encoding": {"text": {"field": "texts", "type": "quantitative", "format": ","}},
            },
        ],
    }


def styled(spec: Spec, description: str) -> Spec:
    """The chart with the common style. Ink is the page's text colour in light mode, dark mode and print."""
    ink = {"labelColor": "currentColor", "titleColor": "currentColor"}
    line = {"domainColor": "currentColor", "tickColor": "currentColor", "gridColor": "currentColor"}
    return {
        "description": description,
        "width": "container",
        "background": None,
        **spec,
        "config": {
            "font": "system-ui, sans-serif",
            "view": {"stroke": None},
            "axis": ink
            | line
            | {"gridOpacity": 0.14, "labelFontSize": 12, "titleFontSize": 12}
            | {"titleFontWeight": "normal", "labelLimit": 200},
            "legend": ink | {"labelFontSize": 12, "labelLimit": 220, "symbolOpacity": 1},
            "text": {"fontSize": 12},
        },
    }


def _by_model(models: Sequence[str], *, legend: bool = True) -> Spec:
    """A colour per model; selecting a model in the legend fades the others."""
    if len(models) == 1:
        return {"color": {"value": COLOURS[0]}}
    channels: Spec = {"color": _distinct(models, COLOURS, legend)}
    if legend:
        channels["opacity"] = {"condition": {"param": "selected", "value": 1, "empty": True}, "value": 0.12}
    return channels


def _shaped(models: Sequence[str], *, legend: bool = True) -> Spec:
    """A shape per model in addition to its colour, for points."""
    return {} if len(models) == 1 else {"shape": _distinct(models, SHAPES, legend)}


def _distinct(models: Sequence[str], values: Sequence[str], legend: bool) -> Spec:
    order = list(models)
    chosen = [values[place % len(values)] for place in range(len(models))]
    key = {"title": None, "orient": "top", "columns": 2} if legend else None
    return {"field": "model", "sort": order, "scale": {"domain": order, "range": chosen}, "legend": key}


def _legend_selection(models: Sequence[str]) -> list[Spec]:
    if len(models) == 1:
        return []
    return [{"name": "selected", "select": {"type": "point", "fields": ["model"]}, "bind": "legend"}]


def _zoom(*channels: str) -> list[Spec]:
    """Drag to move, pinch or Ctrl and wheel to zoom (the wheel alone scrolls), double-click to reset."""
    select = {"type": "interval", "encodings": list(channels), "zoom": "wheel![event.ctrlKey]"}
    return [{"name": "zoom", "select": select, "bind": "scales"}]


def _percent(title: str, *, zero: bool = False) -> Spec:
    return {"type": "quantitative", "title": title, "scale": {"zero": zero}}


def _tooltip(*words: str, **numbers: str) -> Spec:
    shown: list[Spec] = [{"field": name, "type": "nominal"} for name in words]
    shown += [{"field": name, "type": "quantitative", "format": style} for name, style in numbers.items()]
    return {"tooltip": shown}
