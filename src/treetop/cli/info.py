"""``treetop info``: the contents of a model folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import value_text
from ..units import counted, file_size
from .options import Json, Model
from .output import heading, show, show_json, show_table
from .reporter import duration

if TYPE_CHECKING:
    from ..methods import Method
    from ..tree import LabelTree


def info(
    model: Model,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the top of the label tree.")] = False,
    json: Json = False,
) -> None:
    """Show a model's method, changed settings, training data, size and label tree."""
    from ..methods import load
    from ..methods.pecos import is_pecos
    from ..store import read_manifest

    classifier = load(model, verify=False)
    label_tree = classifier.tree
    facts: dict[str, Any] = {
        "model": str(model),
        "method": classifier.name,
        "treetop": None if is_pecos(model) else read_manifest(model)["treetop"],
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "changed_settings": classifier.config.changed(),
        "data": classifier.statistics,
        "calibration": classifier.statistics.get("calibration"),
        "tree": None if label_tree is None else label_tree.sizes,
    }
    if members := classifier.weighted_members:
        facts["members"] = [_member_facts(member, weight) for member, weight in members]
    picture = [] if label_tree is None or not tree else list(_picture(classifier, label_tree))
    if json:
        show_json(facts | ({"tree_picture": picture} if tree else {}))
        return
    heading(f"{model}: {classifier.name}")
    show_table(_rows(facts))
    if "members" in facts:
        show()
        heading("members")
        weight = "share" if facts["changed_settings"].get("rule") == "stacked" else "weight"
        show_table(map(_member_row, facts["members"]), ("method", weight, "changed settings", "scores"))
    if picture:
        show()
        show("\n".join(picture))


def _member_facts(member: Method, weight: float) -> dict[str, Any]:
    return {
        "method": member.name,
        "weight": weight,
        "changed_settings": member.config.changed(),
        "data": member.statistics,
        "calibration": member.statistics.get("calibration"),
    }


def _member_row(facts: dict[str, Any]) -> tuple[str, ...]:
    return facts["method"], f"{facts['weight']:.3f}", _settings_text(facts), _scores_text(facts)


def _settings_text(facts: dict[str, Any]) -> str:
    changed = [f"{name}={value_text(value)}" for name, value in facts["changed_settings"].items()]
    return ", ".join(changed) or "none"


def _scores_text(facts: dict[str, Any]) -> str:
    calibration = facts["calibration"]
    if calibration is None:
        return "not calibrated"
    return f"probabilities ({calibration['kind']}, fitted on {counted(calibration['examples'], 'example')})"


def _picture(classifier: Method, tree: LabelTree) -> list[str]:
    names = classifier.labels if classifier.label_texts is None else classifier.label_texts
    assert names is not None
    return list(tree.draw(names, classifier.label_counts))


def _examples(data: dict[str, Any]) -> str:
    known = data["examples"]
    return "an unknown number of examples" if known is None else counted(known, "example")


def _labels(data: dict[str, Any]) -> str:
    kind = "in the label tree" if data["examples"] is None else "with examples"
    return f"{data['labels']:,} ({data['labels_used']:,} {kind})"


def _updates_row(data: dict[str, Any]) -> list[tuple[str, str]]:
    if "updates" not in data:
        return []
    updates = data["updates"]
    times = "once" if updates["times"] == 1 else f"{updates['times']:,} times"
    added = f"{counted(updates['examples'], 'example')} and {counted(updates['labels'], 'label')}"
    return [("updated", f"{times}: added {added}")]


def _network_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    if "training" not in data:
        return []
    training = data["training"]
    parts = ", ".join(f"{name} {count:,}" for name, count in training["parameters"].items())
    return [
        ("parameters", f"{sum(training['parameters'].values()):,} ({parts})"),
        (
            "training",
            f"{counted(len(training['epochs']), 'epoch')}, best epoch {training['best_epoch']},"
            f" {duration(training['seconds'])} on {training['device']} in {training['precision']}"
            + _clipped_text(training),
        ),
    ]


def _clipped_text(training: dict[str, Any]) -> str:
    """The share of clipped steps; nothing without clipping, and in models of earlier versions."""
    if "clipped" not in training:
        return ""
    return f", gradients clipped in {training['clipped']:.0%} of the steps"


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    data = facts["data"]
    rows = [
        ("trained on", f"{_examples(data)} ({data['input']}) from {data['source']}"),
        *_updates_row(data),
        *([("recipe", data["recipe"])] if "recipe" in data else []),
        ("labels", _labels(data)),
        *([] if data["examples"] is None else [("labels per text", f"{data['labels_per_example']:.2f}")]),
        *_network_rows(data),
        ("changed settings", _settings_text(facts)),
        ("scores", _scores_text(facts)),
    ]
    if facts["tree"] is not None:
        rows.append(("label tree", "-".join(map(str, facts["tree"]))))
    rows.append(("size", file_size(facts["bytes"])))
    rows.append(("written by", "PECOS" if facts["treetop"] is None else f"treetop {facts['treetop']}"))
    return rows
