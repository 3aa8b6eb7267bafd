"""Pictures of a report as Vega-Lite: they answer to the pointer, zoom, and are saved as SVG or PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .plots import COLOURS

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")


def quality(rows: Rows, models: Sequence[str]) -> Spec:
    """Metrics with their intervals."""
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
                "params": _pick(models),
            },
        ],
    }


def frequency(rows: Rows, models: Sequence[str], k: int) -> Spec:
    """Recall of labels by how many training texts they have."""
    groups = list(dict.fromkeys(row["texts"] for row in rows))
    return {
        "data": {"values": list(rows)},
        "height": 280,
        "params": _pick(models),
        "mark": {"type": "line", "point": {"size": 60, "filled": True}, "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "texts",
                "type": "ordinal",
                "sort": groups,
                "title": "training texts of the label",
                "axis": {"labelAngle": -40},
            },
            "y": {"field": "recall", **_percent(f"recall@{k}, percent", zero=True)},
            **_by_model(models),
            **_shaped(models),
            **_tooltip("model", "texts", labels=",", occurrences=",", recall=".2f"),
        },
    }


def calibration(rows: Rows, models: Sequence[str]) -> Spec:
    """The share of right answers over the mean score of each bin; the diagonal is what scores promise."""
    unit = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": ".2~f", "tickCount": 10}}
    x = {"field": "score", "title": "mean score", **unit}
    y = {"field": "right", "title": "share that is right", **unit}
    diagonal = [{"score": at, "right": at} for at in (0, 1)]
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
                        "field": "answers",
                        "type": "quantitative",
                        "scale": {"range": [25, 300]},
                        "legend": None,
                    },
                    **_by_model(models),
                    **_shaped(models),
                    **_tooltip("model", score=".3f", right=".3f", answers=","),
                },
                "params": _pick(models),
            },
        ],
    }


def cost(rows: Rows, models: Sequence[str], metric: str) -> Spec:
    """The leading metric against the time of a text: up and to the left is better."""
    return {
        "data": {"values": list(rows)},
        "height": 300,
        "encoding": {
            "x": {
                "field": "milliseconds",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False, "padding": 55},
                "title": "milliseconds a text, all at once",
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
    """First − second with intervals; filled where it is decided."""
    pairs = list(dict.fromkeys(row["pair"] for row in rows))
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    decided = {"condition": {"test": "datum.decided", "value": 1}, "value": 0}
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
                    "fillOpacity": decided,
                    **_tooltip("pair", "metric", difference="+.2f", low="+.2f", high="+.2f", p=".3g"),
                },
            },
        ],
    }


def heat(rows: Rows) -> Spec:
    """Missing labels down, given labels across."""
    missing = list(dict.fromkeys(row["missing"] for row in rows))
    given = list(dict.fromkeys(row["given"] for row in rows))
    across = {"labelLimit": 150, "grid": False, "labelAngle": -45}
    down = {"labelLimit": 150, "grid": False}
    title = "across: given, wrong; down: right, missing"
    return {
        "data": {"values": list(rows)},
        "height": 24 * len(missing),
        "encoding": {
            "x": {"field": "given", "type": "nominal", "sort": given, "title": title, "axis": across},
            "y": {"field": "missing", "type": "nominal", "sort": missing, "title": None, "axis": down},
            **_tooltip("missing", "given", texts=",", misses=".1f"),
        },
        "layer": [
            {
                "mark": {"type": "rect", "cornerRadius": 2, "color": "#7a5cf0"},
                "encoding": {
                    # Roots: one large confusion does not hide the others. Opacity suits any ground.
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


def finished(spec: Spec, description: str) -> Spec:
    """With what all pictures share. Ink is the colour of the page's text, in light, dark and print."""
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
    """A colour for each; a model that is picked in the legend stands out."""
    if len(models) == 1:
        return {"color": {"value": COLOURS[0]}}
    channels: Spec = {"color": _told_apart(models, COLOURS, legend)}
    if legend:
        channels["opacity"] = {"condition": {"param": "picked", "value": 1, "empty": True}, "value": 0.12}
    return channels


def _shaped(models: Sequence[str], *, legend: bool = True) -> Spec:
    """A shape for each, beside its colour; for marks that are points."""
    return {} if len(models) == 1 else {"shape": _told_apart(models, SHAPES, legend)}


def _told_apart(models: Sequence[str], looks: Sequence[str], legend: bool) -> Spec:
    order = list(models)
    chosen = [looks[place % len(looks)] for place in range(len(models))]
    key = {"title": None, "orient": "top", "columns": 2} if legend else None
    return {"field": "model", "sort": order, "scale": {"domain": order, "range": chosen}, "legend": key}


def _pick(models: Sequence[str]) -> list[Spec]:
    if len(models) == 1:
        return []
    return [{"name": "picked", "select": {"type": "point", "fields": ["model"]}, "bind": "legend"}]


def _zoom(*channels: str) -> list[Spec]:
    """Drag to move, pinch or Ctrl and wheel to zoom (the wheel alone scrolls), double click to reset."""
    select = {"type": "interval", "encodings": list(channels), "zoom": "wheel![event.ctrlKey]"}
    return [{"name": "zoom", "select": select, "bind": "scales"}]


def _percent(title: str, *, zero: bool = False) -> Spec:
    return {"type": "quantitative", "title": title, "scale": {"zero": zero}}


def _tooltip(*words: str, **numbers: str) -> Spec:
    shown: list[Spec] = [{"field": name, "type": "nominal"} for name in words]
    shown += [{"field": name, "type": "quantitative", "format": style} for name, style in numbers.items()]
    return {"tooltip": shown}
